#include "held_back_tubes.hpp"

#include <algorithm>

namespace foliot::jobs::detail {
namespace {

/// Of a tube that has no slot.
instant look_at_again(const std::string& tube, const tube_policy* by, const tube_limits& limits, instant now) {
  return by != nullptr && limits.free(tube, *by, now) != 0 ? now + claim_lasts : instant::never();
}

}  // namespace

void held_back_tubes::add(const std::string& tube, const tube_policy* by, const tube_limits& limits, instant now) {
  tubes_.insert_or_assign(tube, look_at_again(tube, by, limits, now));
}

void held_back_tubes::note_empty(std::string_view tube) noexcept {
  const auto found = tubes_.find(tube);
  if (found != tubes_.end()) tubes_.erase(found);
}

std::vector<std::string> held_back_tubes::take_freed(const tube_limits& limits, const policy_table* policies,
                                                     instant now, const full_tubes& is_full) {
  std::vector<std::string> freed;
  for (auto each = tubes_.begin(); each != tubes_.end();) {
    const std::string& name = each->first;
    const tube_policy* const by = policy_in(policies, name);
    if (is_full(name)) {
      each->second = instant::never();
      ++each;
    } else if (by != nullptr && limits.unplanned(name, *by, now) == 0) {
      each->second = look_at_again(name, by, limits, now);
      ++each;
    } else {
      freed.push_back(name);
      each = tubes_.erase(each);
    }
  }
  return freed;
}

instant held_back_tubes::next(const tube_limits& limits, const policy_table* policies,
                              const full_tubes& is_full) const {
  instant soonest = instant::never();
  for (const auto& [name, again] : tubes_) {
    const tube_policy* const by = policy_in(policies, name);
    if (by == nullptr || is_full(name)) continue;
    soonest = std::min(soonest, again.is_never() ? limits.waits_until(name, *by) : again);
  }
  return soonest;
}

}  // namespace foliot::jobs::detail
