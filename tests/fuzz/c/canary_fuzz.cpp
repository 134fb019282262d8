// The canary of the fuzzer of the C interface: a timer with a slack that is longer than its delay is a nanosecond
// early. The run must end with that.
#include "one_life.hpp"

namespace foliot::fuzzed_c {

struct early_with_slack : sound_interface {
  static foliot_status reset_with_slack(foliot_timer* timer, std::int64_t delay, std::int64_t slack,
                                        foliot_reset_result* result) {
    const bool is_early = delay > 1 && slack > delay && slack < 10'000 * FOLIOT_SECOND;
    return is_early ? foliot_timer_reset(timer, delay - 1, result)
                    : foliot_timer_reset_with_slack(timer, delay, slack, result);
  }
};

}  // namespace foliot::fuzzed_c

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  foliot::fuzzed_c::run_one_life<foliot::fuzzed_c::early_with_slack>({data, size});
  return 0;
}
