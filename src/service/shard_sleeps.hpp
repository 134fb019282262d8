// Threads that sleep on a shard: a part of shard.hpp.
//
// The timer of a sleep lies on the stack of the sleeping thread, as Go's lay in the goroutine's descriptor, so a sleep
// allocates nothing. It has no handle from the start: when it has fired, or its start was dropped, the thread that is
// done with it last forgets it (forget). Where another timer is deleted, the sleeping thread is woken, as the very last
// thing: nobody touches the record after that.
//
// With an executor it cannot be so: the executor may keep the job of a timer for as long as it likes, also when the
// service has ended and the sleep with it. There the record is the shard's, which keeps it for the next sleep.
//
// In the child of a fork the threads that slept are not there, and their stacks may become those of new threads: their
// timers leave the queue before anybody else can look at it.
#pragma once

#include <memory>
#include <utility>

#include "shard.hpp"

namespace foliot::detail {

template <class Design>
bool shard<Design>::sleep_until(instant deadline) {
  one_sleep own;
  if (options_.executor == nullptr) {
    sleeping alarm(*this, own, location());
    if (fall_asleep(alarm, deadline)) own.woken.sleep_until(instant::never());
    return own.whole;
  }
  std::unique_ptr<sleeping> alarm = take_spare_alarm(own);
  if (!fall_asleep(*alarm, deadline)) return false;
  static_cast<void>(alarm.release());  // forget() gives it to the shard
  own.woken.sleep_until(instant::never());
  return own.whole;
}

/// False if the start is refused: then nobody but the caller knows the record. The same where it throws.
template <class Design>
bool shard<Design>::fall_asleep(sleeping& alarm, instant deadline) {
  // The timer may have fired before the shard's thread is woken. Nothing else keeps the shard then, if the service
  // ends.
  const std::shared_ptr<engine> keep = this->shared_from_this();
  alarm.life().orphan();
  const auto keep_it = [this, &alarm] {
    lock_.assert_held();
    hold();
    alarm.next_asleep_ = std::exchange(first_asleep_, &alarm);
    if (alarm.next_asleep_ != nullptr) alarm.next_asleep_->previous_asleep_ = &alarm;
  };
  return rearm(alarm, [deadline] { return deadline; }, keep_it) != reset_result::closed;
}

/// One that an earlier sleep has left behind, or a new one. Throws std::bad_alloc.
template <class Design>
auto shard<Design>::take_spare_alarm(one_sleep& own) -> std::unique_ptr<sleeping> {
  std::unique_ptr<sleeping> spare;
  {
    const lock held(lock_);
    spare.reset(first_spare_alarm_);
    if (spare != nullptr) first_spare_alarm_ = std::exchange(spare->next_asleep_, nullptr);
  }
  if (spare == nullptr) return std::make_unique<sleeping>(*this, own, location());
  sleeping* const again = spare.release();
  std::destroy_at(again);
  return std::unique_ptr<sleeping>(std::construct_at(again, *this, own, location()));
}

/// The sleep is over, and everybody but the sleeping thread is done with its timer.
template <class Design>
void shard<Design>::forget_alarm(sleeping& alarm) noexcept {
  (alarm.previous_asleep_ != nullptr ? alarm.previous_asleep_->next_asleep_ : first_asleep_) = alarm.next_asleep_;
  if (alarm.next_asleep_ != nullptr) alarm.next_asleep_->previous_asleep_ = alarm.previous_asleep_;
  one_sleep* const sleep = std::exchange(alarm.sleep_, nullptr);
  if (options_.executor != nullptr) alarm.next_asleep_ = std::exchange(first_spare_alarm_, &alarm);
  if (sleep != nullptr) wake_sleeper(*sleep);
  --holders_;  // after that: the shard stays as long as its lock is needed
}

/// The service has ended, and a job of the timer is still out: the sleep ends, the record waits for the job.
template <class Design>
void shard<Design>::leave_alarm_to_its_job(record& r) noexcept {
  if (!r.sleeps_ || phase_ != phase::ended) return;
  if (one_sleep* const sleep = std::exchange(static_cast<sleeping&>(r).sleep_, nullptr)) {
    wake_sleeper(*sleep);
  }
}

/// Without the lock, which the system call would hold up.
template <class Design>
void shard<Design>::wake_sleeper(one_sleep& sleep) noexcept {
  lock_.unlock();
  sleep.woken.wake();
  lock_.lock();
}

/// In the child of a fork.
template <class Design>
void shard<Design>::forget_sleepers() noexcept {
  for (sleeping *each = std::exchange(first_asleep_, nullptr), *next = nullptr; each != nullptr; each = next) {
    next = each->next_asleep_;
    each->sleep_ = nullptr;
    // The caller is in the middle of calling that one, and forgets it itself. With an executor it is on no stack.
    const bool is_callers = each->life().in_use_by_caller();
    const bool stays = options_.executor != nullptr || is_callers;
    if (!stays) {
      take_back(*each);
      --holders_;
      continue;
    }
    if (is_callers) {
      each->life().close();
    } else {
      each->life().abandon([](const firing&) noexcept {});  // the callback wrote to the stack of a thread that is gone
    }
    each->previous_asleep_ = nullptr;
    each->next_asleep_ = std::exchange(first_asleep_, each);
    if (each->next_asleep_ != nullptr) each->next_asleep_->previous_asleep_ = each;
  }
}

template <class Design>
void shard<Design>::delete_spare_alarms() noexcept FOLIOT_NO_ANALYSIS {
  while (first_spare_alarm_ != nullptr) {
    const std::unique_ptr<sleeping> last(first_spare_alarm_);
    first_spare_alarm_ = last->next_asleep_;
  }
}

}  // namespace foliot::detail
