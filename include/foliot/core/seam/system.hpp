// The system-call seam: the only door to the kernel's clocks and waits.
//
// Real side: src/core/seam/system.cpp. Simulated side: tests/simulation, where time is virtual, a
// wait may be interrupted or woken for nothing, and a wake-up may be dropped to prove the checker.
#pragma once

#include <cstddef>
#include <cstdint>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::inline core::seam {

/// CLOCK_MONOTONIC: nanoseconds since boot, without the time spent in suspend.
[[nodiscard]] FOLIOT_EXPORT instant monotonic_now() noexcept;

/// Not before monotonic_now(), and at most 4 us after it, or 7 while that is slewed; cheaper where the processor's
/// ticks can be counted, for threads that ask again within 10 us.
[[nodiscard]] FOLIOT_EXPORT instant monotonic_now_or_later() noexcept;

/// How many processors this program may run on. At least 1.
[[nodiscard]] FOLIOT_EXPORT std::size_t processors() noexcept;

/// Whether the process has threads besides those that the caller knows of.
enum class other_threads : std::uint8_t {
  none,    ///< certainly not
  ending,  ///< only threads that are about to end, and run no code of the program any more: ask again in a moment
  some,    ///< there are, or the system does not say
};
/// `known`: how many threads of the process the caller knows of; all of them live, and none begins or ends meanwhile.
/// Reads /proc: 2 us where there are no others, else 3 us for each known thread. Any thread; allocates nothing.
[[nodiscard]] FOLIOT_EXPORT other_threads threads_besides(std::size_t known) noexcept;

/// How much later than asked the kernel may end the calling thread's waits, so that it wakes less often. A
/// thread has 50 us unless it says otherwise; at least 1 ns. Returns what it was before.
FOLIOT_EXPORT duration set_timer_slack(duration slack) noexcept;

enum class wait_status {
  woken,        ///< somebody woke the word, or the kernel did for no reason
  changed,      ///< the word did not hold the expected value: nothing was waited for
  timed_out,    ///< the deadline has come by the monotonic clock
  interrupted,  ///< a signal came: look at the word and wait again
};

/// Sleeps while `word` holds `expected`, at most until `deadline` of the monotonic clock (never: no
/// limit). May return early with any status but `timed_out`; the caller looks at the word in a loop.
[[nodiscard]] FOLIOT_EXPORT wait_status futex_wait(seam::atomic<std::uint32_t>& word, std::uint32_t expected,
                                                   instant deadline) noexcept;

/// Wakes at most `count` threads that sleep on `word`. The word may be gone by then: a wake-up of an
/// address on which nobody sleeps does nothing.
FOLIOT_EXPORT void futex_wake(seam::atomic<std::uint32_t>& word, int count) noexcept;

}  // namespace foliot::inline core::seam
