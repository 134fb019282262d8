// What a shard does where an executor runs its callbacks: a part of shard.hpp.
//
//   due ──► posted, job out ──job begins──► running ──► idle
//              │ stop, reset, end: taken back; the job then finds nothing to do
//
// A timer has one job out at most. One that is due again while its job waits or runs leaves it to that job.
// A job outlives the end of the service, its timer's start and closure do not: the thread that ends the service drops
// the posted timers as it drops those in the queue, and the record stays, an empty shell, until the job has gone. A
// posted timer of an ended service is left to that thread: a job that runs, or is destroyed, before the thread has come
// to its timer takes nothing back.
#pragma once

#include <exception>
#include <memory>
#include <utility>

#include "shard.hpp"

namespace foliot::detail {

/// Gives the executor a job, unless it has one of this timer: that one will see to it. A beat that comes before
/// the one ahead of it has been run is skipped. Precondition: a one-shot timer is not posted, for what started it again
/// has taken it back.
template <class Design>
void shard<Design>::post(extended& r, const firing& now, log_entries& entries) noexcept {
  if (r.ticks_ && (r.posted_ || r.running_)) {
    ++r.skipped_;
    ++counters_.skipped;
    --beats_;
    return;
  }
  r.posted_firing_ = now;
  r.posted_ = true;
  ++posted_;
  r.previous_posted_ = nullptr;
  r.next_posted_ = std::exchange(first_posted_, &r);
  if (r.next_posted_ != nullptr) r.next_posted_->previous_posted_ = &r;
  if (r.job_is_out_) return;
  r.job_is_out_ = r.being_posted_ = true;
  lock_.unlock();
  entries.write();  // before those of the job, which the executor may call at once
  bool failed = false;
  try {
    (*options_.executor)(posted_callback(r));
  } catch (...) {
    failed = true;
    report(std::current_exception());
  }
  lock_.lock();
  r.being_posted_ = false;
  if (r.job_is_out_) return;
  // It has been run already, or destroyed: by an executor that failed, or that does not want it.
  if (failed) {
    r.job_is_out_ = true;
    return run_all_posted(r);
  }
  drop_start(r);
}

/// The timer is not posted any more.
template <class Design>
void shard<Design>::take_back_posted(extended& r) noexcept {
  r.posted_ = false;
  --posted_;
  (r.previous_posted_ != nullptr ? r.previous_posted_->next_posted_ : first_posted_) = r.next_posted_;
  if (r.next_posted_ != nullptr) r.next_posted_->previous_posted_ = r.previous_posted_;
}

/// The executor has destroyed the job, without having called it.
template <class Design>
void shard<Design>::drop_start(extended& r) noexcept {
  if (r.posted_ && phase_ != phase::ended) {
    take_back_posted(r);
    ++counters_.dropped;
  }
  come_back(r);
}

/// What a job does.
template <class Design>
void shard<Design>::run_all_posted(extended& r) noexcept {
  while (r.posted_ && phase_ != phase::ended) {
    take_back_posted(r);
    ++counters_.fired;
    log_entries entries(options_);
    call(r, firing(r.posted_firing_), entries);
  }
  r.job_is_out_ = false;
  come_back(r);
}

/// The job is done with; so may be the record.
template <class Design>
void shard<Design>::come_back(extended& r) noexcept {
  done_.notify_all();
  if (r.life().orphaned() && !r.life().in_use() && !is_pending(r) && !is_out(r)) retire(r);
}

template <class Design>
void shard<Design>::run_posted(timer_record& timer) noexcept {
  leave_home<&shard::run_posted_here>(as_record(timer));
}

template <class Design>
void shard<Design>::run_posted_here(record& r) noexcept {
  run_all_posted(as_extended(r));
}

template <class Design>
void shard<Design>::drop_posted(timer_record& timer) noexcept {
  leave_home<&shard::drop_posted_here>(as_record(timer));
}

template <class Design>
void shard<Design>::drop_posted_here(record& r) noexcept {
  extended& posted = as_extended(r);
  posted.job_is_out_ = false;
  if (!posted.being_posted_) drop_start(posted);  // else post() sees to it
}

}  // namespace foliot::detail
