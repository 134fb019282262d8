#include "held_by_policy.hpp"

#include <algorithm>
#include <chrono>

namespace foliot::jobs::detail {
namespace {

/// A store tells of an ended reservation with the batch that finds it, which may come late.
constexpr duration told_within{std::chrono::seconds(10)};

}  // namespace

void held_by_policy::add(const reservation& token, held_job it, instant until) {
  static_cast<void>(take(token));
  if (!it.group.empty()) groups_[{it.tube, it.group}].tokens.insert(token);
  held_.emplace(token, entry{std::move(it), until});
  ends_.emplace(until, token);
}

const held_job* held_by_policy::find(const reservation& token) const {
  const auto found = held_.find(token);
  return found == held_.end() ? nullptr : &found->second.job;
}

std::optional<held_job> held_by_policy::take(const reservation& token) {
  const auto found = held_.find(token);
  if (found == held_.end()) return std::nullopt;
  ends_.erase({found->second.until, token});
  std::optional<held_job> taken(std::move(found->second.job));
  held_.erase(found);
  if (!taken->group.empty()) {
    const auto home = groups_.find({taken->tube, taken->group});
    home->second.tokens.erase(token);
    if (home->second.tokens.empty()) groups_.erase(home);
  }
  return taken;
}

void held_by_policy::extend(const reservation& token, instant until) {
  const auto found = held_.find(token);
  if (found == held_.end()) return;
  ends_.erase({found->second.until, token});
  found->second.until = until;
  ends_.emplace(until, token);
}

std::vector<reservation> held_by_policy::untold(instant now, std::size_t most) const {
  std::vector<reservation> found;
  for (const auto& [until, token] : ends_) {
    if (found.size() >= most || until.is_never() || until + told_within >= now) break;
    found.push_back(token);
  }
  return found;
}

std::vector<reservation> held_by_policy::some_of(const std::string& tube, const std::string& group, std::size_t most) {
  std::vector<reservation> found;
  const auto home = groups_.find({tube, group});
  if (home == groups_.end()) return found;
  members& of = home->second;
  const std::size_t count = std::min(most, of.tokens.size());
  for (auto at = of.tokens.upper_bound(of.after); found.size() < count; ++at) {
    if (at == of.tokens.end()) at = of.tokens.begin();
    found.push_back(*at);
    of.after = *at;
  }
  return found;
}

void held_by_policy::take_slot(const reservation& token) {
  const auto found = held_.find(token);
  if (found != held_.end()) found->second.job.has_slot = true;
}

bool held_by_policy::is_sound() const {
  std::size_t in_groups = 0;
  for (const auto& [name, of] : groups_) in_groups += of.tokens.size();
  std::size_t with_group = 0;
  for (const auto& [token, it] : held_) with_group += it.job.group.empty() ? 0U : 1U;
  return held_.size() == ends_.size() && in_groups == with_group;
}

}  // namespace foliot::jobs::detail
