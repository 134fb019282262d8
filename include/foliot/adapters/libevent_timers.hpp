// Timers in an event base of libevent, precise to the nanosecond, where libevent's own are in the order of a heap and
// precise to a millisecond or, if it is asked for, to a microsecond.
//
//   foliot::libevent_timers timers(base);
//   foliot::loop_timer idle(timers, [&] { session.close(); });
//   idle.reset(30s);
//   timers.run();                            // event_base_loop; throws the exceptions of callbacks
//
// All timers together are one event of the base, on a descriptor of their own. As with libevent's timers, the loop runs
// as long as a timer is pending. Of the starts and stops only these call libevent or the system: the first start, the
// stop that leaves no timer pending, and a start that makes the next deadline earlier.
//
// An exception must not pass through libevent, which is C. If a callback throws, the loop is stopped
// (event_base_loopbreak); then run(), or rethrow() after a loop of the program's own, throws the exception. No timer is
// lost: the next run continues. If libevent has no memory to watch the descriptor, they throw std::system_error, and
// the next start tries again.
//
// In the child of a fork the timers are a copy of the parent's, pending as there, with a descriptor of their own, and
// go on as libevent's own events do: after event_reinit.
//
// Thread safety: none. They belong to the loop's thread: see loop_timers.hpp.
// Lifetime: they must be destroyed before their base, and not in a callback of theirs.
#pragma once

#include <foliot/core/language.hpp>

#include <event2/event.h>

#include <cerrno>
#include <exception>
#include <new>
#include <system_error>

#include <foliot/adapters/detail/c_loop_timers.hpp>
#include <foliot/adapters/loop_timer.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/export.h>

namespace foliot::inline adapters {

/// The timers of an event base of libevent. Belongs to the loop's thread.
class FOLIOT_EXPORT libevent_timers final : public detail::c_loop_timers {
 public:
  /// Timers of `base`, of which at most `turn` fire before the loop serves its other events. Throws std::system_error
  /// if there is no file descriptor left, and std::bad_alloc.
  explicit libevent_timers(event_base* base, budget turn = detail::usual_turn)
      : c_loop_timers(turn), event_(event_new(base, descriptor(), EV_READ | EV_PERSIST, &on_readable, this)) {
    if (event_ == nullptr) throw std::bad_alloc();
  }
  /// Ends pending timers without firing them.
  ~libevent_timers() override { event_free(event_); }

  /// Calls event_base_loop for the timers' base and returns its result. If a callback throws, stops the loop and throws
  /// that exception.
  int run(int flags = 0) {
    const int result = event_base_loop(event_get_base(event_), flags);
    rethrow();
    return result;
  }

 private:
  static void on_readable(evutil_socket_t /*descriptor*/, short /*what*/, void* self) noexcept {
    auto& timers = *static_cast<libevent_timers*>(self);
    if (!timers.take_turn()) event_base_loopbreak(event_get_base(timers.event_));
  }

  void any_pending(bool any) noexcept override {
    if (!any) {
      event_del(event_);
    } else if (event_add(event_, nullptr) != 0) {
      keep(std::make_exception_ptr(std::system_error(errno == 0 ? ENOMEM : errno, std::generic_category(),
                                                     "foliot: cannot watch the alarm in the loop of libevent")));
    }
  }

  event* const event_;
};

}  // namespace foliot::inline adapters
