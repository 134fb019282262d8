// How many steps a task may make before other tasks run: its cooperative budget, as Tokio's coop module has it.
//
// A turn begins when a worker resumes the task, and ends when the task waits. Each co_await is one step of the turn,
// and so is the return from a called task. The turn also ends with the last step of the budget: see step.hpp.
//
// Thread safety: none; the worker that runs the task uses it. Complexity: a step is a decrement and a branch.
#pragma once

#include <foliot/core/language.hpp>

#include <utility>

namespace foliot::runtime::detail {

class turn_budget {
 public:
  static constexpr int steps = 128;

  void begin() noexcept { left_ = std::exchange(next_, steps); }
  /// Counts one step. Returns whether the budget is spent.
  [[nodiscard]] bool spend() noexcept { return --left_ <= 0; }
  /// Sets the budget of the next turn. A task with a pending interrupt (a stop, a timeout) gets a single step, turn
  /// after turn, until a step throws the interrupt: otherwise the last step of a loop could always be one that cannot
  /// throw.
  void end(bool has_interrupt) noexcept {
    const bool throws = std::exchange(throws_, false);
    next_ = has_interrupt && !throws ? 1 : steps;
  }
  /// The last step of this turn throws the interrupt, so that the next turn has a whole budget: what the task does
  /// then, as to clean up, is not thrown out of each of its steps.
  void will_throw() noexcept { throws_ = true; }

 private:
  int left_ = steps;
  int next_ = steps;
  bool throws_ = false;
};

}  // namespace foliot::runtime::detail
