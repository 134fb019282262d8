// On virtual time: the tasks that wait until no other task can run and nothing is due (wait_idle, advance).
//
// Thread safety: none; all tasks of a runtime on virtual time share one thread.
#pragma once

#include <vector>

#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

class idle_waiters {
 public:
  /// Throws std::bad_alloc.
  void add(wait_point& wait, wait_word::source by) { waiters_.push_back({&wait, by}); }
  void remove(const wait_point& wait) noexcept {
    std::erase_if(waiters_, [&wait](const waiter& each) { return each.wait == &wait; });
  }
  /// Ends the wait of the task that waits longest. Returns false if none waits.
  bool wake_first() noexcept {
    if (waiters_.empty()) return false;
    const waiter first = waiters_.front();
    waiters_.erase(waiters_.begin());
    first.wait->claim(first.by);
    return true;
  }

 private:
  struct waiter {
    wait_point* wait;
    wait_word::source by;
  };
  std::vector<waiter> waiters_;
};

}  // namespace foliot::runtime::detail
