// Pauses end with their tube, which lives while it has a job, a user or a watcher. A store keeps a pause until its time
// is over; so the broker ends the pauses of tubes that have gone. See broker_core.hpp.
//
// A paused tube without clients is counted after each batch that may have ended its last job, and when its last client
// has gone. If it has no jobs, the next batch begins with the end of the pause.
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <foliot/jobs/operations.hpp>

#include "broker_core.hpp"

namespace foliot::jobs::detail {

/// Looks at a request before it becomes part of the batch.
void broker_core::note_pauses(const operation& of) {
  if (const pause* const what = std::get_if<pause>(&of); what != nullptr && what->length > milliseconds(0)) {
    paused_.insert(what->tube);
    check_pauses_ = true;
  }
  const bool may_end_jobs = std::holds_alternative<finish>(of) || std::holds_alternative<cancel>(of) ||
                            std::holds_alternative<clear_tube>(of);
  if (may_end_jobs && !paused_.empty()) check_pauses_ = true;
}

void broker_core::gather_ends_of_pauses() {
  for (std::string& tube : pauses_to_end_) {
    pause end;
    end.tube = std::move(tube);
    batch_.emplace_back(std::move(end));
  }
  pauses_to_end_.clear();
}

/// Behind the requests of the batch, whose effects the counts have.
void broker_core::gather_checks_of_pauses() {
  checked_.clear();
  if (!std::exchange(check_pauses_, false)) return;
  for (const std::string& tube : paused_) {
    if (tubes_.find(tube) != nullptr) continue;
    checked_.push_back(tube);
    batch_.emplace_back(count_tube{tube});
  }
}

void broker_core::conclude_checks_of_pauses(std::span<const answer> brought) {
  for (std::size_t i = 0; i < checked_.size(); ++i) {
    const count_answer& seen = std::get<count_answer>(brought[i]);
    const bool is_paused = seen.paused_until != instant::never();
    if (is_paused && seen.counts.all() != 0) continue;
    paused_.erase(checked_[i]);
    if (is_paused) pauses_to_end_.push_back(std::move(checked_[i]));
  }
}

void broker_core::forget_if_unused(tube_record& tube) noexcept {
  if (tube.users + tube.watchers == 0 && paused_.contains(tube.name)) check_pauses_ = true;
  tubes_.forget_if_unused(tube);
}

}  // namespace foliot::jobs::detail
