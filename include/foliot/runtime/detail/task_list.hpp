// A first-in-first-out list of tasks, by a link in each task.
//
// Thread safety: none; as for a plain object. Complexity: O(1).
#pragma once

#include <cstddef>

#include <foliot/runtime/detail/task_state.hpp>
#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

class task_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void push_back(task_state& task) noexcept {
    task.next_in_queue = nullptr;
    (last_ == nullptr ? first_ : last_->next_in_queue) = &task;
    last_ = &task;
    ++size_;
  }
  /// Takes the first task; null: there is none.
  [[nodiscard]] task_state* pop_front() noexcept {
    task_state* const first = first_;
    if (first == nullptr) return nullptr;
    first_ = first->next_in_queue;
    if (first_ == nullptr) last_ = nullptr;
    --size_;
    return first;
  }

 private:
  task_state* first_ = nullptr;
  task_state* last_ = nullptr;
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
