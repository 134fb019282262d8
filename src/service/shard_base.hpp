// What a service calls on its shards, beyond what handles call (engine.hpp): batches, sleeps, watches, counters and its
// end. Each shard is a shard<Design>; this is the type that all designs share.
//
// Thread safety: every member from any thread, and from inside callbacks unless it says otherwise.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include <foliot/core/callable.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/service/detail/engine.hpp>
#include <foliot/service/statistics.hpp>

#include "slowest_callbacks.hpp"

namespace foliot::detail {

class reset_batch;
class stop_batch;
class watcher;

/// The shards of a service, by their indexes. Each of them is a shard_base: see as_shard().
using shard_list = std::vector<std::shared_ptr<engine>>;

class shard_base : public engine {
 public:
  /// Resets, or stops, the timers of the batch whose owner this is, as reset() and stop() do, and takes them out of the
  /// batch. Here by one call for each.
  virtual void reset_part(reset_batch& batch) noexcept;
  virtual void stop_part(stop_batch& batch) noexcept;

  /// Blocks the calling thread until a timer of its own has fired at `deadline`, and returns true. Returns false if the
  /// start of that timer was dropped, or was refused because the shard has ended. Allocates only what the queue needs
  /// for one more timer and, with an executor, a record if more threads sleep at once than ever before. Throws as reset
  /// does, without having slept. Not on a thread that runs this shard's timers.
  virtual bool sleep_until(instant deadline, std::source_location here) = 0;

  /// The watcher of file descriptors on this shard's thread, which it starts unless the shard has ended; null where the
  /// design has no poller. Throws std::system_error when the thread or the poller cannot be made.
  [[nodiscard]] virtual std::shared_ptr<watcher> start_watcher() = 0;

  /// From now on nothing new is started: a reset of a timer that is not pending is refused, a ticker's pending tick is
  /// its last. Pending timers fire, and may be stopped or reset.
  virtual void begin_to_drain() noexcept = 0;
  /// After begin_to_drain: waits until nothing is pending and no callback runs, or the shard has ended, at most until
  /// the monotonic clock shows `until`. Not inside a callback, and not on virtual time.
  virtual void wait_until_drained(instant until) noexcept = 0;

  /// Ends the shard without waiting: drops the pending timers and refuses every further reset. Returns how many timers
  /// it dropped.
  virtual std::size_t end() noexcept = 0;
  /// After end: waits for the callback that is running, and for the thread. Not inside a callback of this shard, or of
  /// a shard that may wait for it.
  virtual void wait_for_end() noexcept = 0;

  /// Takes this shard's lock, for a caller that takes those of all shards of the service, in descending order of their
  /// indexes, and releases them in ascending order. `is_highest`: it is the first one that the caller takes, and the
  /// last one that it releases.
  virtual void lock_with_others(bool is_highest) noexcept = 0;
  virtual void unlock_with_others(bool is_highest) noexcept = 0;
  /// Allocates room for `count` pending timers, so that up to that number no start allocates, and returns a function
  /// that puts the memory to use, once, and does not throw. If that function is destroyed uncalled, it frees the
  /// memory. These are two steps so that a service reserves in all of its shards or in none. The caller holds the lock
  /// from the first step to the second: in between a stop could give memory back that the first step has counted on.
  /// Throws std::bad_alloc.
  [[nodiscard]] virtual callable<void()> room_for(std::size_t count) = 0;
  /// The counters of all shards of the service, of which this is one. Shard by shard; where timers move between shards,
  /// all at one moment.
  [[nodiscard]] virtual service_counters counters(const shard_list& of_service) const noexcept = 0;
  /// Reports the callbacks that have been running for too long, and returns when to look again. By one thread of the
  /// service's own: see stall_monitor.hpp. Ends when a report has set `is_over`.
  virtual instant report_stalls(const bool& is_over) noexcept = 0;
  /// Adds this shard, and its histograms if it measures callbacks. Does not change the counters.
  virtual void add_to(service_statistics& sum) const noexcept = 0;
  /// Adds this shard's slowest callbacks.
  virtual void add_to(slowest_callbacks& all) const noexcept = 0;
  /// Whether the calling thread runs this shard's timers, in a callback for example, and so must not wait for one.
  [[nodiscard]] virtual bool runs_on_caller() const noexcept = 0;
};

/// Throws std::invalid_argument.
[[noreturn]] void refuse_pinned_timer(const char* reason);

/// Precondition: the engine is one of a service's shards, as every engine is.
inline shard_base& as_shard(engine& one) noexcept { return static_cast<shard_base&>(one); }

}  // namespace foliot::detail
