// The idle workers of a runtime, and the number of those that spin (look for work and have none): together they decide
// whether new work wakes a worker. (Go: pidle, npidle, nmspinning)
//
// A worker that found no work lists itself, is no longer counted as spinning, passes a full barrier, looks for work
// once more, and sleeps. A thread that made work available passes a full barrier, and calls claim_one(). One of the two
// sees the other:
//   H2  The last spinning worker goes to sleep as work comes, and the thread that made the work relied on it: the
//       worker looks again after it is no longer counted.
//   H3  No worker is listed when work comes, and then one is: the worker looks again after it is listed.
// tests/model/idle_test.cpp checks this class in the schedules and weak-memory executions of up to two preemptions (one
// with two makers), tests/spin/parking.pml the protocol.
//
// Thread safety: listed() and has_spinning() from any thread; begin_spinning() and end_spinning() by the worker;
// leave_spinning() by the worker, when it has left the lock; claim_one() from any thread, without the lock, which it
// takes; the other functions with a `guard` under the scheduler's lock, which is that argument, so that clang checks
// that it is held.
// Invariant: a listed worker is not counted as spinning.
// Complexity: O(1); remove() is O(n) in the listed workers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/seam/sync.hpp>

#include "parker.hpp"

namespace foliot::runtime::detail {

/// A worker, as the set of idle workers sees it.
class idle_worker {
 public:
  parker park;

  /// Whether this worker is counted as spinning. Called by the worker, while it is not listed.
  [[nodiscard]] bool is_spinning() const noexcept { return spinning_; }

  template <class Mutex>
  [[nodiscard]] bool is_listed(const Mutex& guard) const noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    return listed_;
  }

 private:
  template <class Worker>
  friend class idle_workers;

  // Under the scheduler's lock.
  seam::plain<bool> listed_{false};
  // The worker's own; while the worker is listed, under the scheduler's lock: the thread that claims it sets it.
  seam::plain<bool> spinning_{false};
};

/// `Worker` derives from idle_worker.
template <class Worker>
class idle_workers {
 public:
  /// Makes room for `most` workers, so that add() does not allocate. Throws std::bad_alloc.
  explicit idle_workers(std::size_t most) { workers_.reserve(most); }

  /// How many workers are listed; may be stale. A thread that must not miss one reads it after a full barrier.
  [[nodiscard]] std::size_t listed() const noexcept { return listed_.load(seam::relaxed); }

  /// Whether a worker spins; may be stale.
  [[nodiscard]] bool has_spinning() const noexcept { return spinning_.load(seam::relaxed) != 0; }

  /// Counts the worker as spinning, unless as many as half of the `busy` workers spin already (as in Go: looking
  /// must not cost more than the work). Returns whether it is counted.
  bool begin_spinning(Worker& worker, std::size_t busy) noexcept {
    if (2 * spinning_.load(seam::relaxed) >= busy) return false;
    worker.spinning_ = true;
    spinning_.fetch_add(1, seam::seq_cst);
    return true;
  }

  /// The worker has found work, or leaves. It passes a full barrier next and looks for more work: threads that made
  /// work while it was counted have woken no worker (H2).
  void end_spinning(Worker& worker) noexcept {
    worker.spinning_ = false;
    leave_spinning();
  }

  /// Lists a worker that is about to sleep. Returns whether it is counted as spinning: the caller then calls
  /// leave_spinning() once it has left the lock.
  template <class Mutex>
  [[nodiscard]] bool add(Worker& worker, const Mutex& guard) noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    const bool was_spinning = worker.spinning_;
    worker.spinning_ = false;  // from here on the thread that claims the worker may set it
    worker.listed_ = true;
    workers_.push_back(&worker);
    publish_size();
    return was_spinning;
  }
  void leave_spinning() noexcept { spinning_.fetch_sub(1, seam::seq_cst); }

  /// Takes a worker that is listed out of the list.
  template <class Mutex>
  void remove(Worker& worker, const Mutex& guard) noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    worker.listed_ = false;
    std::erase(workers_, &worker);
    publish_size();
  }

  template <class Mutex>
  [[nodiscard]] std::size_t size(const Mutex& guard) const noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    return workers_.size();
  }
  /// The worker that was listed last, or null.
  template <class Mutex>
  [[nodiscard]] Worker* last(const Mutex& guard) const noexcept FOLIOT_REQUIRES(guard) {
    static_cast<void>(guard);
    return workers_.empty() ? nullptr : workers_.back();
  }

  /// Takes one worker out of the list and counts it as spinning, unless a worker spins already: that one finds the
  /// work, or wakes the next worker when it finds other work. The caller made work available and then passed a full
  /// barrier. It takes the lock `guard`, calls `claims(worker)` under it before the worker leaves the list, and returns
  /// the worker, which the caller must notify; null: no worker is needed, or none is listed.
  template <class Mutex, class Claims>
  [[nodiscard]] Worker* claim_one(Mutex& guard, const Claims& claims) noexcept FOLIOT_EXCLUDES(guard) {
    while (listed() != 0) {
      std::uint32_t none = 0;
      if (!spinning_.compare_exchange_strong(none, 1, seam::seq_cst, seam::relaxed)) return nullptr;
      guard.lock();
      Worker* const claimed = last(guard);
      if (claimed != nullptr) {
        claims(*claimed);
        workers_.pop_back();
        publish_size();
        claimed->listed_ = false;
        claimed->spinning_ = true;
      }
      guard.unlock();
      if (claimed != nullptr) return claimed;
      // H3: a worker that lists itself from now on looks for work after that, and finds the caller's. But while the
      // caller was counted as spinning, other threads may have made work and woken no worker, although a worker was
      // listed before that: so the caller tries once more.
      leave_spinning();
      seam::full_fence();
    }
    return nullptr;
  }

 private:
  void publish_size() noexcept { listed_.store(workers_.size(), seam::relaxed); }

  std::vector<Worker*> workers_;
  // The size of workers_, for threads without the lock. Written under it, read after a full barrier.
  seam::atomic<std::size_t> listed_{0};
  // How many workers spin: look for work and have none. A thread that makes work wakes no worker while one does.
  seam::atomic<std::uint32_t> spinning_{0};
};

}  // namespace foliot::runtime::detail
