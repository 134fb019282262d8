// The text of a report, and the monitor's look at the turns of the workers.
#include <foliot/runtime/stuck_task.hpp>

#include <exception>

#include "core/place_text.hpp"
#include "core/short_text.hpp"
#include "scheduler.hpp"

namespace foliot::runtime {

std::string to_string(const stuck_task& one) {
  std::string text = "the task '";
  text.append(one.name).append("' has kept thread ").append(std::to_string(one.thread)).append(" for ");
  text += foliot::detail::short_text(one.running);
  const std::string place = foliot::detail::place_text(one.resumed_at);
  return text + (place.empty() ? ", since it began" : ", since it went on from " + place);
}

void detail::scheduler::report_stuck_tasks() noexcept {
  const auto& tell = options_.stuck_task.tell;
  if (!tell) return;
  const instant now = time_.now();
  for (const auto& each : processors_.all()) {
    const auto overdue = each->meter->watched().overdue(now);
    if (!overdue) continue;
    try {
      tell({.running = overdue->running,
            .name = overdue->name.get(),
            .resumed_at = overdue->resumed_at,
            .thread = overdue->thread});
    } catch (...) {
      report(overdue->name.get(), std::current_exception());
    }
  }
}

}  // namespace foliot::runtime
