// How a timer of a shard ends, and its closure with it: a part of shard.hpp.
#pragma once

#include <memory>

#include "shard.hpp"

namespace foliot::detail {

template <class Design>
stop_result shard<Design>::stop_and_wait(timer_record& timer) noexcept {
  return leave_home<&shard::stop_and_wait_here>(as_record(timer));
}

template <class Design>
stop_result shard<Design>::stop_and_wait_here(record& r, log_entries& entries) noexcept {
  log_stop(entries, r, false);
  const stop_result result = take_back(r);
  r.life().close();
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
  r.life().close();
  const bool mine = wait_for_closure(r);
  r.life().orphan();
  if (mine) retire(r);
}

template <class Design>
void shard<Design>::detach(timer_record* timer) noexcept {
  leave_home<&shard::detach_here>(as_record(*timer));
}

template <class Design>
void shard<Design>::detach_here(record& r) noexcept {
  forked_ ? static_cast<void>(take_back(r)) : unfile_if_stopped(r);
  r.life().orphan();
  if (!is_pending(r) && !r.life().in_use()) retire(r);
}

/// Waits until no thread uses the closure. False if the caller does, from inside the callback or the closure's
/// destructor: then settle(), further up the stack, does what is left to do.
template <class Design>
bool shard<Design>::wait_for_closure(record& r) noexcept {
  if (forked_) [[unlikely]]
    r.life().abandon_if_used_by_another();
  return r.life().wait_until_unused(lock_, done_);
}

/// Ends a record that is not pending and whose closure no thread uses.
template <class Design>
void shard<Design>::retire(record& r) noexcept {
  r.life().begin_use();
  r.life().close();
  settle(r);
}

/// The caller, until now the closure's user, is done with it: destroys the closure if the timer has ended, and frees
/// the record if no handle has it.
template <class Design>
void shard<Design>::settle(record& r) noexcept {
  if (r.life().closed() || (r.life().orphaned() && !is_pending(r))) r.life().destroy_closure(lock_);
  r.life().end_use(done_);
  if (!r.life().orphaned() || is_pending(r)) return;
  if (is_out(r)) return leave_alarm_to_its_job(r);
  if (forked_) take_back(r);  // it may be in the queue, which no thread empties in time in the child
  forget(r);
}

}  // namespace foliot::detail
