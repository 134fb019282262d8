#include <foliot/runtime/detail/timer_channel.hpp>

#include <new>
#include <stdexcept>

#include <foliot/runtime/detail/frame_pool.hpp>

namespace foliot::runtime::detail {

void* timer_channel::operator new(std::size_t size) { return take_piece(size); }
void timer_channel::operator delete(void* memory) noexcept { give_back(memory, sizeof(timer_channel)); }

/// What has come. A ticker goes on with its first beat that is yet to come.
instant timer_channel::take() noexcept {
  const instant value = deadline_;
  if (period_ > duration::zero()) {
    const std::int64_t missed = (now_ - deadline_) / period_;
    skipped_ += static_cast<std::uint64_t>(missed);
    deadline_ = deadline_ + period_ * missed + period_;
  } else {
    armed_ = false;
  }
  return value;
}

std::optional<instant> timer_channel::try_receive() noexcept {
  const lock held(lock_);
  if (!has_come()) return std::nullopt;
  return take();
}

bool timer_channel::receive_at_once(receiver& who) {
  const lock held(lock_);
  if (runtime_.living() == nullptr) {
    throw std::logic_error("foliot: a wait for a timer whose runtime has ended: make a timer in this one");
  }
  if (!has_come()) return false;
  who.value_ = take();
  return true;
}

void timer_channel::begin_receive(receiver& who, wait_point& wait, wait_word::source by) {
  const lock held(lock_);
  if (first_ == nullptr && armed_) start_timer_every(*runtime_.living(), *this, deadline_, period_, true);
  who.wait_ = &wait;
  who.by_ = by;
  who.failed_ = false;
  who.next_ = nullptr;
  who.previous_ = last_;
  (last_ == nullptr ? first_ : last_->next_) = &who;
  last_ = &who;
  who.listed_ = true;
}

void timer_channel::unlist(receiver& who) noexcept {
  (who.previous_ == nullptr ? first_ : who.previous_->next_) = who.next_;
  (who.next_ == nullptr ? last_ : who.next_->previous_) = who.previous_;
  who.listed_ = false;
}

void timer_channel::end_receive(receiver& who) noexcept {
  bool last = false;
  {
    const lock held(lock_);
    if (!who.listed_) return;
    unlist(who);
    if (first_ != nullptr) return;
    stop_timer(*this);
    last = is_last();
  }
  if (last) delete this;
}

/// The alarm has rung.
void timer_channel::answer(timer_entry& self) noexcept {
  auto& mine = static_cast<timer_channel&>(self);
  bool last = false;
  {
    const lock held(mine.lock_);
    // Before the look at the clock: what rings from now on calls again. acq_rel: pairs with ring().
    mine.rung_.exchange(false, seam::acq_rel);
    mine.deliver();
    // A reset may have set it anew before this call had the lock; what was then delivered leaves it pending.
    if (mine.first_ == nullptr) stop_timer(mine);
    last = mine.is_last();
  }
  if (last) delete &mine;
}

/// To who waits longest of those who still do; and sets the alarm for the others.
void timer_channel::deliver() noexcept {
  while (first_ != nullptr && has_come()) {
    receiver& who = *first_;
    unlist(who);
    who.value_ = deadline_;
    if (who.wait_->claim(who.by_)) take();  // `who` may be gone
  }
  if (first_ == nullptr || !armed_) return;
  // Where the timers keep periods the alarm is pending again, on the same grid, at the beat after its ring: not later
  // than deadline_, which has_come() and take() have moved by a later look at the clock.
  if (period_ > duration::zero() && keeps_period(*this)) return;
  try {
    start_timer(*runtime_.living(), *this, deadline_, false);
  } catch (const std::bad_alloc&) {
    while (first_ != nullptr) {
      receiver& who = *first_;
      unlist(who);
      who.failed_ = true;
      who.wait_->claim(who.by_);
    }
  }
}

reset_result timer_channel::reset(scheduler& owner, instant first, duration period) {
  const lock held(lock_);
  if (first_ != nullptr) reset_timer_every(owner, *this, first, period);
  const bool pending = armed_;
  armed_ = true;
  deadline_ = first;
  period_ = period;
  return pending ? reset_result::superseded : reset_result::idle;
}

bool timer_channel::stop() noexcept {
  const lock held(lock_);
  if (first_ != nullptr) stop_timer(*this);
  const bool pending = armed_ && runtime_.living() != nullptr;
  armed_ = false;
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
    if (first_ != nullptr) stop_timer(*this);
    last = is_last();
  }
  if (last) delete this;
}

}  // namespace foliot::runtime::detail
