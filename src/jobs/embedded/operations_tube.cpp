// The operations on tubes of an embedded store.
#include <algorithm>
#include <utility>

#include "core.hpp"

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
  if (!space_.room_for_changes()) return {0, bulk_answer::kind::no_space};
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
