#include <foliot/runtime/detail/descriptor.hpp>

#include <stdexcept>
#include <utility>

#include <foliot/core/seam/sockets.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/net/io_error.hpp>

#include "poll_table.hpp"

namespace foliot::runtime::detail {

void descriptor::release() noexcept {
  if (!references_.release()) return;
  close();
  if (table_ != nullptr) {
    table_->give_back(*this);
  } else {
    delete this;  // the runtime has ended
  }
}

bool descriptor::begin_use() noexcept {
  const lock held(lock_);
  if (closed_) return false;
  ++uses_;
  return true;
}

void descriptor::end_use() noexcept {
  {
    const lock held(lock_);
    if (--uses_ != 0 || !closing_) return;
  }
  if (at_end_ == at_end::closes) seam::close_descriptor(fd_);
}

bool descriptor::has_come(instant deadline) const noexcept {
  if (deadline.is_never() || now_or_later(*owner_) < deadline) return false;
  return is_due(deadline, now(*owner_));
}

std::expected<descriptor::advice, std::error_code> descriptor::prepare(direction way,
                                                                       direction whose_deadline) noexcept {
  const lock held(lock_);
  if (closed_) return std::unexpected(make_error_code(io_errc::closed));
  if (has_come(at(whose_deadline).deadline)) return std::unexpected(make_error_code(io_errc::deadline_exceeded));
  side& here = at(way);
  if (!here.ready && !here.stays_ready) return advice::waits;
  here.ready = false;
  return advice::tries;
}

void descriptor::keep_ready(direction way) noexcept {
  const lock held(lock_);
  at(way).ready = true;
}

void descriptor::share_ready(direction way) noexcept {
  ready_list woken;
  const lock held(lock_);
  set_ready(way, lasts::for_an_attempt, woken);
  // Under the lock, as in finish_close().
  while (task_state* const task = woken.pop_front()) make_ready(*task);
}

void descriptor::check_alone(const side& here) {
  if (here.wait != nullptr)
    throw std::logic_error(
        "foliot: two tasks wait for one descriptor in the same direction: let one read and one write");
}

void descriptor::check_no_wait(direction way) const {
  const lock held(lock_);
  check_alone(sides_[static_cast<std::size_t>(way)]);
}

void descriptor::set_deadline(direction way, runtime_deadline deadline) {
  const lock held(lock_);
  if (!closed_) change_deadline(way, instant_on(*owner_, deadline));
}

void descriptor::set_deadline(direction way, duration from_now) {
  const lock held(lock_);
  if (closed_) return;  // the runtime, and its clock, may have ended
  // A deadline that is not in the future must have passed by the exact clock.
  const instant start = from_now > duration::zero() ? now_or_later(*owner_) : now(*owner_);
  change_deadline(way, deadline_after(start, from_now));
}

void descriptor::change_deadline(direction way, instant deadline) {
  side& here = at(way);
  if (here.wait != nullptr) here.wait->move_timer(deadline);
  here.deadline = deadline;
}

bool descriptor::begin_close() noexcept {
  const lock held(lock_);
  if (std::exchange(closing_, true)) return false;
  ++uses_;  // the caller's: the system must not reuse the number before the poller has removed it
  return true;
}

void descriptor::finish_close() noexcept {
  ready_list woken;
  {
    const lock held(lock_);
    closed_ = true;
    ++generation_;  // reports that the poller still has are ignored
    for (const direction way : {direction::in, direction::out}) {
      side& here = at(way);
      here.ready = true;
      if (here.wait != nullptr) woken.claim(*here.wait->wait_, here.wait->by_);
    }
    // Under the lock, for which the ends of the waits wait: the tasks, and their schedulers, still exist.
    while (task_state* const task = woken.pop_front()) make_ready(*task);
  }
  if (table_ != nullptr) table_->poller_.remove(fd_);  // null: the runtime has ended
  end_use();
}

void descriptor::report(readiness now, std::uint32_t generation, ready_list& ready) noexcept {
  const lock held(lock_);
  if (generation != generation_) return;  // about an earlier descriptor in this slot
  constexpr auto both = readiness::hung_up | readiness::failed;
  const auto lasting = [now](readiness final) { return has(now, final) ? lasts::forever : lasts::for_an_attempt; };
  if (has(now, readiness::readable | readiness::peer_closed | both)) {
    set_ready(direction::in, lasting(readiness::peer_closed | both), ready);
  }
  if (has(now, readiness::writable | both)) set_ready(direction::out, lasting(both), ready);
}

void descriptor::set_ready(direction way, lasts how_long, ready_list& ready) noexcept {
  side& here = at(way);
  here.ready = true;
  here.stays_ready = here.stays_ready || how_long == lasts::forever;
  for (const side& each : sides_) {
    if (each.wait != nullptr && each.wait->heeded_ == way && each.wait->heeds(true))
      ready.claim(*each.wait->wait_, each.wait->by_);
  }
}

void descriptor_wait::begin(wait_point& wait, wait_word::source by) {
  const lock held(descriptor_->lock_);
  descriptor::side& here = descriptor_->at(way_);
  descriptor::check_alone(here);
  if (descriptor_->closed_ || heeds(descriptor_->at(heeded_).ready) || descriptor_->has_come(here.deadline)) {
    wait.claim(by);
    return;
  }
  const instant ends = ends_at(here.deadline);
  if (!ends.is_never()) timer_.emplace(wait, by).start(descriptor_->owner(), ends);
  wait_ = &wait;
  by_ = by;
  here.wait = this;
  descriptor_->table_->begin_wait();
}

/// Follows a move of the direction's deadline during the wait, under the descriptor's lock.
void descriptor_wait::move_timer(instant deadline) {
  const instant ends = ends_at(deadline);
  if (descriptor_->has_come(deadline)) {
    wait_->claim(by_);
  } else if (!ends.is_never()) {
    if (!timer_) timer_.emplace(*wait_, by_);
    timer_->move(descriptor_->owner(), ends);
  } else if (timer_) {
    timer_->stop();
  }
}

void descriptor_wait::end() noexcept {
  if (wait_ == nullptr) return;
  {
    const lock held(descriptor_->lock_);
    descriptor_->at(way_).wait = nullptr;
    wait_ = nullptr;
  }
  descriptor_->table_->end_wait();
  timer_.reset();  // no other thread can reach it any more
}

}  // namespace foliot::runtime::detail
