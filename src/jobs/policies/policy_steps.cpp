#include "policy_steps.hpp"

#include <algorithm>
#include <utility>

namespace foliot::jobs::detail {

void policy_steps::add(policy_step one) {
  if (one.token.id != 0) tokens_.insert(one.token);
  steps_.push_back(std::move(one));
}

std::vector<policy_step*> policy_steps::due(instant now, std::size_t most) {
  std::vector<policy_step*> found;
  for (policy_step& each : steps_) {
    if (found.size() >= most) break;
    if (each.not_before <= now) found.push_back(&each);
  }
  return found;
}

policy_step policy_steps::take(policy_step& one) {
  const auto found = std::ranges::find(steps_, &one, [](policy_step& each) { return &each; });
  policy_step taken = std::move(*found);
  steps_.erase(found);
  if (taken.token.id != 0) tokens_.erase(taken.token);
  return taken;
}

std::uint64_t policy_steps::kept_of(std::string_view tube) const noexcept {
  std::uint64_t kept = 0;
  for (const policy_step& each : steps_) {
    if (each.token.id != 0 && each.tube == tube) ++kept;
  }
  return kept;
}

instant policy_steps::next() const noexcept {
  instant soonest = instant::never();
  for (const policy_step& each : steps_) {
    soonest = std::min(soonest, each.not_before);
    if (soonest == instant::earliest()) break;
  }
  return soonest;
}

}  // namespace foliot::jobs::detail
