// Timers for an event loop, on one thread: foliot's queue, timers with a callback, and what a loop must know.
//
//   foliot::loop_timers timers;
//   foliot::loop_timer idle{timers, [&] { session.close(); }};
//   idle.start(30s);
//   for (;;) {
//     wait_until(timers.next_deadline());       // for whatever the loop waits for
//     timers.expire(timers.now(), 256);
//   }
//
// That is the whole interface for a loop that asks before each wait. A loop that keeps an alarm instead derives,
// and is told when to set it (wake_at): epoll_timers, uv_timers and asio_timer do. See docs/adapters.md.
//
// Never early, in order to the nanosecond; a stop takes effect at once, also on what is due in the same turn. A
// callback may start, stop, reset and destroy every timer, its own included. What it throws comes out of expire:
// that timer has fired, and the others will.
//
// Thread safety: none. One thread owns the timers and their loop.
// Lifetime: timers may outlive their loop_timers, which ends what is pending; they must not be used any more then.
// Complexity: the queue's, O(1).
#pragma once

#include <cstddef>
#include <stdexcept>

#include <foliot/core/clock.hpp>
#include <foliot/core/contract.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/timer_node.hpp>
#include <foliot/queue/foliot_queue.hpp>

namespace foliot::inline adapters {

/// A timer without a callback of its own: derive from it where an object already holds what is to be done.
class FOLIOT_EXPORT loop_node : public timer_node {
 public:
  /// For loop_timers: its time has come, and it is not pending any more. It may destroy the node.
  virtual void fire() = 0;

 protected:
  loop_node() noexcept = default;
  ~loop_node() = default;
};

class FOLIOT_EXPORT loop_timers {
 public:
  explicit loop_timers(const clock& time = monotonic_clock::instance()) noexcept : time_(time), queue_(time.now()) {}
  loop_timers(const loop_timers&) = delete;
  loop_timers& operator=(const loop_timers&) = delete;
  /// What is pending ends without firing.
  virtual ~loop_timers() {
    while (queue_.pop_any() != nullptr) {
    }
  }

  [[nodiscard]] instant now() const noexcept { return time_.now(); }

  /// Arms the node, wherever it was; returns whether it was pending. An instant that has passed means now. Throws
  /// std::bad_alloc; the node is then as it was.
  bool reset(loop_node& node, instant deadline) {
    const bool superseded = queue_.reset(node, deadline);
    if (!expiring_) tell_of(deadline);
    return superseded;
  }
  /// Returns whether it was pending. Sets no alarm: a loop may wake once for what was stopped.
  bool stop(loop_node& node) noexcept {
    const bool stopped = queue_.stop(node);
    if (!expiring_) tell_whether_any();
    return stopped;
  }

  /// When to call expire next, at the latest; never when nothing is pending.
  [[nodiscard]] instant next_deadline() noexcept { return queue_.next_deadline(); }

  /// Fires what is due at `now`, at most `limit` timers; `more` in the answer: call again. Throws what a callback
  /// throws, std::bad_alloc, and std::logic_error from inside a callback.
  expiry expire(instant now, budget limit = unlimited) {
    if (expiring_) throw std::logic_error("foliot: a timer's callback must not run the loop's timers: return to it");
    turn_in_progress this_one(*this);
    const expiry done = queue_.expire(now, limit, [](timer_node& due) { static_cast<loop_node&>(due).fire(); });
    this_one.more = done.more;
    return done;
  }

  /// Makes room for `count` pending timers: up to there no start allocates. Throws std::bad_alloc, with nothing
  /// changed.
  void reserve(std::size_t count) { queue_.reserve(count); }
  [[nodiscard]] std::size_t size() const noexcept { return queue_.size(); }
  [[nodiscard]] check_result check() const { return queue_.check(); }

 protected:
  /// Set the alarm: expire is to be called at that instant; never: not at all. Comes when a start has made the next
  /// deadline earlier, and after a turn. Not when a turn leaves something due (`more`, an exception) that the
  /// alarm was already set for: an alarm that has rung must stay so until it is set anew.
  virtual void wake_at(instant) noexcept {}
  /// Whether anything is pending has changed: for loops that end when nothing is left to wait for.
  virtual void any_pending(bool) noexcept {}

  /// Takes out any pending node without firing it; null when there is none.
  [[nodiscard]] loop_node* take_any() noexcept { return static_cast<loop_node*>(queue_.pop_any()); }
  /// The alarm is not set any more: it has rung, or was taken back.
  void alarm_is_off() noexcept { told_ = instant::never(); }

 private:
  struct turn_in_progress {
    explicit turn_in_progress(loop_timers& timers) noexcept : all(timers) { all.expiring_ = true; }
    turn_in_progress(const turn_in_progress&) = delete;
    turn_in_progress& operator=(const turn_in_progress&) = delete;
    ~turn_in_progress() {
      all.expiring_ = false;
      all.tell_whether_any();
      const instant next = all.queue_.next_deadline();
      if (!more && next != all.told_) all.wake_at(all.told_ = next);
    }
    loop_timers& all;
    bool more = false;
  };

  void tell_of(instant deadline) noexcept {
    tell_whether_any();
    if (deadline < told_) wake_at(told_ = deadline);
  }
  void tell_whether_any() noexcept {
    const bool any = queue_.size() > 0;
    if (any != told_any_) any_pending(told_any_ = any);
  }

  const clock& time_;
  foliot_queue queue_;
  instant told_ = instant::never();  // what the alarm is set to
  bool told_any_ = false;
  bool expiring_ = false;
};

}  // namespace foliot::inline adapters
