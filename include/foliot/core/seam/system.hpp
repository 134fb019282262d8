// The system-call seam: the kernel's clocks, futexes and properties of threads.
//
// Real side: src/core/seam/system.cpp. Simulated side: tests/simulation, where time is virtual, a wait may be
// interrupted or end for no reason, and a test may drop a wake-up to prove that the checker notices. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::inline core::seam {

/// CLOCK_MONOTONIC: nanoseconds since boot, without the time in which the machine is suspended.
[[nodiscard]] FOLIOT_EXPORT instant monotonic_now() noexcept;

/// Not before monotonic_now(), and at most 4 us after it (7 us while that clock is slewed). Cheaper than
/// monotonic_now() for a thread that calls again within 10 us, where the processor's ticks can be counted. The results
/// of one thread never go back.
[[nodiscard]] FOLIOT_EXPORT instant monotonic_now_or_later() noexcept;

/// The system's number of the calling thread (gettid).
[[nodiscard]] FOLIOT_EXPORT std::uint32_t this_thread_id() noexcept;

/// How many processors this program may run on. At least 1.
[[nodiscard]] FOLIOT_EXPORT std::size_t processors() noexcept;

/// Whether the process has threads that the caller does not know of.
enum class other_threads : std::uint8_t {
  none,    ///< it certainly has none
  ending,  ///< it has only threads that are ending and run no code of the program any more: ask again in a moment
  some,    ///< it has others, or the system does not report them
};
/// Looks for threads beyond those that the caller knows. `known` is their number; all of them must be alive, and none
/// may begin or end during the call. Reads /proc: 2 us if there are no others, else 3 us for each known thread.
/// Allocates nothing.
[[nodiscard]] FOLIOT_EXPORT other_threads threads_besides(std::size_t known) noexcept;

/// Sets how much later than asked the kernel may end the calling thread's waits, in order to wake it less often. The
/// system's default is 50 us; at least 1 ns. Returns the slack before.
FOLIOT_EXPORT duration set_timer_slack(duration slack) noexcept;

/// Why a wait returned.
enum class wait_status {
  woken,        ///< a thread woke the word, or the kernel woke the wait for no reason
  changed,      ///< the word did not hold the expected value: the call did not wait
  timed_out,    ///< the monotonic clock has reached the deadline
  interrupted,  ///< a signal arrived: look at the word and wait again
};

/// Sleeps while `word` holds `expected`, at most until `deadline` of the monotonic clock (never: no limit). May return
/// early with any status but `timed_out`, so the caller must look at the word in a loop.
[[nodiscard]] FOLIOT_EXPORT wait_status futex_wait(seam::atomic<std::uint32_t>& word, std::uint32_t expected,
                                                   instant deadline) noexcept;

/// Wakes at most `count` threads that sleep on `word`. The word may have been destroyed before the call: waking an
/// address on which no thread sleeps does nothing.
FOLIOT_EXPORT void futex_wake(seam::atomic<std::uint32_t>& word, int count) noexcept;

}  // namespace foliot::inline core::seam
