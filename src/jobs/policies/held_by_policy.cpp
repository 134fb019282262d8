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

void held_by_policy::take_slot(const reservation& token) {
  const auto found = held_.find(token);
  if (found != held_.end()) found->second.job.has_slot = true;
}

bool held_by_policy::is_sound() const {
  return held_.size() == ends_.size() && std::ranges::all_of(held_, [this](const auto& each) {
           return ends_.contains({each.second.until, each.first});
         });
}

}  // namespace foliot::jobs::detail
