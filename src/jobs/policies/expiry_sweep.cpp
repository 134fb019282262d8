#include "expiry_sweep.hpp"

#include <algorithm>
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

std::vector<list_jobs> expiry_sweep::take_pages(instant now) {
  std::vector<list_jobs> pages;
  if (tubes_.empty() || now < next_) return pages;
  next_ = now + sweep_every;
  const std::size_t count = std::min(tubes_.size(), most_tubes_swept);
  for (auto at = tubes_.upper_bound(after_); pages.size() < count; ++at) {
    if (at == tubes_.end()) at = tubes_.begin();
    pages.push_back({.tube = at->first, .which = job_state::ready, .after = at->second, .count = most_listed});
    after_ = at->first;
  }
  return pages;
}

void expiry_sweep::note(const std::string& tube, const std::optional<job_place>& next) {
  const auto found = tubes_.find(tube);
  if (found != tubes_.end()) found->second = next.value_or(job_place{});
}

}  // namespace foliot::jobs::detail
