// The counters of a shard and of a service: a part of shard.hpp.
#pragma once

#include <cstddef>
#include <ranges>
#include <utility>

#include "shard.hpp"
#include "watcher.hpp"

namespace foliot::detail {

/// How many timers are pending, or were stopped and are still queued.
template <class Design>
std::size_t shard<Design>::count_queued() const noexcept {
  return queue_.size() + posted_;
}

template <class Design>
std::size_t shard<Design>::count_pending() const noexcept {
  return count_queued() - lockless_.sum().stopped_but_queued(count_queued());
}

/// Where timers move, a timer that moves meanwhile must be counted once: so all shards are locked at once, in the order
/// of two_locks.
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

/// Where timers move, `stopped` of one shard may wrap below zero: the timer was started in another shard, whose
/// `stopped` is too large by as much. The sum over all shards is right, since the counters are unsigned.
template <class Design>
service_counters shard<Design>::counters_here() const noexcept {
  service_counters now = counters_;
  const auto without_lock = lockless_.sum();
  now.pending = count_queued() - without_lock.stopped_but_queued(count_queued());
  now.superseded += without_lock.postponed;
  now.started += without_lock.starts;
  if (options_.watcher != nullptr) now.refused += options_.watcher->refused();
  // Once the shard has ended, timers that are still there count as dropped.
  if (phase_ == phase::ended) now.dropped += std::exchange(now.pending, 0);
  // Each start has one outcome: the starts that are neither fired, pending nor dropped were stopped.
  now.stopped = now.started + next_ticks_ - now.fired - now.pending - now.dropped;
  return now;
}

template <class Design>
void shard<Design>::add_to(service_statistics& sum) const noexcept {
  ++sum.shards;
  if (meter_ != nullptr) meter_->add_to(sum);
}

template <class Design>
void shard<Design>::add_to(slowest_callbacks& all) const noexcept {
  const lock held(lock_);
  if (meter_ != nullptr) all.add(meter_->slowest());
}

}  // namespace foliot::detail
