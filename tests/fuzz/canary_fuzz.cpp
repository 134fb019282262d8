// The fuzzer's canary: the same harness over a queue with a flaw that no seed shows. A short run must find it.
#include <array>

#include "flawed_queues.hpp"
#include "one_input.hpp"
#include "queue/conformance/kind_of.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace conformance = foliot::conformance;
  static constexpr std::array flawed{conformance::kind_of<conformance::early_after_a_move>};
  conformance::run_one_input({data, size}, conformance::rigour::state, flawed);
  return 0;
}
