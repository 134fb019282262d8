// What the monitor does when its alarm rings.
#include "monitor.hpp"

#include <algorithm>

#include "scheduler.hpp"
#include "this_thread.hpp"
#include "worker_slack.hpp"

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
  bool rescued = false;
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
        rescued = true;
      }
    }
    if (works) first = std::min(first, p.timers->first());
  }
  if (compare) looked_at_rounds_ = now;
  const bool others_are_free = scheduler_.has_idle_worker();  // before wake_one() below may take the only one
  if (stuck) {
    rescued = true;
    seam::full_fence();  // pairs with the one before a worker sleeps, as for all threads that wake one
    scheduler_.wake_one();
  }
  // H9: no worker looks into the poller: the last one that did is stuck, or all have had tasks to run ever since.
  const poll_turn& turn = scheduler_.turn_in_poller();
  const bool unpolled = compare && turn.polls() == seen_polls_;
  if ((stuck || unpolled) && turn.is_free() && !scheduler_.descriptors().empty()) {
    rescued = scheduler_.poll(nullptr, instant::earliest()) || rescued;
  }
  if (compare) seen_polls_ = turn.polls();
  if (rescued) rescues_.fetch_add(1, seam::relaxed);
  // A worker that was left to run its timers itself may have been about to enter a task: the next look comes soon.
  gap_ = rescued ? shortest_gap : std::min(gap_ * 2, left_to_worker ? poll_patience : patience);
  const instant longest = now + (scheduler_.descriptors().empty() ? patience : std::max(poll_patience, gap_));
  if (!others_are_free) return longest;
  return std::min(std::max(first, now + gap_), longest);
}

}  // namespace foliot::runtime::detail
