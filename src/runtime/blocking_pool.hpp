// Threads for calls that block, away from the processors. A thread is made when a job comes and none is idle, up to a
// number; idle threads sleep until a job comes.
//
// Thread safety: all functions from any thread. Complexity: O(1).
#pragma once

#include <cstddef>
#include <vector>

#include <foliot/core/intrusive_list.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/blocking_call.hpp>

namespace foliot::runtime::detail {

class scheduler;

class blocking_pool {
 public:
  /// At most `most` threads. After each call the pool has the scheduler look for a deadlock; null: a pool by itself.
  explicit blocking_pool(std::size_t most, scheduler* owner = nullptr) noexcept : most_(most), scheduler_(owner) {}
  ~blocking_pool() { end(); }

  /// Runs the job on a thread of the pool, first come, first served; after close() it does nothing. Throws
  /// std::system_error or std::bad_alloc if the pool has no thread and cannot make one; the job is then not queued.
  void submit(blocking_job& job);
  /// From now on no job begins. Jobs that have not begun are dropped; their tasks destroy them.
  void close() noexcept;
  /// Closes the pool, and waits until the jobs that have begun are done.
  void end() noexcept;

  /// Whether the caller is one of the pool's threads, and so in a job.
  [[nodiscard]] bool runs_caller() const noexcept;

  /// Whether a call has not returned. If false, the tasks of all calls have been made ready.
  [[nodiscard]] bool is_busy() const noexcept { return calls() != 0; }
  /// How many calls have not returned.
  // acquire: pairs with the release in work(), which comes after the task of a call was made ready.
  [[nodiscard]] std::size_t calls() const noexcept { return calls_.load(seam::acquire); }
  /// How many threads the pool has. They stay until end().
  [[nodiscard]] std::size_t threads() const noexcept {
    const lock held(lock_);
    return threads_.size();
  }

 private:
  using jobs = intrusive_queue<blocking_job, &blocking_job::next_>;

  void work() noexcept;

  const std::size_t most_;
  scheduler* const scheduler_;
  // How many calls have not returned: raised by the tasks that make them, lowered by the pool's threads.
  seam::atomic<std::size_t> calls_{0};
  mutable mutex lock_{lock_rank::scheduler};
  condition come_;
  jobs waiting_ FOLIOT_GUARDED_BY(lock_);
  std::size_t idle_ FOLIOT_GUARDED_BY(lock_) = 0;
  std::size_t waiting_count_ FOLIOT_GUARDED_BY(lock_) = 0;
  bool closed_ FOLIOT_GUARDED_BY(lock_) = false;
  std::vector<seam::thread> threads_ FOLIOT_GUARDED_BY(lock_);
  std::vector<const void*> jobs_run_on_ FOLIOT_GUARDED_BY(lock_);  // the threads, by the addresses of their states
};

}  // namespace foliot::runtime::detail
