// An awaiter that returns the task that awaits it, and does not wait.
//
// Thread safety: none; the task uses it.
#pragma once

#include <foliot/core/language.hpp>

#include <coroutine>

#include <foliot/runtime/detail/frame.hpp>
#include <foliot/runtime/detail/task_state.hpp>

namespace foliot::runtime::detail {

class current_task : public task_awaiter {
 public:
  current_task() noexcept = default;

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
    task_ = &who.promise().task();
    return false;
  }
  [[nodiscard]] task_state& await_resume() const noexcept { return *task_; }

 private:
  task_state* task_ = nullptr;
};

}  // namespace foliot::runtime::detail
