// The queue of a processor's runnable tasks: a ring of 1,024, which its owner fills and others may steal from.
//
// As in Go's proc.go (runqput, runqget, runqgrab). Whoever takes from the head decides by one compare-and-swap; a
// thief first copies what it is about to take, which is why the owner never overwrites what has not been taken.
//
// Thread safety: push and its kin are the owner's; pop and steal_half from any thread.
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

  /// False: it is full.
  [[nodiscard]] bool push(task_state& task) noexcept {
    const std::uint32_t tail = tail_.load(seam::relaxed);  // the owner's own
    // acquire: pairs with the release of who took: its copy of the slot is made before it is overwritten.
    if (tail - head_.load(seam::acquire) >= Capacity) return false;
    slot(tail).store(&task, seam::relaxed);  // published by the tail
    tail_.store(tail + 1, seam::release);    // pairs with the acquire in pop() and steal_half()
    return true;
  }

  /// The oldest, or null.
  [[nodiscard]] task_state* pop() noexcept {
    for (;;) {
      // acquire: pairs with the release of who took before, and knew of a tail that is not before this head.
      std::uint32_t head = head_.load(seam::acquire);
      if (tail_.load(seam::acquire) == head) return nullptr;
      task_state* first = slot(head).load(seam::relaxed);  // published by the tail
      // release: pairs with the acquire in push(), pop() and steal_half().
      if (head_.compare_exchange_weak(head, head + 1, seam::release, seam::relaxed)) return first;
    }
  }

  /// Moves half of what is there, rounded up, to `thief`, which is empty and whose owner calls this; and hands it the
  /// last of them. Null: there was nothing.
  [[nodiscard]] task_state* steal_half(basic_run_queue& thief) noexcept {
    const std::uint32_t to = thief.tail_.load(seam::relaxed);
    for (;;) {
      std::uint32_t head = head_.load(seam::acquire);  // as in pop()
      const std::uint32_t size = tail_.load(seam::acquire) - head;
      const std::uint32_t count = size - size / 2;
      if (count == 0) return nullptr;
      if (count > Capacity / 2) continue;  // the tail is of a later moment
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

  /// A moment's answer, to who does not own it.
  [[nodiscard]] std::uint32_t size() const noexcept {
    const std::uint32_t head = head_.load(seam::acquire);
    return tail_.load(seam::acquire) - head;
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

 private:
  [[nodiscard]] seam::atomic<task_state*>& slot(std::uint32_t index) noexcept { return slots_[index % Capacity]; }

  // Written by whoever takes; what is before it is free.
  alignas(64) seam::atomic<std::uint32_t> head_{0};
  // Written by the owner; publishes what is before it.
  alignas(64) seam::atomic<std::uint32_t> tail_{0};
  std::array<seam::atomic<task_state*>, Capacity> slots_{};
};

/// Go's has 256; a thousand tasks that are spawned at once should not all pass the global run queue's lock.
using run_queue = basic_run_queue<1024>;

}  // namespace foliot::runtime::detail
