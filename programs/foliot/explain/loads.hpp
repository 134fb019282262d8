// What the timers of a recording do: loads of some dozen timers, small enough to be followed by the eye, each of which
// shows something that distinguishes the queues.
//
// Plain values. The same load is always the same.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace foliot::program {

/// Something that a program does with a timer.
struct timer_action {
  enum class kind : std::uint8_t { start, stop, reset };
  std::chrono::microseconds when{};  ///< after the beginning; ascending
  kind what = kind::start;
  unsigned timer = 0;                 ///< from 0 on
  std::chrono::microseconds delay{};  ///< from `when` to the deadline; nothing for a stop
};

/// A load.
struct timer_load {
  std::string_view name;   ///< for the choice on the page
  std::string_view about;  ///< a sentence or two: what it is, and what to look at
  unsigned timers = 0;
  std::vector<timer_action> actions;
};

/// All of them, the most telling first.
[[nodiscard]] std::vector<timer_load> explained_loads();

}  // namespace foliot::program
