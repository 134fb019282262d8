// How many steps a task may make before others have their turn. (Tokio's coop budget.)
//
// A turn begins when a worker takes the task, and ends when the task waits. Each co_await is a step of it, and so is
// the return from a task that was called. With the last step of the budget the turn ends as well: see step.hpp.
//
// Thread safety: the task's. Complexity: a step is a decrement and a branch.
#pragma once

#include <foliot/core/language.hpp>

#include <utility>

namespace foliot::runtime::detail {

class turn_budget {
 public:
  static constexpr int steps = 128;

  void begin() noexcept { left_ = std::exchange(next_, steps); }
  /// One step. True: it is the last one, or one more after that.
  [[nodiscard]] bool spend() noexcept { return --left_ <= 0; }
  /// The budget is spent. In a task that is to leave its waits the next step is a last one again, until one of them can
  /// be left: which steps come last must not depend on how many there are in a loop.
  void end(bool has_interrupt) noexcept { next_ = has_interrupt ? 1 : steps; }

 private:
  int left_ = steps;
  int next_ = steps;
};

}  // namespace foliot::runtime::detail
