// The wait of a reactor: a shard's thread sleeps in its poller, for its next deadline and for file descriptors, whose
// callbacks it runs before it looks at its timers again. As the waits of waits.hpp, and
//
//   glance()   the thread's, without the lock: the descriptors, without a wait, while there are timers all the time
//
// On the monotonic clock the deadline is the poller's timeout, as in every reactor, and late by up to a thousandth of
// the wait; on the others, and where it is to be precise, a bell is among the descriptors. Thread safety: wake() from
// any thread; the others as in waits.hpp.
#pragma once

#include <cstdint>
#include <optional>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/alarm.hpp>
#include <foliot/core/seam/sync.hpp>

#include "shard_options.hpp"
#include "watcher.hpp"

namespace foliot::detail {

class poll_wait {
 public:
  static constexpr bool can_be_moved = false;
  static constexpr bool watches_descriptors = true;

  explicit poll_wait(const shard_options& options) : watcher_(*options.watches) {
    watcher_.open();
    if (options.time_id == seam::clock_id::monotonic && !options.precise) return;
    bell_.emplace(options.time_id);
    watcher_.poller().listen_to(*bell_);
  }

  void prepare(instant until) noexcept {
    key_.store(quiet, seam::relaxed);  // only the sleeper clears, and publishes that through the lock
    until_ = until;
    if (bell_) bell_->set(until);
  }
  void sleep() noexcept { watcher_.serve(bell_ ? instant::never() : until_); }
  void glance() noexcept { watcher_.serve(instant::earliest()); }
  void wake() noexcept {
    // release: pairs with the acquire in woken(): the sleeper sees why it was woken.
    key_.store(called, seam::release);
    watcher_.wake();
  }
  [[nodiscard]] bool woken() const noexcept { return key_.load(seam::acquire) == called; }

 private:
  static constexpr std::uint32_t quiet = 0;
  static constexpr std::uint32_t called = 1;

  watcher& watcher_;
  std::optional<seam::alarm> bell_;
  seam::atomic<std::uint32_t> key_{quiet};
  instant until_;  // the thread's
};

}  // namespace foliot::detail
