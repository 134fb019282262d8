// Threads that sleep on a shard: a part of shard.hpp.
//
// The timer of a sleep lies on the stack of the sleeping thread, as Go's lay in the goroutine's descriptor, so a sleep
// allocates nothing. It has no handle from the start: once it has fired, or its start was dropped, the last
// thread that uses it calls free_record(), which wakes the sleeping thread as its very last act; no thread touches the
// timer after that.
//
// With an executor this is impossible: the executor may keep the job of a timer for any time, also when the service has
// ended and the sleep with it. There the shard allocates the timer, and keeps it for the next sleep.
//
// In the child of a fork the other threads that slept do not exist, and their stacks may become those of new threads:
// their timers leave the queue before any thread can use it.
#pragma once

#include <memory>
#include <source_location>
#include <utility>

#include "shard.hpp"

namespace foliot::detail {

template <class Design>
bool shard<Design>::sleep_until(instant deadline, std::source_location here) {
  one_sleep own;
  if (!options_.executor) {
    sleeping one(*this, own, location(), here);
    if (start_sleep(one, deadline)) own.woken.sleep_until(instant::never());
    return own.fired;
  }
  std::unique_ptr<sleeping> one = take_spare_sleep(own, here);
  if (!start_sleep(*one, deadline)) return false;
  static_cast<void>(one.release());  // end_sleep() gives it to the shard
  own.woken.sleep_until(instant::never());
  return own.fired;
}

/// False if the start is refused. Then, and if it throws, no other thread has seen the timer.
template <class Design>
bool shard<Design>::start_sleep(sleeping& one, instant deadline) {
  // The timer may fire before the shard's thread is woken; if the service ends then, nothing else keeps the shard.
  const std::shared_ptr<engine> keep = this->shared_from_this();
  one.life().orphan();
  const auto keep_sleep = [this, &one] {
    lock_.assert_held();
    retain();
    asleep_.push_front(one);
  };
  return rearm(one, [deadline] { return deadline; }, keep_sleep) != reset_result::closed;
}

/// A record that an earlier sleep has left, or a new one. Throws std::bad_alloc.
template <class Design>
auto shard<Design>::take_spare_sleep(one_sleep& own, std::source_location here) -> std::unique_ptr<sleeping> {
  std::unique_ptr<sleeping> spare;
  {
    const lock held(lock_);
    spare.reset(spare_sleeps_.pop_front());
  }
  if (spare == nullptr) return std::make_unique<sleeping>(*this, own, location(), here);
  sleeping* const again = spare.release();
  std::destroy_at(again);
  return std::unique_ptr<sleeping>(std::construct_at(again, *this, own, location(), here));
}

/// The sleep is over, and no thread but the sleeping one uses its timer any more.
template <class Design>
void shard<Design>::end_sleep(sleeping& one) noexcept {
  asleep_.erase(one);
  one_sleep* const sleep = std::exchange(one.sleep_, nullptr);
  if (options_.executor) spare_sleeps_.push_front(one);
  if (sleep != nullptr) wake_sleeping_thread(*sleep);
  --references_;  // last: the shard must exist as long as wake_sleeping_thread() uses its lock
}

/// If the record is that of a sleep and the service has ended while its job is out: the sleep ends, and the record
/// waits for the job.
template <class Design>
void shard<Design>::end_sleep_before_job(record& r) noexcept {
  if (!r.is_sleep_ || phase_ != phase::ended) return;
  if (one_sleep* const sleep = std::exchange(static_cast<sleeping&>(r).sleep_, nullptr)) wake_sleeping_thread(*sleep);
}

/// Releases the lock meanwhile: the system call would delay other threads.
template <class Design>
void shard<Design>::wake_sleeping_thread(one_sleep& sleep) noexcept {
  lock_.unlock();
  sleep.woken.wake();
  lock_.lock();
}

/// In the child of a fork.
template <class Design>
void shard<Design>::forget_sleeping_threads() noexcept {
  auto parents = std::move(asleep_);
  while (sleeping* const each = parents.pop_front()) {
    each->sleep_ = nullptr;
    const bool is_callers = each->life().in_use_by_caller();  // the caller is inside its callback, and frees it later
    if (!options_.executor && !is_callers) {
      cancel(*each);
      --references_;
      continue;
    }
    if (is_callers) {
      each->life().close();
    } else {
      each->life().abandon([](const firing&) noexcept {});  // the callback wrote to the stack of a thread that is gone
    }
    asleep_.push_front(*each);
  }
}

template <class Design>
void shard<Design>::free_spare_sleeps() noexcept FOLIOT_NO_ANALYSIS {
  while (sleeping* const spare = spare_sleeps_.pop_front()) delete spare;
}

}  // namespace foliot::detail
