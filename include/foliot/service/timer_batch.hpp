// Batches: many timers of services reset or stopped by one call, as an event loop does for all connections of one
// `epoll_wait`.
//
//   std::vector<foliot::timer_ref> touched;
//   for (connection* each : ready) touched.emplace_back(each->idle);
//   foliot::batch_result done = foliot::reset_all(touched, 30s);
//   if (done.failed != 0) …                                       // no memory: done.failure says why
//
// A batch has the result of as many calls of `reset` or `stop`, one after the other, and costs less:
//   - The clock is read once. The delay counts from that reading, which is not before the call.
//   - The cache lines of the timers ahead are fetched while a timer is done: their misses overlap.
//   - Of each 64 timers, those that need a shard's lock take it once together.
//   - The thread of a shard is woken at most once for each 64 timers. It is woken at most once in all where the timers
//     have one deadline, unless another thread stops the earliest timer meanwhile.
// With another engine than `foliot` each timer is done by a call of its own.
//
// Order: timers of one shard are done in the order of the batch, so a timer that is named twice is done twice, and its
// second deadline counts. Timers of several shards, or of several services, may be in one batch; each 64 timers are
// done shard by shard, in the order in which the shards come first.
//
// Failures: a timer whose reset fails is as it was, and does not keep the other timers from being reset.
//
// Thread safety: as `reset` and `stop`: any thread, and inside callbacks. A batch is not one step for other threads,
// which see its timers change one by one. The handles must not be moved, assigned or destroyed during the call; for a
// timer_ref, see there. Complexity: that of the calls, one by one; allocates nothing itself.
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <exception>
#include <optional>
#include <source_location>
#include <span>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/outcome.hpp>
#include <foliot/core/timer_deadline.hpp>
#include <foliot/service/detail/engine.hpp>
#include <foliot/service/pinned_timer.hpp>
#include <foliot/service/timer.hpp>

namespace foliot::detail {
struct timer_ref_access;
}  // namespace foliot::detail

namespace foliot::inline service {

/// Names a timer in a batch. A plain value of one pointer, made from a handle or a pinned timer. It names the same
/// timer when the handle has been moved, and must not be used when that timer was destroyed or detached.
class timer_ref {
 public:
  /// Throws std::logic_error if the handle is empty.
  timer_ref(const timer& named) : record_(&named.record()) {}  // NOLINT(google-explicit-constructor)
  timer_ref(timer&& temporary) = delete;
  timer_ref(const detail::pinned_timer_base& named) noexcept  // NOLINT(google-explicit-constructor)
      : record_(&named.record()) {}
  timer_ref(detail::pinned_timer_base&& temporary) = delete;

  /// As timer_handle::prefetch().
  void prefetch() const noexcept { record_->prefetch(); }

 private:
  friend struct foliot::detail::timer_ref_access;
  detail::timer_record* record_;
};

/// What reset_all has done. Each timer of the batch counts once.
struct [[nodiscard]] batch_result {
  /// How many timers the call has reset, or has found to be closed.
  std::size_t done = 0;
  /// How many resets failed: these timers are as they were.
  std::size_t failed = 0;
  /// The exception of the first reset that failed, which is that of timer::reset; null if none failed.
  std::exception_ptr failure{};

  /// Throws `failure`, if there is one.
  void rethrow() const {
    if (failure != nullptr) std::rethrow_exception(failure);
  }
};

/// Resets each timer to fire `delay` from now, or up to `slack` later, as timer::reset does. `outcomes` is empty, or
/// has room for as many results as there are timers: the result of each reset at the place of its timer, std::nullopt
/// if it failed. Throws std::invalid_argument, with nothing done, if `outcomes` is too short.
FOLIOT_EXPORT batch_result reset_all(std::span<const timer_ref> timers, duration delay,
                                     duration slack = duration::zero(),
                                     std::span<std::optional<reset_result>> outcomes = {},
                                     std::source_location here = std::source_location::current());

/// The same, with the deadline itself, as timer::reset_at. Also throws std::invalid_argument, with nothing done, for a
/// time point of another clock than that of each timer.
FOLIOT_EXPORT batch_result reset_all_at(std::span<const timer_ref> timers, timer_deadline deadline,
                                        std::span<std::optional<reset_result>> outcomes = {},
                                        std::source_location here = std::source_location::current());

/// The same, with a deadline for each timer: `deadlines` has as many as there are timers. Also throws
/// std::invalid_argument, with nothing done, if it has another number.
FOLIOT_EXPORT batch_result reset_all_at(std::span<const timer_ref> timers, std::span<const instant> deadlines,
                                        std::span<std::optional<reset_result>> outcomes = {},
                                        std::source_location here = std::source_location::current());

/// Stops each timer, as timer::stop does, and returns how many were pending. `outcomes` is empty, or has room for as
/// many results as there are timers. Throws std::invalid_argument, with nothing done, if it is too short.
FOLIOT_EXPORT std::size_t stop_all(std::span<const timer_ref> timers, std::span<stop_result> outcomes = {});

}  // namespace foliot::inline service

namespace foliot::detail {

/// For the functions above.
struct timer_ref_access {
  [[nodiscard]] static timer_record* record(const timer_ref& of) noexcept { return of.record_; }
};

}  // namespace foliot::detail
