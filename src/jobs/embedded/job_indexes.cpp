#include "job_indexes.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include <foliot/core/clock.hpp>

#include "jobs/due_page.hpp"

namespace foliot::jobs::detail {

namespace {

/// How many jobs become ready in one batch at most: some 6 ms of work.
constexpr std::size_t promotions_at_once = 2048;

/// The key behind all keys of a tube in an index.
std::string end_of(tube_number tube) { return std::string(view(number_key(tube + 1))); }

}  // namespace

job_indexes::~job_indexes() {
  while (due_timers_.pop_any() != nullptr) {
  }
}

void job_indexes::open() {
  for (const auto& [name, it] : tubes_.all()) set_due_timer(*it);
}

void job_indexes::add(record& it, tube& home, job_state state) {
  tubes_.change(home);
  if (state == job_state::ready) {
    const ready_entry entry = it.as_ready();
    it.place = index_of::ready;
    disk_.put(family::ready, view(entry.key(home.number)), {});
    home.count_ready(it.priority, true);
    home.ready.insert(entry, tubes_.window_bound());
    note_ready(home);
  } else if (state == job_state::delayed) {
    const due_entry entry = it.as_due();
    it.place = index_of::due;
    disk_.put(family::due, view(entry.key(home.number)), view(entry.value()));
    home.count_delayed(true);
    home.due.insert(entry, tubes_.window_bound());
    note_due_change(home);
  } else {
    it.place = index_of::buried;
    it.sequence = home.next_burial++;
    disk_.put(family::buried, view(buried_key(home.number, it.sequence)), view(number_key(it.id)));
    home.count_buried(true);
  }
}

void job_indexes::remove(const record& it, tube& home, job_state state) {
  tubes_.change(home);
  if (state == job_state::ready) {
    const ready_entry entry = it.as_ready();
    disk_.erase(family::ready, view(entry.key(home.number)));
    home.count_ready(it.priority, false);
    home.ready.erase(entry);
  } else if (state == job_state::delayed) {
    const due_entry entry = it.as_due();
    disk_.erase(family::due, view(entry.key(home.number)));
    home.count_delayed(false);
    home.due.erase(entry);
    note_due_change(home);
  } else {
    disk_.erase(family::buried, view(buried_key(home.number, it.sequence)));
    home.count_buried(false);
  }
  if (home.paused() && home.stored.all() == 0) emptied_tubes_.push_back(&home);
}

job_state job_indexes::waiting_state_of(const record& it, tube& home) {
  if (it.place == index_of::buried) return job_state::buried;
  if (it.place == index_of::ready) return job_state::ready;
  if (it.due > home.promoted_to || records_.is_of_batch(it.id)) return job_state::delayed;
  const due_entry entry = it.as_due();
  const bool delayed =
      home.due.covers(entry) ? home.due.has(entry) : disk_.read(family::due, view(entry.key(home.number))).has_value();
  return delayed ? job_state::delayed : job_state::ready;
}

void job_indexes::give_back(const ready_entry& entry, tube& home) {
  home.unreserve(entry);
  home.ready.insert(entry, tubes_.window_bound());
  note_ready(home);
}

void job_indexes::promote(utc_time now) {
  // The tubes with due jobs take turns. Each gets the same share of the batch, so that no tube delays the others, be it
  // by many due jobs or by jobs that were due earlier.
  const std::int64_t now_ms = now.time_since_epoch().count();
  due_timers_.expire(wall_clock::from_sys(now), promotions_at_once, [this](timer_node& node) {
    tube* const home = static_cast<tube_timer&>(node).owner;
    home->overdue = true;
    overdue_.push_back(home);
  });
  for (std::size_t left = promotions_at_once; left > 0 && !overdue_.empty();) {
    const std::size_t turns = std::min(overdue_.size(), left);
    const std::size_t share = left / turns;
    for (std::size_t i = 0; i < turns; ++i) {
      tube& home = *overdue_.front();
      overdue_.pop_front();
      const std::uint64_t before = home.stored.delayed;
      promote(home, share, now_ms);
      left -= std::max<std::size_t>(before - home.stored.delayed, 1);
      set_due_timer(home);
      if (!home.due.empty() && home.due.front().due <= now_ms) {
        overdue_.push_back(&home);
      } else {
        home.overdue = false;
        set_due_timer(home);
      }
    }
  }
}

void job_indexes::promote(tube& home, std::size_t count, std::int64_t now_ms) {
  for (; count > 0 && !home.due.empty() && home.due.front().due <= now_ms; --count) {
    const due_entry entry = home.due.front();
    home.due.pop_front();
    home.count_delayed(false);
    home.promoted_to = std::max(home.promoted_to, entry.due);
    disk_.erase(family::due, view(entry.key(home.number)));
    const ready_entry ready{entry.priority, entry.id};
    disk_.put(family::ready, view(ready.key(home.number)), {});
    home.count_ready(entry.priority, true);
    home.ready.insert(ready, tubes_.window_bound());
    tubes_.change(home);
    note_ready(home);
  }
}

void job_indexes::set_due_timer(tube& home) {
  if (home.stored.delayed == 0) home.due.set_complete();
  if (home.due.empty() && !home.due.complete()) refill(home, home.due);
  set_place_by_due(home);
  if (home.due.empty()) {
    due_timers_.stop(home.due_timer);
    return;
  }
  if (home.overdue) return;  // promote() sets it after the tube's turn
  const instant due = wall_clock::from_sys(utc_time(milliseconds(home.due.front().due)));
  if (!home.due_timer.pending() || home.due_timer.deadline() != due) due_timers_.reset(home.due_timer, due);
}

void job_indexes::set_place_by_due(tube& home) {
  const std::optional<due_entry> first = home.due.empty() ? std::nullopt : std::optional(home.due.front());
  if (first == home.place_by_due) return;
  if (!home.place_by_due) {
    tubes_by_due_.emplace(*first, &home);
  } else if (auto node = tubes_by_due_.extract({*home.place_by_due, &home}); first) {
    node.value().first = *first;
    tubes_by_due_.insert(std::move(node));
  }
  home.place_by_due = first;
}

void job_indexes::note_due_change(tube& home) {
  if (!std::exchange(home.due_changed, true)) due_changed_.push_back(&home);
}

void job_indexes::note_ready(tube& home) {
  if (!std::exchange(home.became_ready, true)) ready_tubes_.push_back(&home);
}

void job_indexes::end_step() {
  for (tube* each : due_changed_) {
    each->due_changed = false;
    set_due_timer(*each);
  }
  due_changed_.clear();
}

void job_indexes::tell_of_tubes(execution& done) {
  done.ready_tubes.reserve(ready_tubes_.size());
  for (tube* each : ready_tubes_) {
    each->became_ready = false;
    done.ready_tubes.push_back(each->name);
  }
  ready_tubes_.clear();
  std::ranges::sort(emptied_tubes_);
  const auto repeated = std::ranges::unique(emptied_tubes_);
  emptied_tubes_.erase(repeated.begin(), repeated.end());
  for (const tube* each : emptied_tubes_) {
    if (each->paused() && each->stored.all() == 0) done.emptied_tubes.push_back(each->name);
  }
  emptied_tubes_.clear();
}

std::optional<ready_entry> job_indexes::first_ready(tube& home) {
  if (home.ready.empty()) {
    if (home.stored.ready == 0) home.ready.set_complete();
    if (home.ready.complete() || home.stored.ready == home.reserved.size()) return std::nullopt;
    refill(home, home.ready);
    if (home.ready.empty()) return std::nullopt;
  }
  return home.ready.front();
}

std::vector<ready_entry> job_indexes::first_ready(tube& home, std::uint64_t count) {
  return first_of(home, home.ready_floor(), count);
}

std::vector<due_entry> job_indexes::first_delayed(tube& home, std::uint64_t count) {
  return first_of(home, home.due_floor(), count);
}

template <class Entry>
std::vector<Entry> job_indexes::first_of(tube& home, const Entry& from, std::uint64_t count) {
  std::vector<Entry> found;
  const auto end = number_key(home.number + 1);
  for (disk::scan entries(disk_, Entry::home, view(from.key(home.number)), view(end));
       found.size() < count && entries.valid(); entries.next()) {
    const Entry entry = Entry::read(entries.key(), entries.value());
    if (!held_.has(entry.id)) found.push_back(entry);
  }
  return found;
}

std::vector<std::pair<std::uint64_t, job_id>> job_indexes::first_buried(tube& home, std::uint64_t count) {
  std::vector<std::pair<std::uint64_t, job_id>> found;
  const auto end = number_key(home.number + 1);
  for (disk::scan entries(disk_, family::buried, view(buried_key(home.number, home.buried_floor)), view(end));
       found.size() < count && entries.valid(); entries.next()) {
    found.emplace_back(read_big<std::uint64_t>(entries.key().data() + sizeof(tube_number)),
                       read_big<job_id>(entries.value().data()));
  }
  if (!found.empty()) home.buried_floor = found.front().first;
  return found;
}

void job_indexes::add_due(tube& home, const due_entry& begin, due_page& page) {
  const auto add = [&](const due_entry& entry) {
    return page.add(utc_time(milliseconds(entry.due)), entry.id, home.name);
  };
  const std::set<due_entry>& front = home.due.entries();
  for (auto at = front.lower_bound(begin); at != front.end(); ++at) {
    if (!add(*at)) return;
  }
  if (home.due.complete()) return;
  const auto end = number_key(home.number + 1);
  for (disk::scan entries(disk_, family::due, view(std::max(begin, home.due.end()).key(home.number)), view(end));
       entries.valid(); entries.next()) {
    if (!add(due_entry::read(entries.key(), entries.value()))) return;
  }
}

void job_indexes::visit_from(tube& home, job_state state, const job_place& begin,
                             const std::function<bool(job_place, bool)>& visit) {
  const std::string end = end_of(home.number);
  if (state == job_state::delayed) {
    const due_entry from = std::max(home.due_floor(), {static_cast<std::int64_t>(begin.rank), begin.id, 0});
    for (disk::scan entries(disk_, family::due, view(from.key(home.number)), end); entries.valid(); entries.next()) {
      const due_entry entry = due_entry::read(entries.key(), entries.value());
      if (!visit({static_cast<std::uint64_t>(entry.due), entry.id}, false)) return;
    }
  } else if (state == job_state::ready) {
    if (begin.rank > std::numeric_limits<priority>::max()) return;
    const ready_entry from = std::max(home.ready_floor(), {static_cast<priority>(begin.rank), begin.id});
    for (disk::scan entries(disk_, family::ready, view(from.key(home.number)), end); entries.valid(); entries.next()) {
      const ready_entry entry = ready_entry::read(entries.key(), entries.value());
      if (!visit({entry.priority, entry.id}, held_.has(entry.id))) return;
    }
  } else {
    const std::uint64_t from = std::max(home.buried_floor, begin.rank);
    for (disk::scan entries(disk_, family::buried, view(buried_key(home.number, from)), end); entries.valid();
         entries.next()) {
      const auto sequence = read_big<std::uint64_t>(entries.key().data() + tube_size);
      if (!visit({sequence, read_big<job_id>(entries.value().data())}, false)) return;
    }
  }
}

void job_indexes::refill(tube& home, index_window<due_entry>& window) {
  read_on(home, window, [](const due_entry&) { return false; });
}

void job_indexes::refill(tube& home, index_window<ready_entry>& window) {
  read_on(home, window, [this](const ready_entry& entry) { return held_.has(entry.id); });
}

template <class Entry, class LeftOut>
void job_indexes::read_on(tube& home, index_window<Entry>& window, LeftOut left_out) {
  disk::scan entries(disk_, Entry::home, view(window.end().key(home.number)), end_of(home.number));
  const auto next = [&](Entry& entry) {
    if (!entries.valid()) return false;
    entry = Entry::read(entries.key(), entries.value());
    entries.next();
    return true;
  };
  window.refill(tubes_.window_bound() / 2, next, left_out);
}

}  // namespace foliot::jobs::detail
