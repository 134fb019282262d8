// The results of stopping and of resetting a timer: the state in which the call found the timer's latest start. Plain
// values.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>

namespace foliot::inline core {

/// What stopping a timer found. No start that came before the stop fires after it.
enum class stop_result : std::uint8_t {
  stopped,  ///< the timer was pending; it will not fire
  running,  ///< the timer's callback is running now
  idle,     ///< the timer had fired or been stopped before, or was never started
};

/// What resetting a timer found. The timer is pending afterwards, except after `closed`.
enum class reset_result : std::uint8_t {
  superseded,  ///< the timer was pending; it will fire at the new deadline only
  running,     ///< the timer's callback is running now; it will run again at the new deadline, after this run
  idle,        ///< the timer had fired or been stopped before, or was never started
  closed,      ///< stop_and_wait, or the end of the timer's service or runtime, came first: nothing was started
};

}  // namespace foliot::inline core
