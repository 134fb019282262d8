// Timers behind a file descriptor, for any loop that waits for descriptors: epoll, poll, select, io_uring.
//
//   foliot::epoll_timers timers;
//   foliot::loop_timer idle{timers, [&] { session.close(); }};
//   idle.reset(30s);
//   … add timers.fd() to the epoll instance, for EPOLLIN; when it is readable: timers.dispatch();
//
// The descriptor is a timerfd. It becomes readable when the earliest timer is due, by CLOCK_MONOTONIC and to the
// nanosecond, and stays readable until a dispatch has left no timer due. The program must not read from it. A start
// makes a system call only if it makes the next deadline earlier, and a stop makes none; so the reset of a heartbeat
// makes none. With EPOLLET the loop must call dispatch until the result has no `more`.
//
// In the child of a fork the timers are a copy of the parent's, pending as there, behind a descriptor of the same
// number that is the child's own. The child needs an epoll instance of its own, too: the one that it inherits is the
// parent's.
//
// Thread safety: none, see loop_timers.hpp. The descriptor may be waited for on another thread.
#pragma once

#include <foliot/adapters/loop_timer.hpp>
#include <foliot/adapters/loop_timers.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/loop_alarm.hpp>

namespace foliot::inline adapters {

/// The timers of a loop that waits for file descriptors. Belongs to the loop's thread.
class FOLIOT_EXPORT epoll_timers final : public loop_timers {
 public:
  /// Throws std::system_error when the process has no file descriptor left or the system no memory.
  epoll_timers() = default;

  /// The descriptor to wait for. The destructor closes it. -1 in the child of a fork for which the system had none.
  [[nodiscard]] int fd() const noexcept { return alarm_.descriptor(); }

  /// Fires the timers that are due, at most `limit`, and sets the descriptor for the next one. Throws as expire does.
  expiry dispatch(budget limit = 256) { return expire(now(), limit); }

 private:
  void wake_at(instant next) noexcept override { alarm_.set(next); }

  seam::loop_alarm alarm_;
};

}  // namespace foliot::inline adapters
