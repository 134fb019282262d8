// The text of stall reports, and the report of libraries that are built for Debug.
#include <foliot/service/stall.hpp>

#include <cstdio>
#include <string>

#include "core/place_text.hpp"
#include "stall_default.hpp"

namespace foliot::detail {

#if defined(FOLIOT_REPORTS_STALLS)
constinit duration default_stall_limit = duration::nanoseconds(10'000'000'000);
#else
constinit duration default_stall_limit{};
#endif

void print_stall(const stall& one) { std::fprintf(stderr, "foliot: %s\n", to_string(one).c_str()); }

}  // namespace foliot::detail

namespace foliot::inline service {

std::string to_string(const stall& one) {
  std::string text;
  switch (one.kind) {
    case stall_kind::callback_runs: text = "the callback of the timer"; break;
    case stall_kind::end_waits:
      text = "the end of a timer has waited " + to_string(one.waited) + " for its callback; the callback of the timer";
      break;
    case stall_kind::service_waits:
      text = "a drain or the end of a service has waited " + to_string(one.waited) + " for the callback of the timer";
      break;
  }
  if (!one.name.empty()) text.append(" '").append(one.name).append("'");
  if (foliot::detail::is_in_standard_library(one.armed_at)) {
    text.append(" armed at a line that is not known, by ");
  } else if (one.armed_at.line() != 0) {
    text.append(" armed at ");
  }
  if (one.armed_at.line() != 0) {
    text.append(one.armed_at.file_name()).append(":").append(std::to_string(one.armed_at.line()));
  }
  text.append(" has been running for ").append(to_string(one.running));
  return text.append(" on thread ").append(std::to_string(one.thread));
}

}  // namespace foliot::inline service
