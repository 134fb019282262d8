// Callbacks on an executor: a part of shard.hpp.
//
//   due ──► posted, job out ──job begins──► running ──► idle
//              │ stop, reset, end: not posted any more; the job does nothing when it is called
//
// A timer has at most one job out. If the timer is due again while its job waits or runs, that job runs the callback
// once more.
//
// A job may outlive the service. The firing and the closure do not: the thread that ends the service drops posted
// timers as it drops queued ones, and the record stays, without a closure, until the job is gone. Only that thread
// drops the posted timers of an ended service: a job that is called or destroyed earlier does not change them.
#pragma once

#include <algorithm>
#include <exception>
#include <utility>

#include "shard.hpp"

namespace foliot::detail {

/// Gives the executor a job for the timer, unless the timer has one already. A tick is skipped if the callback of the
/// tick before it has not returned. Precondition: a one-shot timer is not posted, since the start that made it due has
/// cancelled an earlier firing.
template <class Design>
void shard<Design>::post(extended& r, const firing& current, log_entries& entries) noexcept {
  if (r.is_ticker_ && (r.posted_ || r.running_)) {
    ++r.skipped_;
    ++(r.posted_ ? r.posted_firing_.skipped : r.skipped_while_running_);
    ++counters_.skipped;
    --next_ticks_;
    return;
  }
  r.posted_firing_ = current;
  r.posted_firing_.skipped += std::exchange(r.skipped_while_running_, 0);
  r.posted_ = true;
  ++posted_;
  posted_timers_.push_front(r);
  if (r.job_is_out_) return;
  r.job_is_out_ = r.being_posted_ = true;
  lock_.unlock();
  entries.write();  // before the entries of the job, which the executor may call at once
  bool failed = false;
  try {
    options_.executor(posted_callback(r));
  } catch (...) {
    failed = true;
    report({.error = std::current_exception()});
  }
  lock_.lock();
  r.being_posted_ = false;
  if (r.job_is_out_) return;
  // The executor has called the job already, or has destroyed it uncalled, for example because it threw.
  if (failed) {
    r.job_is_out_ = true;
    return run_job(r);
  }
  drop_firing(r);
}

/// Makes a posted timer not posted.
template <class Design>
void shard<Design>::unpost(extended& r) noexcept {
  r.posted_ = false;
  --posted_;
  posted_timers_.erase(r);
}

/// The executor has destroyed the job uncalled.
template <class Design>
void shard<Design>::drop_firing(extended& r) noexcept {
  if (r.posted_ && phase_ != phase::ended) {
    unpost(r);
    ++counters_.dropped;
  }
  settle_after_job(r);
}

/// The executor calls the job.
template <class Design>
void shard<Design>::run_job(record& timer) noexcept {
  extended& r = as_extended(timer);
  while (r.posted_ && phase_ != phase::ended) {
    unpost(r);
    ++counters_.fired;
    log_entries entries(options_);
    firing current = r.posted_firing_;
    current.now = std::max(current.deadline, options_.time.now());  // the job may have waited for long
    call(r, current, entries);
  }
  r.job_is_out_ = false;
  settle_after_job(r);
}

/// The executor destroys the job uncalled.
template <class Design>
void shard<Design>::drop_job(record& timer) noexcept {
  extended& r = as_extended(timer);
  r.job_is_out_ = false;
  if (!r.being_posted_) drop_firing(r);  // otherwise post() does so after the executor's call
}

/// The job is gone: frees a record that stayed only for it.
template <class Design>
void shard<Design>::settle_after_job(extended& r) noexcept {
  done_.notify_all();
  if (r.life().orphaned() && !r.life().in_use() && !is_pending(r) && !has_job(r)) retire(r);
}

}  // namespace foliot::detail
