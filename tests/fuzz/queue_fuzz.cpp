// The fuzzer of the timer queues, for clang's libFuzzer: every input is a script, every queue runs it
// beside the model. docs/testing.md has the command for a long run.
#include "one_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  foliot::conformance::run_one_input<foliot::conformance::fuzzed_queues>({data, size},
                                                                         foliot::conformance::rigour::state);
  return 0;
}
