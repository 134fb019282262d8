// Timers in a loop of libev, in exact order, and in O(1) where libev has a heap.
//
//   foliot::ev_timers timers(EV_DEFAULT);
//   foliot::loop_timer idle(timers, [&] { session.close(); });
//   idle.reset(30s);
//   timers.run();                            // ev_run; throws the exceptions of callbacks
//
// All timers together are one ev_io of the loop, on a descriptor of their own. As with ev_timer, the loop runs as long
// as a timer is pending, unless unref() was called. A start and a stop call neither the system nor libev, except a
// start that makes the next deadline earlier. A delay counts from the call, not from the last wake-up of the loop.
//
// An exception must not pass through libev, which is C. If a callback throws, all running ev_run of the loop end
// (EVBREAK_ALL); then run(), or rethrow() after an ev_run of the program's own, throws the exception. No timer is lost:
// the next run continues.
//
// In the child of a fork the timers are a copy of the parent's, pending as there, with a descriptor of their own, and
// go on as libev's own watchers do: after ev_loop_fork.
//
// Needs a libev whose functions take the loop, as they do by default.
// Thread safety: none. They belong to the loop's thread: see loop_timers.hpp.
// Lifetime: they must be destroyed before their loop, and not in a callback of theirs.
#pragma once

#include <foliot/core/language.hpp>

#include <ev.h>

#include <foliot/adapters/detail/c_loop_timers.hpp>
#include <foliot/adapters/loop_timer.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/export.h>

namespace foliot::inline adapters {

/// The timers of a loop of libev. Belongs to the loop's thread.
class FOLIOT_EXPORT ev_timers final : public detail::c_loop_timers {
 public:
  /// Timers of `loop`, of which at most `turn` fire before the loop serves its other watchers. Throws std::system_error
  /// if there is no file descriptor left.
  explicit ev_timers(struct ev_loop* loop, budget turn = detail::usual_turn) : c_loop_timers(turn), loop_(loop) {
    ev_io_init(&watcher_, &on_readable, descriptor(), EV_READ);
    watcher_.data = this;
    ev_io_start(loop_, &watcher_);
    ev_unref(loop_);
  }
  /// Ends pending timers without firing them.
  ~ev_timers() override {
    pending_ = true;  // ev_io_stop drops the reference that ev_io_start has taken
    keeps_loop_ = true;
    update_ref();
    ev_io_stop(loop_, &watcher_);
  }

  /// Calls ev_run for the timers' loop and returns whether watchers are left. If a callback throws, ends the run and
  /// throws that exception.
  bool run(int flags = 0) {
    const bool are_left = ev_run(loop_, flags) != 0;
    rethrow();
    return are_left;
  }

  /// Lets the loop end while timers are pending.
  void unref() noexcept {
    keeps_loop_ = false;
    update_ref();
  }
  /// Keeps the loop running while timers are pending, which is the default.
  void ref() noexcept {
    keeps_loop_ = true;
    update_ref();
  }

 private:
  static void on_readable(struct ev_loop* loop, ev_io* watcher, int /*events*/) noexcept {
    if (!static_cast<ev_timers*>(watcher->data)->take_turn()) ev_break(loop, EVBREAK_ALL);
  }

  void any_pending(bool any) noexcept override {
    pending_ = any;
    update_ref();
  }
  void update_ref() noexcept {
    const bool wanted = pending_ && keeps_loop_;
    if (wanted == is_counted_) return;
    is_counted_ = wanted;
    if (wanted) {
      ev_ref(loop_);
    } else {
      ev_unref(loop_);
    }
  }

  struct ev_loop* const loop_;
  ev_io watcher_{};
  bool pending_ = false;
  bool keeps_loop_ = true;
  bool is_counted_ = false;  // whether the loop runs as long as the watcher is active
};

}  // namespace foliot::inline adapters
