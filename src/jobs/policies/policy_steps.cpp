#include "policy_steps.hpp"

#include <algorithm>
#include <utility>

namespace foliot::jobs::detail {
namespace {

constexpr std::uint32_t most_doublings = 5;

/// What the step keeps in memory, roughly.
std::uint64_t bytes_of(const policy_step& it) {
  std::uint64_t bytes = sizeof(policy_step);
  if (const auto* const moves = std::get_if<put>(&it.asks)) bytes += content_bytes(*moves);
  if (const auto* const gives = std::get_if<release>(&it.asks); gives != nullptr && gives->history) {
    bytes += gives->history->bytes().size();
  }
  if (const auto* const sets = std::get_if<bury>(&it.asks); sets != nullptr && sets->history) {
    bytes += sets->history->bytes().size();
  }
  if (it.known) bytes += it.known->history.bytes().size();
  return bytes;
}

}  // namespace

void policy_steps::add(policy_step one) {
  if (one.token.id != 0) {
    const auto before = tokens_.lower_bound(reservation{one.token.id, 0, 0});
    if (before != tokens_.end() && before->first.id == one.token.id) {
      policy_step& old = steps_.at(before->second);
      if (!old.is_asked) static_cast<void>(take(old));
    }
  }
  one.arrival = ++arrivals_;
  one.bytes = one.token.id != 0 ? bytes_of(one) : 0;
  one.is_asked = false;
  const place at{one.not_before, one.arrival};
  if (one.token.id != 0) tokens_.insert_or_assign(one.token, at);
  sums& of = tubes_[one.tube];
  ++of.steps;
  of.tokens += one.token.id != 0 ? 1U : 0U;
  of.bytes += one.bytes;
  bytes_ += one.bytes;
  steps_.emplace(at, std::move(one));
}

std::vector<policy_step*> policy_steps::due(instant now, std::size_t most) {
  std::vector<policy_step*> found;
  for (auto& [at, each] : steps_) {
    if (found.size() >= most || at.first > now) break;
    each.is_asked = true;
    found.push_back(&each);
  }
  return found;
}

policy_step policy_steps::take(policy_step& one) {
  auto node = steps_.extract(place{one.not_before, one.arrival});
  policy_step taken = std::move(node.mapped());
  if (taken.token.id != 0) {
    const auto kept = tokens_.find(taken.token);
    if (kept != tokens_.end() && kept->second == node.key()) tokens_.erase(kept);
  }
  const auto of = tubes_.find(taken.tube);
  --of->second.steps;
  of->second.tokens -= taken.token.id != 0 ? 1U : 0U;
  of->second.bytes -= taken.bytes;
  if (of->second.steps == 0) tubes_.erase(of);
  bytes_ -= taken.bytes;
  return taken;
}

void policy_steps::postpone(policy_step& one, instant now) {
  const std::uint32_t doublings = one.what == policy_step::kind::move ? std::min(one.refusals++, most_doublings) : 0;
  defer(one, now + duration::nanoseconds(retry_steps_after.count() << doublings));
}

void policy_steps::defer(policy_step& one, instant when) {
  auto node = steps_.extract(place{one.not_before, one.arrival});
  one.is_asked = false;
  one.not_before = when;
  node.key().first = one.not_before;
  const auto kept = tokens_.find(one.token);
  if (kept != tokens_.end() && kept->second.second == one.arrival) kept->second = node.key();
  steps_.insert(std::move(node));
}

const policy_step* policy_steps::of(const reservation& token) const {
  const auto found = tokens_.find(token);
  return found == tokens_.end() ? nullptr : &steps_.at(found->second);
}

void policy_steps::drop(const reservation& token) {
  const auto found = tokens_.find(token);
  if (found != tokens_.end()) static_cast<void>(take(steps_.at(found->second)));
}

std::uint64_t policy_steps::kept_of(std::string_view tube) const noexcept {
  const auto found = tubes_.find(tube);
  return found == tubes_.end() ? 0 : found->second.tokens;
}

bool policy_steps::is_full(std::string_view tube) const noexcept {
  const auto found = tubes_.find(tube);
  if (found == tubes_.end()) return false;
  return found->second.steps >= most_kept_steps || bytes_ >= most_kept_bytes_in_all || keeps_much(tube);
}

bool policy_steps::keeps_much(std::string_view tube) const noexcept {
  const auto found = tubes_.find(tube);
  if (found == tubes_.end() || found->second.tokens == 0) return false;
  const sums& of = found->second;
  return of.tokens >= most_kept_steps || of.bytes >= most_kept_bytes || bytes_ >= most_kept_bytes_in_all;
}

bool policy_steps::is_sound() const {
  std::map<std::string, sums, std::less<>> found;
  std::uint64_t bytes = 0;
  for (const auto& [at, each] : steps_) {
    sums& of = found[each.tube];
    ++of.steps;
    of.tokens += each.token.id != 0 ? 1U : 0U;
    of.bytes += each.bytes;
    bytes += each.bytes;
    if (at != place{each.not_before, each.arrival}) return false;
  }
  const auto is_right = [this](const auto& each) {
    const auto step = steps_.find(each.second);
    return step != steps_.end() && step->second.token == each.first;
  };
  return found == tubes_ && bytes == bytes_ && std::ranges::all_of(tokens_, is_right);
}

instant policy_steps::next() const noexcept { return steps_.empty() ? instant::never() : steps_.begin()->first.first; }

}  // namespace foliot::jobs::detail
