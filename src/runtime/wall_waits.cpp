#include "wall_waits.hpp"

#include <foliot/core/clock.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "scheduler.hpp"

namespace foliot::runtime::detail {

instant wall_waits::now() const noexcept {
  return virtual_time_ != nullptr ? virtual_time_->wall_now() : wall_clock::instance().now();
}

/// Called for the first wait of the runtime. Throws std::system_error, and std::bad_alloc for its text; then there is
/// no alarm, and the next wait tries again.
void wall_waits::make_alarm() {
  alarm_.emplace(seam::clock_id::wall);
  try {
    descriptors_.listen_to(*alarm_);
  } catch (...) {
    alarm_.reset();
    throw;
  }
}

void wall_waits::set_alarm() noexcept {
  const instant first = pending_.next_deadline();
  first_.store(first.nanoseconds(), seam::relaxed);
  if (alarm_) alarm_->set(first);
}

void wall_waits::add(wall_wait& entry) {
  if (entry.wall_deadline().is_never()) return;  // only a stop of the task, or a timeout, ends this wait
  const lock held(lock_);
  if (virtual_time_ == nullptr && !alarm_) make_alarm();
  const instant first_before = pending_.next_deadline();
  pending_.start(entry, entry.wall_deadline());
  if (virtual_time_ == nullptr) descriptors_.begin_wait();
  if (entry.wall_deadline() < first_before) set_alarm();
}

void wall_waits::remove(wall_wait& entry) noexcept {
  if (entry.wall_deadline().is_never()) return;  // it was not stored
  const lock held(lock_);
  // Only now: a task that fire() has claimed is in no run queue for a while, and must not look like a deadlock.
  if (virtual_time_ == nullptr) descriptors_.end_wait();
  const instant first_before = pending_.next_deadline();
  if (!pending_.stop(entry)) return;
  if (pending_.next_deadline() != first_before) set_alarm();
}

bool wall_waits::fire(ready_list& ready) noexcept {
  if (virtual_time_ != nullptr) {
    const instant first =
        instant::from_nanoseconds(first_.load(seam::relaxed));  // written by this thread, the driver's
    if (first.is_never() || !is_due(first, now())) return false;
  }
  const lock held(lock_);
  const expiry fired = pending_.expire(now(), unlimited, [&](timer_node& due) {
    auto& entry = static_cast<wall_wait&>(due);
    ready.claim(entry.waiting(), entry.source());
  });
  // Also if nothing was due: the ring is consumed, and the clock may have been set back since.
  set_alarm();
  return fired.fired > 0;
}

instant wall_waits::next_deadline() const noexcept {
  const instant first = instant::from_nanoseconds(first_.load(seam::relaxed));
  return first.is_never() ? first : virtual_time_->when_wall_shows(first);
}

instant wall_now(const scheduler& owner) noexcept { return owner.wall().now(); }
void begin_wall_wait(scheduler& owner, wall_wait& wait) { owner.wall().add(wait); }
void end_wall_wait(scheduler& owner, wall_wait& wait) noexcept { owner.wall().remove(wait); }

}  // namespace foliot::runtime::detail

namespace foliot::runtime {

std::chrono::sys_time<std::chrono::nanoseconds> wall_now() {
  return wall_clock::to_sys(detail::wall_now(detail::this_scheduler("wall_now")));
}

}  // namespace foliot::runtime
