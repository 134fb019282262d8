// What the monitor does when its alarm rings.
#include "monitor.hpp"

#include <algorithm>

#include "scheduler.hpp"
#include "this_thread.hpp"

namespace foliot::runtime::detail {

void monitor::start() {
  static_assert(most_processors == processor_set::most);
  alarm_.emplace(seam::clock_id::monotonic);
  set(instant::never());
  thread_ = seam::thread("foliot-monitor", [this] { work(); });
}

void monitor::end() noexcept {
  if (!thread_.joinable()) return;
  {
    const lock held(lock_);
    ending_.store(true, seam::relaxed);  // published by the alarm's lock
    // Also if the alarm was to ring at once already: the thread may have woken for that before it could see `ending_`.
    alarm_->set(instant::earliest());
  }
  thread_.join();
}

void monitor::set(instant at) noexcept {
  const lock held(lock_);
  if (!alarm_ || ending_.load(seam::relaxed) || rings_at_.load(seam::relaxed) == at.nanoseconds()) return;
  rings_at_.store(at.nanoseconds(), seam::relaxed);
  alarm_->set(at);
}

void monitor::wake_by(instant at) noexcept {
  const lock held(lock_);
  if (!alarm_ || ending_.load(seam::relaxed) || at.nanoseconds() >= rings_at_.load(seam::relaxed)) return;
  rings_at_.store(at.nanoseconds(), seam::relaxed);
  alarm_->set(at);
}

void monitor::arm(instant first) noexcept {
  const instant now = scheduler_.time().now_or_later();
  const duration longest = scheduler_.descriptors().empty() ? patience : poll_patience;
  // A timer that is due already is the reason why the processor woke up, and fires before anything else.
  const instant missed = first > now + shortest_gap ? first : now + poll_patience;
  is_newly_busy_.store(true, seam::relaxed);
  wake_by(std::min(missed, now + longest));  // disarm() has unset the alarm; a guard since then stays
}

void monitor::work() noexcept {
  seam::set_timer_slack(worker_slack);
  set_this_monitored(scheduler_);  // for the callbacks that it runs
  for (;;) {
    while (alarm_->wait() == seam::wait_status::interrupted) {
    }
    if (ending_.load(seam::relaxed)) return;
    scheduler_.begin_monitor_turn();
    {
      const lock held(lock_);
      // From here on an earlier timer sets the alarm anew.
      rings_at_.store(instant::never().nanoseconds(), seam::relaxed);
    }
    // At the end of the run there is nothing to rescue any more, but a task may keep its worker from ending.
    const instant next_turn = scheduler_.is_ending() ? scheduler_.time().now() + patience : look();
    scheduler_.report_stuck_tasks();
    scheduler_.end_monitor_turn(next_turn);
  }
}

instant monitor::look() noexcept {
  const instant now = scheduler_.time().now();
  const bool compare = now - looked_at_rounds_ >= poll_patience;
  bool stuck = false;
  bool ran_timers = false;
  bool left_to_worker = false;
  instant first = instant::never();
  for (const auto& each : scheduler_.all_processors().all()) {
    processor& p = *each;
    const bool works = p.status.is_awake() && p.status.has_worker();
    const std::uint64_t rounds = p.status.rounds();
    if (compare && works && rounds == seen_rounds_[p.id]) {
      stuck = true;
      p.status.mark_stuck();
    }
    if (compare && works) seen_rounds_[p.id] = rounds;
    if (is_due(p.timers->first(), now)) {
      if (p.status.will_check_timers()) {
        left_to_worker = true;
      } else {
        scheduler_.run_timers(p, nullptr);
        ran_timers = true;
      }
    }
    if (works) first = std::min(first, p.timers->first());
  }
  if (compare) looked_at_rounds_ = now;
  const bool others_are_free = scheduler_.has_idle_worker();  // before wake_one() below may take the only one
  // H9: idle workers sleep on their words, and the workers that are awake may be in tasks.
  const poll_turn& turn = scheduler_.turn_in_poller();
  const bool is_unwatched = others_are_free && turn.is_free() && !scheduler_.descriptors().empty();
  const bool is_unpolled = is_unwatched && now - turn.polled_at() >= poll_patience;
  if (stuck || is_unpolled) {
    seam::full_fence();     // pairs with the one before a worker sleeps, as for all threads that wake one
    scheduler_.wake_one();  // looks into the poller before it sleeps again
  }
  if (stuck || is_unpolled || ran_timers) rescues_.fetch_add(1, seam::relaxed);
  // Without an idle worker nobody could run what is found: each one looks for it when it has run its task.
  if (!others_are_free) return now + patience;
  // A worker that was left to run its timers itself may have been about to enter a task: the next look comes soon.
  gap_ = ran_timers ? shortest_gap : std::min(gap_ * 2, left_to_worker ? poll_patience : patience);
  // A worker that goes round looks into the poller itself. The longer it has done so, the less often it is watched.
  const bool begins = is_newly_busy_.exchange(false, seam::relaxed) || is_unpolled;
  poll_gap_ = begins ? poll_patience : std::min(poll_gap_ * 2, patience);
  const instant longest = is_unwatched ? (is_unpolled ? now : turn.polled_at()) + poll_gap_ : now + patience;
  return std::min(std::max(first, now + gap_), longest);
}

}  // namespace foliot::runtime::detail
