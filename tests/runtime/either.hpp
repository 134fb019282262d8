// Waits for the first of two operations, as a select would.
#pragma once

#include <coroutine>
#include <utility>

#include <foliot/runtime/detail/operation.hpp>

namespace foliot::test {

/// Returns 0 or 1: the number of the operation that completed. The other operation is unchanged.
template <class First, class Second>
class either : public runtime::detail::task_awaiter {
 public:
  either(First& first, Second& second) noexcept : first_(&first), second_(&second) {}
  either(const either&) = delete;
  either& operator=(const either&) = delete;

  bool await_ready() {
    if (first_->try_complete()) return true;
    if (!second_->try_complete()) return false;
    which_ = 1;
    return true;
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) {
    wait_.begin(who);
    first_->begin(wait_, 0);
    second_->begin(wait_, 1);
    return wait_.park();
  }
  int await_resume() {
    if (!wait_.begun()) return which_;
    first_->end();
    second_->end();
    wait_.throw_if_interrupted();
    return static_cast<int>(wait_.ended_by());
  }

 private:
  First* first_;
  Second* second_;
  int which_ = 0;
  runtime::detail::wait_point wait_;
};

}  // namespace foliot::test
