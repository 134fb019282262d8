// The wait of the engine `epoll-heap`, a reactor: the shard's thread sleeps in its poller, for its next deadline and
// for file descriptors, whose callbacks it runs before it looks at its timers again. As the waits of waits.hpp, and
//
//   serve_ready()   by the thread, without the lock: serves the descriptors without a wait, between two turns of timers
//
// On the monotonic clock the deadline is the poller's timeout, as in every reactor, and late by up to a thousandth of
// the wait. On the other clocks, and in precise mode, an alarm is among the descriptors. Thread safety: wake() and
// woken() from any thread; the others as in waits.hpp.
#pragma once

#include <cstdint>
#include <optional>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/alarm.hpp>
#include <foliot/core/seam/sync.hpp>

#include "service/shard_options.hpp"
#include "service/watcher.hpp"

namespace foliot::detail {

class poll_wait {
 public:
  static constexpr bool can_be_moved = false;
  static constexpr bool watches_descriptors = true;

  explicit poll_wait(const shard_options& options) : watcher_(*options.watcher) {
    watcher_.open();
    if (options.time_id == seam::clock_id::monotonic && !options.precise) return;
    alarm_.emplace(options.time_id);
    watcher_.poller().listen_to(*alarm_);
  }

  void prepare(instant until) noexcept {
    key_.store(quiet, seam::relaxed);  // only the shard's thread clears it, and publishes that by the lock
    until_ = until;
    if (alarm_) alarm_->set(until);
  }
  void sleep() noexcept { watcher_.serve(alarm_ ? instant::never() : until_); }
  void serve_ready() noexcept { watcher_.serve(instant::earliest()); }
  void wake() noexcept {
    // release: pairs with the acquire in woken(): the woken thread sees why.
    key_.store(called, seam::release);
    watcher_.wake();
  }
  [[nodiscard]] bool woken() const noexcept { return key_.load(seam::acquire) == called; }

 private:
  static constexpr std::uint32_t quiet = 0;
  static constexpr std::uint32_t called = 1;

  watcher& watcher_;
  std::optional<seam::alarm> alarm_;
  seam::atomic<std::uint32_t> key_{quiet};
  instant until_;  // the thread's alone
};

}  // namespace foliot::detail
