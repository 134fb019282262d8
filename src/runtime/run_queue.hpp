// The queue of a processor's runnable tasks: a ring of 1,024, which its owner fills and other workers may steal from.
//
// As in Go's proc.go (runqput, runqget, runqgrab). Tasks are taken from the head by one compare-and-swap. A thief first
// copies the tasks that it is about to take, so the owner never overwrites a task that has not been taken.
//
// Thread safety: push() by the owner; the other functions from any thread, but steal_half() by the thief's owner.
// Complexity: O(1); steal_half() O(the number of tasks moved). Lock-free.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/task_state.hpp>

namespace foliot::runtime::detail {

template <std::uint32_t Capacity>
class basic_run_queue {
 public:
  static constexpr std::uint32_t capacity = Capacity;
  static_assert((Capacity & (Capacity - 1)) == 0, "a power of two, so that the counters may wrap");

  /// Returns false if the queue is full.
  [[nodiscard]] bool push(task_state& task) noexcept {
    const std::uint32_t tail = tail_.load(seam::relaxed);  // the owner's own
    // acquire: pairs with the release in pop() and steal_half(): a thief has copied the slot before it is overwritten.
    if (tail - head_.load(seam::acquire) >= Capacity) return false;
    slot(tail).store(&task, seam::relaxed);  // published by the tail
    tail_.store(tail + 1, seam::release);    // pairs with the acquire in pop() and steal_half()
    return true;
  }

  /// Takes the oldest task; null: there is none.
  [[nodiscard]] task_state* pop() noexcept {
    for (;;) {
      // acquire: pairs with the release of the thread that took before, which saw a tail that is not before this head.
      std::uint32_t head = head_.load(seam::acquire);
      if (tail_.load(seam::acquire) == head) return nullptr;
      task_state* first = slot(head).load(seam::relaxed);  // published by the tail
      // release: pairs with the acquire in push(), pop() and steal_half().
      if (head_.compare_exchange_weak(head, head + 1, seam::release, seam::relaxed)) return first;
    }
  }

  /// Moves half of the tasks, rounded up, to `thief`, and returns the last of them instead of queueing it; null: there
  /// was none. Precondition: `thief` is empty, and its owner calls this.
  [[nodiscard]] task_state* steal_half(basic_run_queue& thief) noexcept {
    const std::uint32_t to = thief.tail_.load(seam::relaxed);
    for (;;) {
      std::uint32_t head = head_.load(seam::acquire);  // as in pop()
      const std::uint32_t size = tail_.load(seam::acquire) - head;
      const std::uint32_t count = size - size / 2;
      if (count == 0) return nullptr;
      if (count > Capacity / 2) continue;  // the tail was read later, and is too far ahead
      for (std::uint32_t i = 0; i < count; ++i) {
        thief.slot(to + i).store(slot(head + i).load(seam::relaxed), seam::relaxed);
      }
      if (head_.compare_exchange_weak(head, head + count, seam::release, seam::relaxed)) {  // as in pop()
        task_state* last = thief.slot(to + count - 1).load(seam::relaxed);
        if (count > 1) thief.tail_.store(to + count - 1, seam::release);  // as in push()
        return last;
      }
    }
  }

  /// How many tasks are queued; may be stale, except for the owner of an empty queue.
  [[nodiscard]] std::uint32_t size() const noexcept {
    const std::uint32_t head = head_.load(seam::acquire);
    return tail_.load(seam::acquire) - head;
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

 private:
  [[nodiscard]] seam::atomic<task_state*>& slot(std::uint32_t index) noexcept { return slots_[index % Capacity]; }

  // Written by every thread that takes tasks; the slots before it are free.
  alignas(64) seam::atomic<std::uint32_t> head_{0};
  // Written by the owner; publishes the slots before it.
  alignas(64) seam::atomic<std::uint32_t> tail_{0};
  std::array<seam::atomic<task_state*>, Capacity> slots_{};
};

/// Go's ring has 256 slots. Here a thousand tasks that are spawned at once stay off the global run queue's lock.
using run_queue = basic_run_queue<1024>;

}  // namespace foliot::runtime::detail
