// The fuzzer's canary: the same harness over a queue with a flaw that no seed shows. A short run must find it.
#include "flawed_queues.hpp"
#include "one_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using flawed = ::testing::Types<foliot::conformance::early_after_a_move>;
  foliot::conformance::run_one_input<flawed>({data, size}, foliot::conformance::rigour::state);
  return 0;
}
