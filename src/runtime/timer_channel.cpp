#include <foliot/runtime/detail/timer_channel.hpp>

#include <new>
#include <stdexcept>

#include <foliot/runtime/timer_stopped.hpp>

namespace foliot::runtime::detail {

/// Takes the instant that is due at `time`. A ticker skips, and counts, all further ticks that have passed by then.
instant timer_channel::take(instant time) noexcept {
  const instant value = deadline_;
  if (period_ > duration::zero()) {
    const std::int64_t missed = (time - deadline_) / period_;
    skipped_ += static_cast<std::uint64_t>(missed);
    deadline_ = deadline_ + period_ * missed + period_;
  } else {
    armed_ = false;
  }
  return value;
}

std::optional<instant> timer_channel::try_receive() noexcept {
  const lock held(lock_);
  const std::optional<instant> time = time_if_due();
  if (!time) return std::nullopt;
  return take(*time);
}

bool timer_channel::receive_at_once(receiver& who, waits how) {
  const lock held(lock_);
  if (runtime_.living() == nullptr) {
    throw std::logic_error("foliot: the timer's runtime has ended: make a timer in the current runtime");
  }
  if (const std::optional<instant> time = time_if_due()) {
    who.outcome_ = receiver::outcome::instant;
    who.value_ = take(*time);
    return true;
  }
  if (how != waits::alone || !stopped_) [[likely]]
    return false;
  who.outcome_ = receiver::outcome::stopped;
  return true;
}

void timer_channel::begin_receive(receiver& who, wait_point& wait, wait_word::source by, waits how) {
  const lock held(lock_);
  who.outcome_ = receiver::outcome::instant;
  who.comes_back_ = false;
  if (how == waits::alone && stopped_) [[unlikely]] {  // since receive_at_once
    who.outcome_ = receiver::outcome::stopped;
    wait.claim(by);
    return;
  }
  if (receivers_.empty() && armed_) start_timer_every(*runtime_.living(), *this, deadline_, period_, starter::waits);
  who.wait_ = &wait;
  who.by_ = by;
  who.alone_ = how == waits::alone;
  receivers_.push_back(who);
  who.listed_ = true;
  attach(who);
}

void timer_channel::unlist(receiver& who) noexcept {
  receivers_.erase(who);
  who.listed_ = false;
}

/// Removes the receiver from the list and ends its wait with that outcome. Returns false if something else has ended
/// the wait; the receiver's own end_receive() is then still to come, and needs the channel.
///
/// A worker of the task's runtime detaches the receiver before the claim. After the claim the task may run and destroy
/// the receiver, so nothing here touches it again. Any other thread could be overtaken, between its claim and
/// make_ready(), by the end of that runtime, which destroys the waiting task. There the receiver stays attached: its
/// end_receive() waits for the lock, and thereby for this thread.
bool timer_channel::claim(receiver& who, receiver::outcome what) noexcept {
  unlist(who);
  who.outcome_ = what;
  who.comes_back_ = !is_worker_of(who.wait_->task().owner());
  if (who.comes_back_) return who.wait_->claim(who.by_);
  detach(who);
  if (who.wait_->claim(who.by_)) return true;
  attach(who);
  return false;
}

/// Precondition: the alarm is not pending, so no instant will come.
void timer_channel::end_lone_waits(receiver::outcome what) noexcept {
  for (receiver* each = receivers_.front(); each != nullptr;) {
    receiver& who = *each;
    each = receivers_.next(who);
    if (who.alone_) claim(who, what);
  }
}

void timer_channel::throw_outcome(const receiver& who) {
  switch (who.outcome_) {
    case receiver::outcome::stopped:
      throw timer_stopped(
          "foliot: a task waits for a timer that was stopped: "
          "reset the timer before the wait, or wait for it in a select");
    case receiver::outcome::destroyed:
      throw timer_stopped(
          "foliot: a timer was destroyed, or assigned to, while a task waited for it: "
          "keep its handle until the wait ends");
    default: throw std::bad_alloc();
  }
}

void timer_channel::end_receive(receiver& who) noexcept {
  bool last = false;
  {
    const lock held(lock_);
    if (!who.counted_) return;
    detach(who);
    if (who.listed_) {
      unlist(who);
      if (receivers_.empty()) stop_timer(*this);
    }
    last = is_last();
  }
  if (last) delete this;
}

/// Called without the lock of the timers after the alarm has rung.
void timer_channel::answer(timer_entry& self) noexcept {
  auto& mine = static_cast<timer_channel&>(self);
  bool last = false;
  {
    const lock held(mine.lock_);
    // Before the look at the clock, so that a ring from now on causes another call. acq_rel: pairs with ring().
    mine.rung_.exchange(false, seam::acq_rel);
    mine.deliver();
    // A reset may have started the alarm again before this call had the lock; a delivery leaves it pending.
    if (mine.receivers_.empty()) stop_timer(mine);
    last = mine.is_last();
  }
  if (last) delete &mine;
}

/// Delivers the instant, if it is due, to the receiver that has waited longest, and sets the alarm for the others.
void timer_channel::deliver() noexcept {
  while (!receivers_.empty()) {
    const std::optional<instant> time = time_if_due();
    if (!time) break;
    receiver& who = *receivers_.front();
    who.value_ = deadline_;
    if (claim(who, receiver::outcome::instant)) take(*time);  // `who` may be gone
  }
  if (receivers_.empty() || !armed_) return;
  // If the timers keep periods, the alarm is pending again for the tick after its ring. That is no later than
  // deadline_, because take() has advanced deadline_ by a later look at the clock.
  if (period_ > duration::zero() && keeps_period(*this)) return;
  try {
    start_timer(*runtime_.living(), *this, deadline_, starter::goes_on);
  } catch (const std::bad_alloc&) {
    while (receiver* const each = receivers_.front()) claim(*each, receiver::outcome::no_memory);
  }
}

reset_result timer_channel::reset(scheduler& owner, instant first, duration period) {
  const lock held(lock_);
  if (!receivers_.empty()) reset_timer_every(owner, *this, first, period);
  const bool pending = armed_;
  armed_ = true;
  stopped_ = false;
  deadline_ = first;
  period_ = period;
  return pending ? reset_result::superseded : reset_result::idle;
}

bool timer_channel::stop() noexcept {
  const lock held(lock_);
  if (!receivers_.empty()) stop_timer(*this);
  const bool pending = armed_ && runtime_.living() != nullptr;
  armed_ = false;
  stopped_ = true;
  end_lone_waits(receiver::outcome::stopped);
  return pending;
}

std::uint64_t timer_channel::skipped() const noexcept {
  const lock held(lock_);
  return skipped_;
}

void timer_channel::destroy() noexcept {
  bool last = false;
  {
    const lock held(lock_);
    armed_ = false;
    orphaned_ = true;
    if (!receivers_.empty()) stop_timer(*this);
    end_lone_waits(receiver::outcome::destroyed);
    last = is_last();
  }
  if (last) delete this;
}

}  // namespace foliot::runtime::detail
