// Timers behind a file descriptor, for any loop that waits for descriptors: epoll, poll, select, io_uring.
//
//   foliot::epoll_timers timers;
//   foliot::loop_timer idle{timers, [&] { session.close(); }};
//   idle.start(30s);
//   … add timers.fd() to the epoll, for EPOLLIN; when it is readable: timers.dispatch();
//
// The descriptor, a timerfd, is readable once the earliest timer is due, by CLOCK_MONOTONIC and to the nanosecond,
// and stays so until a dispatch has left nothing due. Nobody reads from it. A start sets it anew only where it
// makes the next deadline earlier, a stop never does: a heartbeat's reset calls the system not at all. With EPOLLET,
// dispatch until the answer has no `more`.
//
// Thread safety: none, see loop_timers.hpp. The descriptor may be waited for on another thread.
#pragma once

#include <foliot/adapters/loop_timer.hpp>
#include <foliot/adapters/loop_timers.hpp>
#include <foliot/core/clock.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/alarm.hpp>

namespace foliot::inline adapters {

class FOLIOT_EXPORT epoll_timers final : public loop_timers {
 public:
  /// Throws std::system_error when the process is out of file descriptors, or the system of memory.
  epoll_timers() : alarm_(seam::clock_id::monotonic) {}

  /// The descriptor to wait for. It is closed with the timers.
  [[nodiscard]] int fd() const noexcept { return alarm_.descriptor(); }

  /// Fires what is due, at most `limit` timers, and sets the descriptor to what comes next. As expire throws.
  expiry dispatch(budget limit = 256) { return expire(now(), limit); }

 private:
  void wake_at(instant next) noexcept override { alarm_.set(next); }

  seam::alarm alarm_;
};

}  // namespace foliot::inline adapters
