#include "blocking_pool.hpp"

#include <system_error>

#include "scheduler.hpp"

namespace foliot::runtime::detail {

void blocking_pool::submit(blocking_job& job) {
  const lock held(lock_);
  if (closed_) return;  // its task will be destroyed where it waits
  if (waiting_ >= idle_ && threads_.size() < most_) {
    try {
      threads_.reserve(threads_.size() + 1);
      threads_.emplace_back("foliot-blocking", [this] { work(); });
      ++idle_;  // until it takes a job
    } catch (...) {
      if (threads_.empty()) throw;  // else an existing thread will run the job
    }
  }
  calls_.fetch_add(1, seam::relaxed);  // the caller's worker looks at it before it sleeps
  job.next_ = nullptr;
  (first_ == nullptr ? first_ : last_->next_) = &job;
  last_ = &job;
  ++waiting_;
  come_.notify_all();
}

void blocking_pool::work() noexcept {
  lock held(lock_);
  for (;;) {
    while (first_ == nullptr && !closed_) come_.wait(lock_);
    if (first_ == nullptr) return;
    blocking_job* const job = first_;
    first_ = job->next_;
    --waiting_;
    --idle_;
    held.leave();
    job->run();  // which may destroy it
    // release: pairs with is_busy(). The worker that has run the job's task may sleep already, and have found the pool
    // busy: then this thread looks for a deadlock. seq_cst, with the fence: pairs with the worker's fence in sleep().
    calls_.fetch_sub(1, seam::seq_cst);
    seam::full_fence();
    if (scheduler_ != nullptr) scheduler_->look_for_deadlock();
    held.enter();
    ++idle_;
  }
}

void blocking_pool::close() noexcept {
  const lock held(lock_);
  closed_ = true;
  first_ = nullptr;
  waiting_ = 0;
  come_.notify_all();
}

void blocking_pool::end() noexcept {
  close();
  std::vector<seam::thread> threads;
  {
    const lock held(lock_);
    threads = std::move(threads_);
    threads_.clear();
  }
  for (seam::thread& each : threads) each.join();
}

}  // namespace foliot::runtime::detail
