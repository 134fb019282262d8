// What was seen of a service's timers: each operation with the moments at which it was called and returned,
// and its answer; each callback with its first and its last act; each closure's death.
//
// A moment is the value of one counter that everything in the history counts up: what ended before something
// else began has the smaller one.
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
  /// Which timer; none in particular for shut_down and drain.
  std::size_t timer = 0;
  moment begin = 0;
  moment end = 0;
  std::uint64_t answer = 0;
  /// The timer inside whose callback it was called.
  std::optional<std::size_t> inside{};
  /// Of a reset: between which deadlines the one that it asked for is. Of a fire: its deadline, twice.
  instant earliest{};
  instant latest{};
};

struct history {
  /// The shard of each timer.
  std::vector<std::size_t> shard_of;
  std::vector<operation> operations;
};

/// In lines, by the moment at which each operation began.
std::string describe(const history& seen);

}  // namespace foliot::linearizability
