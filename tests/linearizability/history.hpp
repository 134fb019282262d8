// The history of a service's timers: each operation with the moments of its call and its return, and its answer; each
// callback with the moments of its beginning and its end; the destruction of each closure.
//
// A moment is the value of one counter, which each event of the history increments: if one event ended before another
// one began, its moment is smaller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <foliot/core/instant.hpp>

namespace foliot::linearizability {

using moment = std::uint64_t;

enum class verb : std::uint8_t {
  reset,          ///< a reset or start; the answer is a reset_result
  stop,           ///< the answer is a stop_result
  stop_and_wait,  ///< the same
  destroy,        ///< of the handle; no answer
  pending,        ///< the answer is 0 or 1
  shut_down,      ///< of the service; the answer is how many it dropped
  drain,          ///< the same
  fire,           ///< a callback runs
  die,            ///< the closure is destroyed
};

struct operation {
  verb what;
  /// The index of the timer; it means nothing for shut_down and drain.
  std::size_t timer = 0;
  moment begin = 0;
  moment end = 0;
  std::uint64_t answer = 0;
  /// The timer inside the callback of which the operation was called.
  std::optional<std::size_t> inside{};
  /// Of a reset: the bounds of its deadline. Of a fire: its deadline, twice.
  instant earliest{};
  instant latest{};
};

struct history {
  /// The shard of each timer.
  std::vector<std::size_t> shard_of;
  std::vector<operation> operations;
};

/// The history as text, a line for each operation, in the order of their beginnings.
std::string describe(const history& seen);

}  // namespace foliot::linearizability
