// The contract of a timer service as a machine that takes one step at a time: what each operation does to its
// timer, in one moment or in several, and what it then answers.
//
//   reset                one moment
//   stop, pending        one moment
//   stop_and_wait        two: it takes the start back, for good; and it finds the closure dead. From inside its own
//                        callback the first alone
//   destroy              the same
//   shut_down            for each timer a moment at which it ends; and one at which no callback runs, but for the one
//                        that it is called from
//   drain                the same, and before those a moment for each timer from which on nothing new starts
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

/// What the machine knows of a timer.
struct timer_state {
  std::uint8_t started_by = 0;  // pending: by which operation, plus one
  bool running = false;
  bool closed = false;    // for good: by stop_and_wait, destroy, or as it was dropped
  bool draining = false;  // its service starts nothing new
  bool ended = false;     // its service has ended
  bool dead = false;      // its closure is destroyed
  bool operator==(const timer_state&) const = default;
};

struct state {
  std::array<timer_state, most_timers> timers{};
  /// What each shut_down and drain has dropped so far.
  std::array<std::uint8_t, most_operations> dropped{};
  bool operator==(const state&) const = default;
};

struct step {
  enum class kind : std::uint8_t { whole, close, gone, refuse, end, over, begin_callback, end_callback };
  kind what;
  std::size_t operation;
  std::size_t timer;
  /// It happened between these two.
  moment earliest;
  moment latest;
};

/// The steps of all operations. Those of one operation follow each other as `refuse`, `end`, `over`, and as the
/// others are listed.
std::vector<step> steps_of(const history& seen);

/// Whether the step can come next, with the answer that its operation gave; if so, it is done.
bool take(state& now, const step& next, const history& seen);

}  // namespace foliot::linearizability
