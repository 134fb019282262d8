#include "rate_limits.hpp"

#include <algorithm>
#include <iterator>

namespace foliot::program {

namespace {

constexpr std::uint64_t nanoseconds_of_a_second = 1'000'000'000;

/// Rounded up: never more requests than are allowed.
duration interval_of(std::uint64_t each_second) noexcept {
  if (each_second == 0) return duration::zero();
  return duration::nanoseconds(static_cast<std::int64_t>((nanoseconds_of_a_second + each_second - 1) / each_second));
}

}  // namespace

rate_limits::rate_limits(request_rate most) noexcept
    : each_second_(most.each_second),
      interval_(interval_of(most.each_second)),
      tolerance_(duration::nanoseconds(
          interval_.count() *
          static_cast<std::int64_t>(std::max<std::uint64_t>(most.burst > 0 ? most.burst : most.each_second, 1) - 1))) {}

duration rate_limits::take(std::string_view key, instant now) { return take_one(key, now, false); }

duration rate_limits::take_ahead(std::string_view key, instant now) { return take_one(key, now, true); }

duration rate_limits::take_one(std::string_view key, instant now, bool ahead) {
  if (!has_limit() || key.empty()) return duration::zero();
  const lock held(lock_);
  bucket& mine = find(key, now);
  const duration wait = mine.full_at - now - tolerance_;
  const bool has_to_wait = wait > duration::zero();
  if (has_to_wait) held_back_.fetch_add(1, seam::relaxed);
  if (!has_to_wait || (ahead && wait <= longest_turn)) mine.full_at += interval_;
  return has_to_wait ? wait : duration::zero();
}

rate_limits::bucket& rate_limits::find(std::string_view key, instant now) {
  // Two are forgotten for each that may come, so that those that have gone take no memory for long.
  for (int i = 0; i < 2 && !by_use_.empty() && by_use_.front()->second.full_at <= now; ++i) forget_oldest();
  auto found = all_.find(key);
  if (found == all_.end()) {
    if (all_.size() == most_keys) forget_oldest();
    std::list<buckets::iterator> place(1);  // made first: nothing is half done if there is no memory
    found = all_.emplace(key, bucket{now, place.begin()}).first;
    place.front() = found;
    by_use_.splice(by_use_.end(), place);
  } else {
    by_use_.splice(by_use_.end(), by_use_, found->second.place);
  }
  found->second.full_at = std::max(found->second.full_at, now);
  return found->second;
}

void rate_limits::forget_oldest() noexcept {
  all_.erase(by_use_.front());
  by_use_.pop_front();
}

std::size_t rate_limits::keys() const {
  const lock held(lock_);
  return all_.size();
}

duration request_rates::take_ahead(std::string_view address, std::string_view token, instant now) {
  const duration for_address = of_address.take_ahead(address, now);
  if (for_address > rate_limits::longest_turn) return for_address;  // it is refused, and takes no turn of its token
  return std::max(for_address, of_token.take_ahead(token, now));
}

}  // namespace foliot::program
