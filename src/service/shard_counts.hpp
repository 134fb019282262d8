// How many timers a shard has, and what became of those it had: a part of shard.hpp.
#pragma once

#include <cstddef>
#include <memory>
#include <ranges>
#include <utility>

#include "shard.hpp"

namespace foliot::detail {

/// Those that are pending, and those that were stopped and are still queued.
template <class Design>
std::size_t shard<Design>::count_queued() const noexcept {
  return queue_.size() + (awaiting_requeue_ == nullptr ? 0 : 1) + posted_;
}

template <class Design>
std::size_t shard<Design>::count_pending() const noexcept {
  return count_queued() - count_lockless().stopped_but_queued(count_queued());
}

template <class Design>
lockless_counts::sums shard<Design>::count_lockless() const noexcept {
  if constexpr (lockless) {
    return lockless_.sum();
  } else {
    return {};
  }
}

/// A timer that was stopped without the lock has left the queue.
template <class Design>
void shard<Design>::count_dequeued() noexcept {
  if constexpr (lockless) lockless_.add_dequeued();
}

/// Where timers move, a timer that moves meanwhile must not be counted twice, or not at all: then under all locks at
/// once, in the order of two_locks.
template <class Design>
service_counters shard<Design>::counters(const shard_list& of_service) const noexcept FOLIOT_NO_ANALYSIS {
  service_counters sum;
  const auto one = [](const std::shared_ptr<engine>& each) -> const shard& { return static_cast<const shard&>(*each); };
  if constexpr (moves) {
    for (const auto& each : of_service | std::views::reverse) one(each).lock_.lock_beside_others();
    for (const auto& each : of_service) sum += one(each).counters_here();
    for (const auto& each : of_service) one(each).lock_.unlock_beside_others();
  } else {
    for (const auto& each : of_service) {
      const lock held(one(each).lock_);
      sum += one(each).counters_here();
    }
  }
  return sum;
}

/// Where timers move, `stopped` may be less than nothing: the timer was started in another shard, whose `stopped` is
/// too great by as much. Of the numbers, which have no sign, the sum is right.
template <class Design>
service_counters shard<Design>::counters_here() const noexcept {
  service_counters now = counters_;
  const auto without_lock = count_lockless();
  now.pending = count_queued() - without_lock.stopped_but_queued(count_queued());
  now.superseded += without_lock.postponed;
  now.started += without_lock.starts;
  // Once it has ended, what is still there counts as dropped.
  if (phase_ == phase::ended) now.dropped += std::exchange(now.pending, 0);
  // Each start ends once: what did not fire and is not there any more was stopped.
  now.stopped = now.started + beats_ - now.fired - now.pending - now.dropped;
  return now;
}

}  // namespace foliot::detail
