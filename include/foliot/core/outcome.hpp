// What became of the latest start of a timer when it was stopped, or reset. Values; any thread.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>

namespace foliot::inline core {

/// What became of the latest start of a timer when it was stopped.
enum class stop_result : std::uint8_t {
  stopped,  ///< it was pending; it will not fire
  running,  ///< its callback is running now
  idle,     ///< it had fired or been stopped before, or was never started
};

/// What became of the latest start of a timer when it was reset. In every case but `closed` the timer
/// is pending again.
enum class reset_result : std::uint8_t {
  superseded,  ///< it was pending; only the new deadline counts
  running,     ///< its callback is running now; it will run again, after that
  idle,        ///< it had fired or been stopped before, or was never started
  closed,      ///< stop_and_wait, or the end of its service or runtime, came first: nothing was started
};

}  // namespace foliot::inline core
