// The fuzzer of the timer queues, for clang's libFuzzer: every input is a script, every queue runs it
// beside the model. docs/testing.md has the command for a long run.
#include "one_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace conformance = foliot::conformance;
  conformance::run_one_input({data, size}, conformance::rigour::state, conformance::fuzzed_queues());
  return 0;
}
