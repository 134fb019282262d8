// The operations on tubes of an embedded store.
#include <algorithm>
#include <utility>

#include "core.hpp"
#include "jobs/due_page.hpp"

namespace foliot::jobs::detail {

template <class Entry>
std::vector<Entry> embedded_core::first_of(tube& it, const Entry& from, std::uint64_t count) {
  std::vector<Entry> found;
  const auto end = number_key(it.number + 1);
  for (disk::scan entries(disk_, Entry::home, view(from.key(it.number)), view(end));
       found.size() < count && entries.valid(); entries.next()) {
    const Entry entry = Entry::read(entries.key(), entries.value());
    if (!held_.has(entry.id)) found.push_back(entry);
  }
  return found;
}

std::vector<std::pair<std::uint64_t, job_id>> embedded_core::first_buried(tube& it, std::uint64_t count) {
  std::vector<std::pair<std::uint64_t, job_id>> found;
  const auto end = number_key(it.number + 1);
  for (disk::scan entries(disk_, family::buried, view(buried_key(it.number, it.buried_floor)), view(end));
       found.size() < count && entries.valid(); entries.next()) {
    found.emplace_back(read_big<std::uint64_t>(entries.key().data() + sizeof(tube_number)),
                       read_big<job_id>(entries.value().data()));
  }
  if (!found.empty()) it.buried_floor = found.front().first;
  return found;
}

bulk_answer embedded_core::step(kick& what) {
  tube* home = tubes_.find(what.tube);
  if (home == nullptr) return {};
  const job_state state = what.only.value_or(home->stored.buried != 0 ? job_state::buried : job_state::delayed);
  if ((state == job_state::buried ? home->stored.buried : home->stored.delayed) == 0) return {};
  if (!has_room_for(what)) return {0, bulk_answer::kind::no_space};
  std::vector<job_id> ids;
  if (state == job_state::buried) {
    for (const auto& [sequence, id] : first_buried(*home, what.count)) ids.push_back(id);
  } else {
    for (const due_entry& each : first_of(*home, home->due_floor(), what.count)) ids.push_back(each.id);
  }
  for (const job_id id : ids) {
    record it;
    load_known(id, it, true);
    kick_one(it, *home, state);
  }
  must_sync_ = must_sync_ || !ids.empty();
  return {.changed = ids.size()};
}

void embedded_core::add_due(tube& it, const due_entry& begin, due_page& page) {
  const auto add = [&](const due_entry& entry) {
    return page.add(utc_time(milliseconds(entry.due)), entry.id, it.name);
  };
  const std::set<due_entry>& front = it.due.entries();
  for (auto at = front.lower_bound(begin); at != front.end(); ++at) {
    if (!add(*at)) return;
  }
  if (it.due.complete()) return;
  const auto end = number_key(it.number + 1);
  for (disk::scan entries(disk_, family::due, view(std::max(begin, it.due.end()).key(it.number)), view(end));
       entries.valid(); entries.next()) {
    if (!add(due_entry::read(entries.key(), entries.value()))) return;
  }
}

due_answer embedded_core::step(list_due& what) {
  // The tubes in the order of what they may have on the page: the rest has nothing as soon as one has nothing.
  const due_entry begin{what.from.time_since_epoch().count(), what.after, 0};
  std::vector<std::pair<due_entry, tube*>> tubes;
  const auto& all = tubes_.all();
  for (auto at = all.lower_bound(what.prefix); at != all.end() && at->first.starts_with(what.prefix); ++at) {
    tube& it = *at->second;
    if (it.stored.delayed == 0) continue;
    if (const auto lowest = it.due.lowest_from(begin)) tubes.emplace_back(*lowest, &it);
  }
  std::ranges::sort(tubes, {}, [](const auto& each) { return each.first; });
  due_page page(what);
  for (const auto& [from, it] : tubes) {
    if (!page.has_room_for(utc_time(milliseconds(from.due)), from.id)) break;
    add_due(*it, from, page);
  }
  return std::move(page).take();
}

bulk_answer embedded_core::step(clear_tube& what) {
  tube* home = tubes_.find(what.tube);
  if (home == nullptr) return {};
  std::vector<std::pair<job_id, job_state>> ended;
  const auto left = [&] { return what.count - ended.size(); };
  if (home->stored.ready != home->reserved.size()) {
    for (const ready_entry& each : first_of(*home, home->ready_floor(), left())) {
      ended.emplace_back(each.id, job_state::ready);
    }
  }
  if (home->stored.delayed != 0 && left() != 0) {
    for (const due_entry& each : first_of(*home, home->due_floor(), left())) {
      ended.emplace_back(each.id, job_state::delayed);
    }
  }
  if (home->stored.buried != 0 && left() != 0) {
    for (const auto& [sequence, id] : first_buried(*home, left())) ended.emplace_back(id, job_state::buried);
  }
  for (const auto& [id, state] : ended) {
    record it;
    load_known(id, it, false);
    unlink(it, *home, state);
    erase(it, *home);
  }
  must_sync_ = must_sync_ || !ended.empty();
  return {.changed = ended.size()};
}

pause_answer embedded_core::step(pause& what) {
  if (what.length == milliseconds(0)) {
    tube* it = tubes_.find(what.tube);
    if (it != nullptr && it->paused()) end_pause(*it);
    return {};
  }
  tube& it = tubes_.get(what.tube);
  it.paused_until = std::min(now_ + what.length, instant::latest());  // never() means: not paused
  pause_timers_.reset(it.pause_timer, it.paused_until);
  return {};
}

void embedded_core::end_pause(tube& it) {
  pause_timers_.stop(it.pause_timer);
  it.paused_until = instant::never();
  became_ready(it);
}

peek_answer embedded_core::step(peek_first& what) {
  tube* home = tubes_.find(what.tube);
  if (home == nullptr) return {};
  job_id id = 0;
  if (what.state == job_state::ready) {
    if (const std::optional<ready_entry> first = first_ready(*home)) id = first->id;
  } else if (what.state == job_state::delayed) {
    if (!home->due.empty()) id = home->due.front().id;
  } else if (what.state == job_state::buried && home->stored.buried != 0) {
    if (const auto first = first_buried(*home, 1); !first.empty()) id = first.front().second;
  }
  if (id == 0) return {};
  record it;
  load_known(id, it, true);
  return {shown(std::move(it), *home, what.state, instant::never(), true), utc_};
}

count_answer embedded_core::step(count_tube& what) {
  const tube* it = tubes_.find(what.tube);
  return it == nullptr ? count_answer{} : count_answer{it->counts(), it->paused_until};
}

count_answer embedded_core::step(count_all& /*what*/) {
  const store_totals& all = tubes_.totals();
  return {visible_counts(all.stored, all.reserved, all.reserved_urgent)};
}

tubes_answer embedded_core::step(list_tubes& /*what*/) {
  tubes_answer answer;
  for (const auto& [name, it] : tubes_.all()) {
    if (it->stored.all() != 0) answer.tubes.push_back(name);
  }
  return answer;
}

}  // namespace foliot::jobs::detail
