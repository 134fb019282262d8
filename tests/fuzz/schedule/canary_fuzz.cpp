// The canary of the fuzzer of rules: it passes over what a clock that goes forward has moved. The run must end with
// that.
#include "one_rule.hpp"

namespace foliot::schedule {

struct without_shifted_times : sound_timetable {
  static std::expected<occurrence, absence> previous(const timetable& table, std::chrono::sys_seconds before) {
    auto found = table.previous(before);
    return found && found->is_shifted ? table.previous(found->at) : found;
  }
};

}  // namespace foliot::schedule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  foliot::schedule::run_one_rule<foliot::schedule::without_shifted_times>({data, size});
  return 0;
}
