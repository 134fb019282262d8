// The fuzzer of the C interface, for clang's libFuzzer.
#include "one_life.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  foliot::fuzzed_c::run_one_life<foliot::fuzzed_c::sound_interface>({data, size});
  return 0;
}
