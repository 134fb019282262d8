// Whether a processor has a worker, and whether that worker is to leave, because set_processors() takes the processor
// away.
//
//   absent ──begin──► present ──ask_to_leave──► to leave ──leave──► left ──end──► absent
//                        ▲                          │
//                        └────────── stay ──────────┘
//
// Thread safety: is_to_leave() from any thread; ask_to_leave() and begin() by the thread that changes the number of
// processors; every function with a `guard` under the scheduler's lock, which is that argument, so that clang checks
// that it is held.
#pragma once

#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::runtime::detail {

class worker_tenure {
 public:
  /// Whether the worker is asked to leave. The worker sees it in its next round, or before it sleeps.
  [[nodiscard]] bool is_to_leave() const noexcept { return to_leave_.load(seam::relaxed); }
  /// The caller then notifies the worker.
  void ask_to_leave() noexcept { to_leave_.store(true, seam::seq_cst); }

  /// A worker is about to be started: the start of its thread publishes this.
  void begin(const mutex& guard) noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    to_leave_.store(false, seam::relaxed);
    has_left_ = false;
    present_ = true;
  }
  /// Takes back ask_to_leave(). Returns false if the worker has left already, and runs no tasks any more.
  [[nodiscard]] bool stay(const mutex& guard) noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    if (!has_left_) to_leave_.store(false, seam::relaxed);
    return !has_left_;
  }
  /// The worker leaves, and runs no tasks from now on, unless stay() was called. Returns whether it leaves.
  [[nodiscard]] bool leave(const mutex& guard) noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    return has_left_ = is_to_leave();
  }
  /// There is no worker any more, or it could not be started.
  void end(const mutex& guard) noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    present_ = false;
  }

  [[nodiscard]] bool has_left(const mutex& guard) const noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    return has_left_;
  }
  /// Whether there is a worker that has not handed over its tasks.
  [[nodiscard]] bool is_present(const mutex& guard) const noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    return present_;
  }

 private:
  // Written by the thread that changes the number of processors.
  seam::atomic<bool> to_leave_{false};
  // The next two under the scheduler's lock.
  bool has_left_ = false;
  bool present_ = false;
};

}  // namespace foliot::runtime::detail
