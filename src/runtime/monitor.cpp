#include "monitor.hpp"

#include <algorithm>

#include "scheduler.hpp"
#include "this_thread.hpp"

namespace foliot::runtime::detail {

void monitor::start() {
  alarm_.emplace(seam::clock_id::monotonic);
  set(instant::never());
  thread_ = seam::thread("foliot-monitor", [this] { work(); });
}

void monitor::end() noexcept {
  if (!thread_.joinable()) return;
  ending_.store(true, seam::relaxed);  // published by the alarm's lock
  set(instant::earliest());
  thread_.join();
}

void monitor::set(instant at) noexcept {
  const lock held(lock_);
  if (!alarm_ || rings_at_.load(seam::relaxed) == at.nanoseconds()) return;
  if (ending_.load(seam::relaxed)) at = instant::earliest();
  rings_at_.store(at.nanoseconds(), seam::relaxed);
  alarm_->set(at);
}

void monitor::set_earlier(instant at) noexcept {
  const lock held(lock_);
  if (!alarm_ || ending_.load(seam::relaxed) || at.nanoseconds() >= rings_at_.load(seam::relaxed)) return;
  rings_at_.store(at.nanoseconds(), seam::relaxed);
  alarm_->set(at);
}

void monitor::begin(instant first) noexcept {
  const instant now = scheduler_.time().now_or_later();
  const duration longest = scheduler_.descriptors_.empty() ? patience : poll_patience;
  // What is due already is what the processor has woken up for, and fires before anything else.
  const instant missed = first > now + shortest_gap ? first : now + poll_patience;
  set_earlier(std::min(missed, now + longest));  // rest() has unset it; a guard since then stays
}

void monitor::work() noexcept {
  seam::set_timer_slack(duration::nanoseconds(1));
  set_this_monitored(scheduler_);  // for the callbacks that it runs
  for (;;) {
    while (alarm_->wait() == seam::wait_status::interrupted) {
    }
    if (ending_.load(seam::relaxed)) return;
    {
      const lock held(scheduler_.lock_);
      scheduler_.monitor_looks_ = true;  // what it is about to make ready is in no queue yet
      ++scheduler_.monitor_turns_;
    }
    {
      const lock held(lock_);
      // From here on an earlier timer sets the alarm anew.
      rings_at_.store(instant::never().nanoseconds(), seam::relaxed);
    }
    const instant next = look();
    // Who is busy or idle by now has said so after that; rest() comes last when all are idle.
    {
      const lock held(scheduler_.lock_);
      scheduler_.monitor_looks_ = false;
      if (scheduler_.idle_.size() < scheduler_.count_.load(seam::relaxed)) set_earlier(next);
    }
    scheduler_.look_for_deadlock();  // workers that went to sleep meanwhile left that to the monitor
  }
}

instant monitor::look() noexcept {
  const instant now = scheduler_.time().now();
  const bool compare = now - looked_at_rounds_ >= poll_patience;
  bool stuck = false;
  bool rescued = false;
  bool left_to_worker = false;
  instant first = instant::never();
  const std::size_t made = scheduler_.made_.load(seam::acquire);
  for (std::size_t i = 0; i < made; ++i) {
    processor& p = *scheduler_.processors_[i];
    const bool asleep = p.sleeps_until.load(seam::relaxed) != processor::awake;
    const bool works = !asleep && p.has_worker.load(seam::relaxed);
    const std::uint64_t rounds = p.rounds.load(seam::relaxed);
    if (compare && works && rounds == p.seen_rounds) {
      stuck = true;
      // relaxed: a hint to thieves, who find by the queues themselves what is there.
      p.stuck.store(true, seam::relaxed);
    }
    if (compare && works) p.seen_rounds = rounds;
    if (is_due(p.timers->first(), now)) {
      if (p.sees_to_timers()) {
        left_to_worker = true;
      } else {
        scheduler_.run_timers(p, nullptr);
        rescued = true;
      }
    }
    if (works) first = std::min(first, p.timers->first());
  }
  if (compare) looked_at_rounds_ = now;
  const bool others_are_free =
      scheduler_.idle_count_.load(seam::relaxed) != 0;  // before one of them is woken for nothing
  if (stuck) {
    rescued = true;
    seam::full_fence();  // pairs with the one before a worker sleeps, as for all who wake
    scheduler_.wake_one();
  }
  // H9: nobody polls, be it that the last who did is stuck, be it that all have had tasks to run ever since.
  const bool unlooked = compare && scheduler_.looks_.load(seam::relaxed) == seen_looks_;
  if ((stuck || unlooked) && scheduler_.polls_.load(seam::relaxed) == nullptr && !scheduler_.descriptors_.empty()) {
    rescued = scheduler_.poll(nullptr, instant::earliest()) || rescued;
  }
  if (compare) seen_looks_ = scheduler_.looks_.load(seam::relaxed);
  if (rescued) rescues_.fetch_add(1, seam::relaxed);
  // A worker whose timers were left to it may have been on its way into a task: the next look comes soon.
  gap_ = rescued ? shortest_gap : std::min(gap_ * 2, left_to_worker ? poll_patience : patience);
  const instant longest = now + (scheduler_.descriptors_.empty() ? patience : std::max(poll_patience, gap_));
  if (!others_are_free) return longest;
  return std::min(std::max(first, now + gap_), longest);
}

}  // namespace foliot::runtime::detail
