#include "blocking_pool.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "scheduler.hpp"

namespace foliot::runtime::detail {

void blocking_pool::submit(blocking_job& job) {
  const lock held(lock_);
  if (closed_) return;  // the job's task will be destroyed where it waits
  if (waiting_count_ >= idle_ && threads_.size() < most_) {
    try {
      threads_.reserve(threads_.size() + 1);
      jobs_run_on_.reserve(threads_.size() + 1);
      threads_.emplace_back("foliot-blocking", [this] { work(); });
      ++idle_;  // until it takes a job
    } catch (...) {
      if (threads_.empty()) throw;  // else an existing thread will run the job
    }
  }
  calls_.fetch_add(1, seam::relaxed);  // the caller's worker looks at it before it sleeps
  waiting_.push_back(job);
  ++waiting_count_;
  come_.notify_all();
}

void blocking_pool::work() noexcept {
  lock held(lock_);
  jobs_run_on_.push_back(&seam::this_thread());  // the thread that made this one has made room
  for (;;) {
    while (waiting_.empty() && !closed_) come_.wait(lock_);
    blocking_job* const job = waiting_.pop_front();
    if (job == nullptr) return;
    --waiting_count_;
    --idle_;
    held.leave();
    job->run();  // the job may be destroyed when this returns
    // release: pairs with is_busy(). The worker that has run the job's task may sleep already, and have found the pool
    // busy: then this thread looks for a deadlock. seq_cst, with the fence: pairs with the worker's fence in sleep().
    calls_.fetch_sub(1, seam::seq_cst);
    seam::full_fence();
    if (scheduler_ != nullptr) scheduler_->look_for_deadlock();
    held.enter();
    ++idle_;
  }
}

bool blocking_pool::runs_caller() const noexcept {
  const lock held(lock_);
  return std::ranges::find(jobs_run_on_, static_cast<const void*>(&seam::this_thread())) != jobs_run_on_.end();
}

void blocking_pool::close() noexcept {
  const lock held(lock_);
  closed_ = true;
  static_cast<void>(jobs(std::move(waiting_)));  // the jobs stay untouched
  waiting_count_ = 0;
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
  const lock held(lock_);
  jobs_run_on_.clear();
}

}  // namespace foliot::runtime::detail
