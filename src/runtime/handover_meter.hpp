// How long a task that another task makes ready stays in a processor's run-next slot.
//
// Such a task runs next on that processor, so as a rule no other worker is woken for it. But if the running task goes
// on for longer than a wake-up takes, an idle worker should come and take it. Of every seven hand-overs one is
// measured, and the latest measurement decides for those that follow.
//
// Thread safety: is_slow() from any thread, a hint; every other function by the processor's worker.
#pragma once

#include <cstdint>
#include <utility>

#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::runtime::detail {

class handover_meter {
 public:
  /// Tasks here run on for long after they have made another one ready, which should not wait for that.
  [[nodiscard]] bool is_slow() const noexcept { return slow_.load(seam::relaxed); }

  /// The running task has put another one into the empty run-next slot. Returns whether to wake an idle worker for it.
  [[nodiscard]] bool begin(const clock& time) noexcept {
    const bool measured = ++handovers_ % measured_every == 0;
    if (measured) since_ = time.now_or_later();
    return is_slow() || (measured && stayed_ >= worth_a_try);
  }

  [[nodiscard]] bool is_measuring() const noexcept { return !since_.is_never(); }

  /// The running task has returned to the worker: the measured task leaves the slot now, or would if no thief had
  /// taken it. Precondition: is_measuring().
  void end(const clock& time) noexcept {
    stayed_ = time.now_or_later() - std::exchange(since_, instant::never());
    slow_.store(stayed_ >= worth_a_wake_up, seam::relaxed);
  }

 private:
  /// Odd, because two tasks that hand over to each other take turns: both are measured.
  static constexpr std::uint32_t measured_every = 7;
  /// A stay of this length is worth a wake-up, which takes some 25 us.
  static constexpr duration worth_a_wake_up = duration::nanoseconds(30'000);
  /// A stay of this length is worth a wake-up for each measured hand-over: a worker that has come stays awake if more
  /// work follows soon.
  static constexpr duration worth_a_try = duration::nanoseconds(4'000);

  // Written by the worker; a hint to other threads.
  seam::atomic<bool> slow_{false};
  std::uint32_t handovers_ = 0;
  instant since_ = instant::never();  // never: no task is measured
  duration stayed_{};
};

}  // namespace foliot::runtime::detail
