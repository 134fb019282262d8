// How a timer of a shard ends, and its closure with it: a part of shard.hpp.
#pragma once

#include <memory>

#include "shard.hpp"

namespace foliot::inline service {

template <class Design>
stop_result shard<Design>::stop_and_wait(timer_record& timer) noexcept {
  return leave_home<&shard::stop_and_wait_here>(as_record(timer));
}

template <class Design>
stop_result shard<Design>::stop_and_wait_here(record& r, log_entries& entries) noexcept {
  log_stop(entries, r, false);
  const stop_result result = take_back(r);
  r.closed_ = true;
  if (wait_for_closure(r)) retire(r);
  return result;
}

template <class Design>
void shard<Design>::destroy(timer_record* timer) noexcept {
  leave_home<&shard::destroy_here>(as_record(*timer));
}

template <class Design>
void shard<Design>::destroy_here(record& r, log_entries& entries) noexcept {
  log_stop(entries, r, false);
  take_back(r);
  r.closed_ = true;
  const bool mine = wait_for_closure(r);
  r.orphaned_ = true;
  if (mine) retire(r);
}

template <class Design>
void shard<Design>::detach(timer_record* timer) noexcept {
  leave_home<&shard::detach_here>(as_record(*timer));
}

template <class Design>
void shard<Design>::detach_here(record& r) noexcept {
  forked_ ? static_cast<void>(take_back(r)) : unfile_if_stopped(r);
  r.orphaned_ = true;
  if (!is_pending(r) && r.user_ == nullptr) retire(r);
}

/// Waits until nobody uses the closure. False if that is the caller itself, from inside the callback
/// or the closure's destructor: then settle(), further up the stack, does what is left to do.
template <class Design>
bool shard<Design>::wait_for_closure(record& r) noexcept {
  while (r.user_ != nullptr) {
    if (r.user_ == self()) return false;
    if (forked_) [[unlikely]] {
      // Its thread is not in this process: what that was in the middle of is nobody's any more.
      std::construct_at(&r.callback_);
      r.user_ = nullptr;
      break;
    }
    done_.wait(lock_);
  }
  return true;
}

/// Ends a record that is not pending and whose closure nobody uses.
template <class Design>
void shard<Design>::retire(record& r) noexcept {
  r.user_ = self();
  r.closed_ = true;
  settle(r);
}

/// The caller, until now the closure's user, is done with it: what was postponed meanwhile is done.
template <class Design>
void shard<Design>::settle(record& r) noexcept {
  if (r.closed_ || (r.orphaned_ && !is_pending(r))) {
    lock_.unlock();
    r.callback_.reset();  // a user's code: it may look back here, and even destroy the last handle
    lock_.lock();
  }
  r.user_ = nullptr;
  done_.notify_all();
  if (!r.orphaned_ || is_pending(r)) return;
  if (is_out(r)) return leave_alarm_to_its_job(r);
  if (forked_) take_back(r);  // it may be in the queue, which nobody empties in time here
  forget(r);
}

}  // namespace foliot::inline service
