// The turn to sleep in the poller: at most one worker has it, so that a thread that breaks the wait knows which worker
// it wakes.
//
// Thread safety: take() and give_back() by workers; everything else from any thread.
#pragma once

#include <cstdint>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>

namespace foliot::runtime::detail {

class processor;

class poll_turn {
 public:
  /// May be stale. relaxed: the turn publishes nothing. Threads that must know which worker sleeps in the poller learn
  /// it from the worker's word (parker.hpp).
  [[nodiscard]] const processor* holder() const noexcept { return holder_.load(seam::relaxed); }
  [[nodiscard]] bool is_free() const noexcept { return holder() == nullptr; }

  /// Returns false if another worker has the turn.
  [[nodiscard]] bool take(const processor& sleeper) noexcept {
    const processor* none = nullptr;
    return holder_.compare_exchange_strong(none, &sleeper, seam::relaxed, seam::relaxed);
  }
  void give_back() noexcept { holder_.store(nullptr, seam::relaxed); }

  /// Called by each thread that has looked into the poller, with the turn or without it.
  void note_poll(instant now) noexcept {
    polls_.fetch_add(1, seam::relaxed);
    polled_at_.store(now.nanoseconds(), seam::relaxed);
  }
  [[nodiscard]] std::uint64_t polls() const noexcept { return polls_.load(seam::relaxed); }
  /// When a thread has looked there last: the monitor sees by that whether any does (H9). relaxed: a hint.
  [[nodiscard]] instant polled_at() const noexcept { return instant::from_nanoseconds(polled_at_.load(seam::relaxed)); }

 private:
  // Written by the worker that takes the turn and by the same worker when it gives it back.
  seam::atomic<const processor*> holder_{nullptr};
  seam::atomic<std::uint64_t> polls_{0};
  // In nanoseconds. Of two threads that look at once the earlier may come later: then it is too early by that much.
  seam::atomic<std::int64_t> polled_at_{INT64_MIN};
};

}  // namespace foliot::runtime::detail
