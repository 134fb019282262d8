// Pauses end with their tube, which lives while it has a job, a user or a watcher. A store keeps a pause until its time
// is over; so the broker ends the pauses of tubes that have gone. See broker_core.hpp.
//
// The store names a paused tube that loses its last job. A paused tube without clients is counted when it may have no
// job for another reason: it has just been paused, its last client has gone, or its pause may have ended. The batch
// after that begins with the end of the pause.
//
// Over a store that other nodes share none of this happens: no node knows whether another one has a client there.
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <foliot/jobs/operations.hpp>

#include "broker_core.hpp"

namespace foliot::jobs::detail {

/// Looks at a request before it becomes part of the batch.
void broker_core::note_pause(const operation& of) {
  const pause* const what = std::get_if<pause>(&of);
  if (what == nullptr || what->length == milliseconds(0) || others_ != nullptr) return;
  paused_.try_emplace(what->tube, what->tube);
  want_check_of_pause(what->tube);
}

void broker_core::want_check_of_pause(std::string_view tube) noexcept {
  const auto found = paused_.find(tube);
  if (found == paused_.end() || std::exchange(found->second.to_check, true)) return;
  to_check_.push_back(found->second);
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
  while (checked_.size() < most_checks) {
    paused_tube* const it = to_check_.pop_front();
    if (it == nullptr) break;
    it->to_check = false;
    if (tubes_.find(it->name) != nullptr) continue;  // until its last client has gone
    checked_.push_back(it->name);
    batch_.emplace_back(count_tube{it->name});
  }
}

void broker_core::conclude_checks_of_pauses(std::span<const answer> brought) {
  for (std::size_t i = 0; i < checked_.size(); ++i) {
    if (tubes_.find(checked_[i]) != nullptr) continue;  // it has a client meanwhile
    const auto* const seen = std::get_if<count_answer>(&brought[i]);
    if (seen == nullptr) continue;
    const bool is_paused = seen->paused_until != instant::never();
    // A count that was cut short may not have come to the tube's jobs.
    if (is_paused && (seen->counts.all() != 0 || seen->what == count_answer::kind::cut_short)) continue;
    forget_pause(checked_[i]);
    if (is_paused) pauses_to_end_.push_back(std::move(checked_[i]));
  }
}

/// The store has ended the last job of a paused tube.
void broker_core::end_pause_of_empty(std::string& tube) {
  if (tubes_.find(tube) == nullptr && forget_pause(tube)) pauses_to_end_.push_back(std::move(tube));
}

/// Returns whether the tube is known as a paused one.
bool broker_core::forget_pause(const std::string& tube) noexcept {
  const auto found = paused_.find(tube);
  if (found == paused_.end()) return false;
  if (found->second.to_check) to_check_.erase(found->second);
  paused_.erase(found);
  return true;
}

void broker_core::forget_if_unused(tube_record& tube) noexcept {
  if (tube.users + tube.watchers == 0) want_check_of_pause(tube.name);
  tubes_.forget_if_unused(tube);
}

}  // namespace foliot::jobs::detail
