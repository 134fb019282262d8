// All tasks that have not ended: for the report of a deadlock, and for the end of the runtime. There are several lists,
// so that processors seldom contend for a lock.
//
// Thread safety: all functions from any thread. Complexity: add and remove O(1), the others O(the number of tasks).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/task_state.hpp>

namespace foliot::runtime::detail {

class living_tasks {
 public:
  /// `processor` decides which list the task joins: the number of the caller's processor, or any number.
  void add(task_state& task, std::uint32_t processor) noexcept {
    task.living_list = processor % lists;
    list& l = lists_[task.living_list];
    const lock held(l.guard);
    l.tasks.push_front(task);
    ++l.size;
    ++l.added;
  }
  /// Precondition: the task was added, and not removed since.
  void remove(task_state& task) noexcept {
    list& l = lists_[task.living_list];
    const lock held(l.guard);
    l.tasks.erase(task);
    --l.size;
  }
  /// One of the tasks; null if there is none.
  [[nodiscard]] task_state* any() noexcept {
    for (list& l : lists_) {
      const lock held(l.guard);
      if (task_state* const first = l.tasks.front()) return first;
    }
    return nullptr;
  }
  /// Calls `visit(task)` for each task under its list's lock: `visit` must neither add nor remove a task.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const list& l : lists_) {
      const lock held(l.guard);
      for (const task_state* task = l.tasks.front(); task != nullptr; task = l.tasks.next(*task)) visit(*task);
    }
  }
  /// How many tasks there are, and how many were ever added.
  struct counts {
    std::size_t size = 0;
    std::uint64_t added = 0;
  };
  [[nodiscard]] counts count() const noexcept {
    counts sum;
    for (const list& l : lists_) {
      const lock held(l.guard);
      sum.size += l.size;
      sum.added += l.added;
    }
    return sum;
  }

 private:
  static constexpr std::size_t lists = 16;
  struct alignas(64) list {
    mutable mutex guard{lock_rank::scheduler};
    intrusive_list<task_state, &task_state::living_links> tasks FOLIOT_GUARDED_BY(guard);
    std::size_t size FOLIOT_GUARDED_BY(guard) = 0;
    std::uint64_t added FOLIOT_GUARDED_BY(guard) = 0;
  };
  std::array<list, lists> lists_;
};

}  // namespace foliot::runtime::detail
