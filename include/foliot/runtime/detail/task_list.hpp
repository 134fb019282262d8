// An intrusive_queue of tasks that counts them.
//
// Thread safety: none; as for a plain object. Complexity: O(1).
#pragma once

#include <cstddef>

#include <foliot/core/intrusive_list.hpp>
#include <foliot/runtime/detail/task_state.hpp>
#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

class task_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return tasks_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void push_back(task_state& task) noexcept {
    tasks_.push_back(task);
    ++size_;
  }
  /// Takes the first task out and returns it; null if the list is empty.
  [[nodiscard]] task_state* pop_front() noexcept {
    task_state* const first = tasks_.pop_front();
    if (first != nullptr) --size_;
    return first;
  }

 private:
  intrusive_queue<task_state, &task_state::next_in_queue> tasks_;
  std::size_t size_ = 0;
};

/// Tasks that are claimed under a lock, to be made ready after it.
class ready_list : public task_list {
 public:
  /// Claims the wait for `by`, and lists its task if that was parked. Returns false if another source was first.
  bool claim(const wait_point& wait, wait_word::source by) noexcept {
    const auto result = wait.claim_only(by);
    if (result == wait_word::claim_result::to_resume) push_back(wait.task());
    return result != wait_word::claim_result::late;
  }
};

}  // namespace foliot::runtime::detail
