#include "expiry_sweep.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace foliot::jobs::detail {

void expiry_sweep::follow(const policy_table* policies, instant now) {
  const bool was_empty = tubes_.empty();
  std::map<std::string, job_place> before = std::exchange(tubes_, {});
  if (policies == nullptr) return;
  for (const auto& [name, by] : *policies) {
    if (by.expires > milliseconds(0)) tubes_.emplace(name, before[name]);
  }
  if (was_empty) next_ = now;
}

std::optional<list_jobs> expiry_sweep::take_page(instant now, bool is_busy) {
  if (now < next() || (is_busy && now < next_ + sweep_waits)) return std::nullopt;
  auto at = tubes_.upper_bound(after_);
  if (at == tubes_.end()) at = tubes_.begin();
  if (at == tubes_.begin()) turn_ = now;
  after_ = at->first;
  const bool is_last = std::next(at) == tubes_.end();
  taken_ = now;
  next_ = is_last ? std::max(now + sweep_pause, turn_ + sweep_every) : now + sweep_pause;
  return list_jobs{.tube = at->first, .which = job_state::ready, .after = at->second, .count = most_swept};
}

void expiry_sweep::note(const std::string& tube, const std::optional<job_place>& next) {
  const auto found = tubes_.find(tube);
  if (found == tubes_.end()) return;
  found->second = next.value_or(job_place{});
  if (next) next_ = std::min(next_, taken_ + sweep_pause);
}

}  // namespace foliot::jobs::detail
