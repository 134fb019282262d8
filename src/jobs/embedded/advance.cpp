// What each batch of an embedded store does first, because time has passed: it ends the reservations and pauses that
// are over, and makes due jobs ready. Also the timers and windows that tell when that is.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>

#include "core.hpp"

namespace foliot::jobs::detail {
namespace {

/// How many jobs become ready in one batch at most: some 6 ms of work.
constexpr std::size_t promotions_at_once = 2048;
/// How many reservations, and how many pauses, end in one batch at most: some 6 ms of work.
constexpr std::size_t ends_at_once = 512;

/// The key behind all keys of a tube in an index.
std::string end_of(tube_number tube) { return std::string(view(number_key(tube + 1))); }

}  // namespace

void embedded_core::advance() {
  for (held_job* each : held_.ended(now_, ends_at_once)) expire(*each);
  pause_timers_.expire(now_, ends_at_once,
                       [this](timer_node& node) { end_pause(*static_cast<tube_timer&>(node).owner); });

  if (!space_.room_for_due_jobs()) return;

  // The tubes with due jobs take turns. Each gets the same share of the batch, so that no tube delays the others, be it
  // by many due jobs or by jobs that were due earlier.
  due_timers_.expire(wall_clock::from_sys(utc_), promotions_at_once, [this](timer_node& node) {
    tube* const it = static_cast<tube_timer&>(node).owner;
    it->overdue = true;
    overdue_.push_back(it);
  });
  for (std::size_t left = promotions_at_once; left > 0 && !overdue_.empty();) {
    const std::size_t turns = std::min(overdue_.size(), left);
    const std::size_t share = left / turns;
    for (std::size_t i = 0; i < turns; ++i) {
      tube& it = *overdue_.front();
      overdue_.pop_front();
      const std::uint64_t before = it.stored.delayed;
      promote(it, share);
      left -= std::max<std::size_t>(before - it.stored.delayed, 1);
      set_due_timer(it);
      if (!it.due.empty() && it.due.front().due <= now_ms()) {
        overdue_.push_back(&it);
      } else {
        it.overdue = false;
        set_due_timer(it);
      }
    }
  }
}

held_job* embedded_core::holder(job_id id) {
  held_job* const it = held_.find(id);
  if (it == nullptr || it->expires >= now_) return it;
  expire(*it);
  return nullptr;
}

held_job* embedded_core::holder(const reservation& token) {
  held_job* const it = held_.find(token);
  if (it == nullptr || it->expires >= now_) return it;
  expire(*it);
  return nullptr;
}

void embedded_core::expire(held_job& it) {
  expired_.push_back(it.token);
  ++it.data.counters.timeouts;
  give_back(it);
}

void embedded_core::promote(tube& it, std::size_t count) {
  for (; count > 0 && !it.due.empty() && it.due.front().due <= now_ms(); --count) {
    const due_entry entry = it.due.front();
    it.due.pop_front();
    it.count_delayed(false);
    it.promoted_to = std::max(it.promoted_to, entry.due);
    disk_.erase(family::due, view(entry.key(it.number)));
    const ready_entry ready{entry.priority, entry.id};
    disk_.put(family::ready, view(ready.key(it.number)), {});
    it.count_ready(entry.priority, true);
    it.ready.insert(ready, tubes_.window_bound());
    tubes_.change(it);
    became_ready(it);
  }
}

void embedded_core::set_due_timer(tube& it) {
  if (it.stored.delayed == 0) it.due.set_complete();
  if (it.due.empty() && !it.due.complete()) refill(it, it.due);
  if (it.due.empty()) {
    due_timers_.stop(it.due_timer);
    return;
  }
  if (it.overdue) return;  // advance() sets it after the tube's turn
  const instant due = wall_clock::from_sys(utc_time(milliseconds(it.due.front().due)));
  if (!it.due_timer.pending() || it.due_timer.deadline() != due) due_timers_.reset(it.due_timer, due);
}

void embedded_core::refill(tube& it, index_window<due_entry>& window) {
  read_on(it, window, [](const due_entry&) { return false; });
}

void embedded_core::refill(tube& it, index_window<ready_entry>& window) {
  read_on(it, window, [this](const ready_entry& entry) { return held_.has(entry.id); });
}

template <class Entry, class LeftOut>
void embedded_core::read_on(tube& it, index_window<Entry>& window, LeftOut left_out) {
  disk::scan entries(disk_, Entry::home, view(window.end().key(it.number)), end_of(it.number));
  const auto next = [&](Entry& entry) {
    if (!entries.valid()) return false;
    entry = Entry::read(entries.key(), entries.value());
    entries.next();
    return true;
  };
  window.refill(tubes_.window_bound() / 2, next, left_out);
}

}  // namespace foliot::jobs::detail
