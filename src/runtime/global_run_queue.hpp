// The global run queue: runnable tasks that are in no processor's own queue. They come from threads outside of the
// runtime, from processors whose own queue is full, and from processors that go away. (Go: sched.runq)
//
// Thread safety: size_hint() from any thread; every other function under the scheduler's lock, which the caller passes
// as `guard`, so that clang checks that it is held.
// Complexity: size_hint, empty and push_back O(1); take, take_half and clear O(the number of tasks moved).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/task_list.hpp>

#include "run_queue.hpp"

namespace foliot::runtime::detail {

class global_run_queue {
 public:
  /// The number of tasks, which may be stale. A thread that must not miss a task reads it after a full barrier (H2).
  [[nodiscard]] std::size_t size_hint() const noexcept { return size_.load(seam::relaxed); }

  [[nodiscard]] bool empty(const mutex& guard) const noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    return tasks_.empty();
  }

  void push_back(task_state& task, const mutex& guard) noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    tasks_.push_back(task);
    publish_size();
  }

  /// Moves the older half of a full run queue here. Called by the queue's owner.
  void take_half(run_queue& full, const mutex& guard) noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    for (std::uint32_t i = 0; i < run_queue::capacity / 2; ++i) {
      task_state* const oldest = full.pop();
      if (oldest == nullptr) break;  // thieves have taken the others
      tasks_.push_back(*oldest);
    }
    publish_size();
  }

  /// Returns the oldest task, or null, and moves a fair share of the others to the caller's own queue: the tasks here
  /// divided by the number of processors, at most half of that queue's capacity.
  [[nodiscard]] task_state* take(run_queue& own, std::size_t processors, const mutex& guard) noexcept
      FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    const std::size_t share = std::min<std::size_t>(tasks_.size() / processors + 1, run_queue::capacity / 2);
    task_state* const first = tasks_.pop_front();
    for (std::size_t i = 1; i < share; ++i) {
      task_state* const task = tasks_.pop_front();
      if (task == nullptr) break;
      if (!own.push(*task)) {
        tasks_.push_back(*task);
        break;
      }
    }
    publish_size();
    return first;
  }

  /// Forgets all tasks, at the end of the runtime.
  void clear(const mutex& guard) noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    while (tasks_.pop_front() != nullptr) {
    }
    publish_size();
  }

 private:
  void publish_size() noexcept { size_.store(tasks_.size(), seam::relaxed); }

  task_list tasks_;
  // The size of tasks_, for threads without the lock. Written under it. relaxed: it publishes no task.
  seam::atomic<std::size_t> size_{0};
};

}  // namespace foliot::runtime::detail
