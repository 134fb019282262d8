// The contract of a timer service as a state machine: the steps of each operation, their effect on its timer, and the
// answer. A step takes one moment.
//
//   reset                one moment
//   stop, pending        one moment
//   stop_and_wait        two: it stops and closes the timer; then it finds the closure destroyed. Inside the timer's
//   own
//                        callback only the first
//   destroy              the same
//   shut_down            for each timer a moment at which the timer ends; then a moment at which no callback runs,
//   except
//                        the one that called it
//   drain                the same, and before these a moment for each timer after which nothing new starts
//   fire                 two, around the callback
//   die                  one
//
// Not in the machine, since the contract does not promise it: that shut_down ends all timers at one moment.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "history.hpp"

namespace foliot::linearizability {

inline constexpr std::size_t most_timers = 4;
inline constexpr std::size_t most_operations = 60;

/// The machine's state of a timer.
struct timer_state {
  std::uint8_t started_by = 0;  // the index of the operation that started it, plus one; 0: not pending
  bool running = false;
  bool closed = false;    // by stop_and_wait or destroy, or because it was dropped
  bool draining = false;  // its service starts nothing new
  bool ended = false;     // its service has ended
  bool dead = false;      // its closure is destroyed
  bool operator==(const timer_state&) const = default;
};

struct state {
  std::array<timer_state, most_timers> timers{};
  /// How many timers each shut_down and drain has dropped so far.
  std::array<std::uint8_t, most_operations> dropped{};
  bool operator==(const state&) const = default;
};

struct step {
  enum class kind : std::uint8_t { whole, close, gone, refuse, end, over, begin_callback, end_callback };
  kind what;
  std::size_t operation;
  std::size_t timer;
  /// The step happened between these two moments.
  moment earliest;
  moment latest;
};

/// The steps of all operations. Those of one operation follow each other as `refuse`, `end`, `over`, and as the
/// others are listed.
std::vector<step> steps_of(const history& seen);

/// Does the step if it can come next with the answer that its operation gave. Returns whether it can.
bool take(state& now, const step& next, const history& seen);

}  // namespace foliot::linearizability
