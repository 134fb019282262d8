// Executors: where callbacks run, if not on the service's own threads.
//
//   foliot::service_options options;
//   options.executor = [&pool](foliot::posted_callback job) { pool.post(std::move(job)); };
//
// When a timer is due, its shard's thread calls the executor with a job, without any lock. The executor
// keeps it and calls it once, on whatever thread, now or later. Until a job has begun, its timer can still be
// stopped, or taken back by a reset; calling the job then does nothing. A job that is destroyed without having
// been called drops its start: the timer is idle then, and keeps its callback. A timer's callbacks never overlap, on
// however many threads.
//
// The end of the service drops the timers whose jobs have not begun, and destroys their captures, as it does with those
// that are pending. The executor may keep such a job, and call or destroy it at any time after that, even when the
// service is gone: nothing happens then.
//
// An executor that throws has its exception reported, and the callback runs on the shard's thread. It is called
// from several threads at once where a service has several shards.
#pragma once

#include <utility>

#include <foliot/core/callable.hpp>
#include <foliot/service/engine.hpp>

namespace foliot::inline service {

class posted_callback {
 public:
  /// For engines.
  explicit posted_callback(timer_record& timer) noexcept : timer_(&timer) {}
  posted_callback(posted_callback&& other) noexcept : timer_(std::exchange(other.timer_, nullptr)) {}
  posted_callback& operator=(posted_callback&& other) noexcept {
    std::swap(timer_, other.timer_);
    return *this;
  }
  ~posted_callback() {
    if (timer_ != nullptr) timer_->owner().drop_posted(*timer_);
  }

  /// Runs the timer's callback, unless it was taken back. Once; later calls do nothing. What the callback throws
  /// goes to the service's exception handler.
  void operator()() noexcept {
    if (timer_record* timer = std::exchange(timer_, nullptr)) timer->owner().run_posted(*timer);
  }

 private:
  timer_record* timer_;
};

using callback_executor = callable<void(posted_callback)>;

}  // namespace foliot::inline service
