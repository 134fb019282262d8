// The fuzzer of rules and time zones, for clang's libFuzzer.
#include "one_rule.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  foliot::schedule::run_one_rule<foliot::schedule::sound_timetable>({data, size});
  return 0;
}
