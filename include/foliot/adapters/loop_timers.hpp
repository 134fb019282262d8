// Timers for an event loop, on one thread: foliot_queue, with the interface that a loop needs.
//
//   foliot::loop_timers timers;
//   foliot::loop_timer idle{timers, [&] { session.close(); }};
//   idle.reset(30s);
//   for (;;) {
//     wait_until(timers.next_deadline());       // the loop's own wait
//     timers.expire(timers.now(), 256);
//   }
//
// That is all for a loop that computes the length of each wait. A loop that keeps an alarm instead derives a class,
// whose wake_at() is called when the alarm must be set: as epoll_timers, uv_timers and asio_timer do. See
// docs/adapters.md.
//
// Timers are never early, and fire in exact order to the nanosecond. A stop takes effect at once, also on a timer that
// is due in the same turn. A callback may start, stop, reset and destroy every timer, its own included. If it throws,
// expire throws the same exception: that timer has fired, and the others stay pending.
//
// Thread safety: none. One thread owns the timers and their loop. The child of a fork has a copy of them.
// Lifetime: the destructor ends pending timers without firing them. Timers may be destroyed after their loop_timers,
// but must not be used otherwise then. Complexity: that of foliot_queue, O(1).
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include <foliot/core/clock.hpp>
#include <foliot/core/contract.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/queue/foliot_queue.hpp>

namespace foliot::inline adapters {

/// A timer without a callback of its own: a base class for objects that know what to do when they fire.
class FOLIOT_EXPORT loop_node : public timer_node {
 public:
  /// Called by loop_timers::expire when the deadline has come and the node is not pending any more. It may destroy the
  /// node.
  virtual void fire() = 0;

 protected:
  loop_node() noexcept = default;
  ~loop_node() = default;
};

/// The timers of one event loop. Belongs to the loop's thread.
class FOLIOT_EXPORT loop_timers {
 public:
  /// Timers of that clock, which must outlive them.
  explicit loop_timers(const clock& time = monotonic_clock::instance()) noexcept : time_(time), queue_(time.now()) {}
  loop_timers(const loop_timers&) = delete;
  loop_timers& operator=(const loop_timers&) = delete;
  /// Pending timers end without firing.
  virtual ~loop_timers() {
    while (queue_.pop_any() != nullptr) {
    }
  }

  /// The present time of the clock.
  [[nodiscard]] instant now() const noexcept { return time_.now(); }

  /// The instant that the running turn was given, which is the same for all timers that it fires; outside of a turn the
  /// present time of the clock.
  [[nodiscard]] instant now_of_turn() const noexcept { return expiring_ ? now_of_turn_ : now(); }

  /// The instant `length` from now, for a deadline: one reading of the clock. From 100 us on by now_or_later(), whose
  /// few microseconds are much for a shorter length.
  [[nodiscard]] instant deadline_after_now(duration length) const noexcept {
    constexpr duration short_lengths = duration::nanoseconds(100'000);
    return deadline_after(length < short_lengths ? time_.now() : time_.now_or_later(), length);
  }

  /// Starts a node, or gives a pending node a new deadline; returns whether it was pending. An instant that has passed
  /// means now. Throws std::bad_alloc with nothing changed.
  bool reset(loop_node& node, instant deadline) {
    const bool superseded = queue_.reset(node, deadline);
    if (!expiring_) report_deadline(deadline);
    return superseded;
  }
  /// Stops a node; returns whether it was pending. Does not set the alarm: the loop may wake once for a stopped timer.
  bool stop(loop_node& node) noexcept {
    const bool stopped = queue_.stop(node);
    if (!expiring_) report_whether_any();
    return stopped;
  }

  /// The instant at which expire must be called at the latest; never if no timer is pending.
  [[nodiscard]] instant next_deadline() noexcept { return queue_.next_deadline(); }

  /// Fires the timers that are due at `now`, at most `limit`; if the result has `more`, call again. Throws the
  /// exceptions of callbacks, std::bad_alloc, and std::logic_error when called from a callback.
  expiry expire(instant now, budget limit = unlimited) {
    if (expiring_) {
      throw std::logic_error(
          "foliot: expire must not be called from a timer's callback: let the callback return first");
    }
    turn_in_progress this_one(*this);
    now_of_turn_ = std::min(now, instant::latest());  // no clock shows never
    const expiry done = queue_.expire(now, limit, [](timer_node& due) { static_cast<loop_node&>(due).fire(); });
    this_one.more = done.more;
    return done;
  }

  /// Reserves memory for `count` pending timers: up to that number no start allocates. Throws std::bad_alloc with
  /// nothing changed.
  void reserve(std::size_t count) { queue_.reserve(count); }
  /// How many timers are pending.
  [[nodiscard]] std::size_t size() const noexcept { return queue_.size(); }
  /// Checks the invariants of the queue. O(n).
  [[nodiscard]] check_result check() const { return queue_.check(); }

 protected:
  /// Called when the alarm must be set, so that the loop calls expire at `next`; never: the alarm must be switched off.
  /// That is when a start has made the next deadline earlier, and after a turn. Not called after a turn that leaves due
  /// timers behind (by `more`, or an exception) if the alarm was already set for them: an alarm that has rung must keep
  /// waking the loop until it is set again.
  virtual void wake_at(instant /*next*/) noexcept {}
  /// Called when the first timer has become pending (`any` is true), and when none is pending any more: for loops that
  /// end when there is nothing left to wait for. Not called in the middle of a turn.
  virtual void any_pending(bool /*any*/) noexcept {}

  /// Makes any pending node not pending, without firing it, and returns it; null if there is none.
  [[nodiscard]] loop_node* take_any() noexcept { return static_cast<loop_node*>(queue_.pop_any()); }
  /// To be called when the alarm is not set any more, because it has rung or was switched off.
  void alarm_is_off() noexcept { alarm_at_ = instant::never(); }

 private:
  struct turn_in_progress {
    explicit turn_in_progress(loop_timers& timers) noexcept : all(timers) { all.expiring_ = true; }
    turn_in_progress(const turn_in_progress&) = delete;
    turn_in_progress& operator=(const turn_in_progress&) = delete;
    ~turn_in_progress() {
      all.expiring_ = false;
      all.report_whether_any();
      const instant next = all.queue_.next_deadline();
      if (!more && next != all.alarm_at_) all.wake_at(all.alarm_at_ = next);
    }
    loop_timers& all;
    bool more = false;
  };

  void report_deadline(instant deadline) noexcept {
    report_whether_any();
    if (deadline < alarm_at_) wake_at(alarm_at_ = deadline);
  }
  void report_whether_any() noexcept {
    const bool any = queue_.size() > 0;
    if (any != any_reported_) any_pending(any_reported_ = any);
  }

  const clock& time_;
  foliot_queue queue_;
  instant alarm_at_ = instant::never();  // the instant that the alarm is set to
  bool any_reported_ = false;            // the argument of the last any_pending()
  instant now_of_turn_;
  bool expiring_ = false;
};

}  // namespace foliot::inline adapters
