#include "tube_pauses.hpp"

#include <utility>
#include <variant>

#include <foliot/jobs/calls.hpp>

namespace foliot::jobs::detail {

namespace {

constexpr std::size_t most_checks = 64;  // of a batch, so that its tasks have their answers soon

}  // namespace

void tube_pauses::note(const operation& of) {
  const pause* const what = std::get_if<pause>(&of);
  if (what == nullptr || what->length == milliseconds(0)) return;
  paused_.try_emplace(what->tube, what->tube);
  want_check(what->tube);
}

void tube_pauses::want_check(std::string_view tube) noexcept {
  const auto found = paused_.find(tube);
  if (found == paused_.end() || std::exchange(found->second.to_check, true)) return;
  to_check_.push_back(found->second);
}

void tube_pauses::note_emptied(std::string& tube) {
  if (tubes_.find(tube) == nullptr && forget(tube)) to_end_.push_back(std::move(tube));
}

void tube_pauses::gather_ends(std::vector<operation>& batch) {
  for (std::string& tube : to_end_) {
    pause end;
    end.tube = std::move(tube);
    batch.emplace_back(std::move(end));
  }
  to_end_.clear();
}

void tube_pauses::gather_checks(std::vector<operation>& batch) {
  checked_.clear();
  while (checked_.size() < most_checks) {
    paused_tube* const it = to_check_.pop_front();
    if (it == nullptr) break;
    it->to_check = false;
    if (tubes_.find(it->name) != nullptr) continue;  // until its last client has gone
    checked_.push_back(it->name);
    batch.emplace_back(count_tube{it->name});
  }
}

void tube_pauses::conclude_checks(std::span<const answer> brought) {
  for (std::size_t i = 0; i < checked_.size(); ++i) {
    if (tubes_.find(checked_[i]) != nullptr) continue;  // it has a client meanwhile
    const auto* const seen = std::get_if<count_answer>(&brought[i]);
    if (seen == nullptr) continue;
    const bool is_paused = seen->paused_until != instant::never();
    // A count that was cut short may not have come to the tube's jobs.
    if (is_paused && (seen->counts.all() != 0 || seen->what == count_answer::kind::cut_short)) continue;
    forget(checked_[i]);
    if (is_paused) to_end_.push_back(std::move(checked_[i]));
  }
}

bool tube_pauses::forget(const std::string& tube) noexcept {
  const auto found = paused_.find(tube);
  if (found == paused_.end()) return false;
  if (found->second.to_check) to_check_.erase(found->second);
  paused_.erase(found);
  return true;
}

}  // namespace foliot::jobs::detail
