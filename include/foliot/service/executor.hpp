// Executors: callbacks on threads of the user's choice, instead of the service's own.
//
//   foliot::service_options options;
//   options.executor = [&pool](foliot::posted_callback job) { pool.post(std::move(job)); };
//
// When a timer is due, the thread of its shard calls the executor with a job, without holding any lock. The executor
// keeps the job and calls it once, on any thread, at once or later.
//
// - Until a job has begun, its timer counts as pending: a stop or a reset cancels the firing, and the job then does
//   nothing when it is called, unless the timer has become due again.
// - A job that is destroyed without having been called drops its timer: the timer is then idle, and keeps its
//   callback.
// - The callbacks of one timer never overlap, on however many threads the executor has. Those of two timers do, if it
//   runs two jobs at once, also where the service has one shard.
// - `firing::now` is the instant at which the job begins, and `firing::skipped` counts the ticks that came before it.
// - The service calls the executor until its end. So an event loop or a pool that the executor posts to must outlive
//   the service.
// - The end of the service drops the timers whose jobs have not begun, and destroys their captures, as it does with
//   pending timers. The executor may call or destroy such a job at any later time, also when the service is gone: the
//   job then does nothing.
// - If the executor throws, on_exception is called with the exception, and the shard's thread runs the callback.
//
// Thread safety: several threads may call the executor at once where a service has several shards.
#pragma once

#include <utility>

#include <foliot/core/shared_callable.hpp>
#include <foliot/service/detail/engine.hpp>

namespace foliot::inline service {

/// The job of one firing: a move-only function object, for any thread. Only services make jobs.
class posted_callback {
 public:
  /// For services: a job that runs the callback of `timer`.
  explicit posted_callback(detail::timer_record& timer) noexcept : timer_(&timer) {}
  posted_callback(posted_callback&& other) noexcept : timer_(std::exchange(other.timer_, nullptr)) {}
  posted_callback& operator=(posted_callback&& other) noexcept {
    std::swap(timer_, other.timer_);
    return *this;
  }
  /// Drops the timer, unless the job was called or the firing was cancelled.
  ~posted_callback() {
    if (timer_ != nullptr) timer_->owner().drop_posted(*timer_);
  }

  /// Runs the timer's callback on the calling thread, unless the firing was cancelled. Exceptions of the callback go to
  /// service_options::on_exception. A second call does nothing.
  void operator()() noexcept {
    if (detail::timer_record* timer = std::exchange(timer_, nullptr)) timer->owner().run_posted(*timer);
  }

 private:
  detail::timer_record* timer_;
};

/// The function that a service calls with each job: see the head of this file.
using callback_executor = shared_callable<void(posted_callback)>;

}  // namespace foliot::inline service
