// The operations of clients on jobs of an embedded store: puts, changes of jobs that nobody has reserved, and looks.
#include <algorithm>
#include <utility>

#include "core.hpp"

namespace foliot::jobs::detail {

void embedded_core::set_due(record& it, const due_at& due) const {
  if (const auto* delay = std::get_if<milliseconds>(&due)) {
    const utc_time from = *delay > milliseconds(0) ? utc_up_ : utc_;
    it.due = (from + *delay).time_since_epoch().count();
    it.delay = delay->count();
  } else {
    it.due = std::get<utc_time>(due).time_since_epoch().count();
    it.delay = it.due > now_ms() ? it.due - now_ms() : 0;
  }
}

put_answer embedded_core::step(put& what) {
  using enum put_answer::kind;
  put_answer answer;
  tube* known = tubes_.find(what.tube);
  const job_id old = known == nullptr || what.key.empty() ? 0 : find_key(*known, what.key);
  if (old != 0) {
    if (what.existing == on_existing::keep) return {kept, old};
    if (what.existing == on_existing::refuse) return {exists, old};
    if (holder(old) != nullptr) return {reserved, old};
    answer.what = replaced;
  }
  if (!has_room_for(what) || (old == 0 && tubes_.totals().stored.all() >= options_.most_jobs)) return {no_space, 0};
  tube& home = known != nullptr ? *known : tubes_.get(what.tube);
  if (old != 0) {
    record replaced_one;
    load_known(old, replaced_one, false);
    unlink(replaced_one, home, waiting_state_of(replaced_one, home));
    erase(replaced_one, home);
  }
  record it;
  it.id = answer.id = new_id();
  it.tube = home.number;
  it.priority = what.priority;
  it.made = now_ms();
  it.ttr = what.ttr.count();
  it.key = std::move(what.key);
  it.fields = std::move(what.fields);
  it.history = std::move(what.history);
  set_due(it, what.due);
  insert(it, std::move(what.body), home, jobs::waiting_state(utc_time(milliseconds(it.due)), utc_));
  must_sync_ = true;
  return answer;
}

void embedded_core::kick_one(record& it, tube& home, job_state state) {
  unlink(it, home, state);
  ++it.counters.kicks;
  it.due = now_ms();
  link(it, home, job_state::ready);
  save(it);
}

change_answer embedded_core::step(kick_job& what) {
  return change_waiting(what, what.id, job_event::kick,
                        [this](record& it, tube& home, job_state state) { kick_one(it, home, state); });
}

change_answer embedded_core::step(cancel& what) {
  return change_waiting(what, what.name, job_event::cancel, [this](record& it, tube& home, job_state state) {
    unlink(it, home, state);
    erase(it, home);
  });
}

change_answer embedded_core::step(reschedule& what) {
  return change_waiting(what, what.name, job_event::reschedule, [&](record& it, tube& home, job_state state) {
    unlink(it, home, state);
    set_due(it, what.due);
    link(it, home, jobs::waiting_state(utc_time(milliseconds(it.due)), utc_));
    save(it);
  });
}

change_answer embedded_core::step(fire_now& what) {
  return change_waiting(what, what.name, job_event::fire_now, [this](record& it, tube& home, job_state state) {
    if (state == job_state::ready) return;
    unlink(it, home, state);
    it.due = now_ms();
    link(it, home, job_state::ready);
    save(it);
  });
}

peek_answer embedded_core::step(peek& what) {
  const job_id id = find_name(what.name);
  const held_job* const held = id == 0 ? nullptr : holder(id);  // may write the record
  record it;
  if (id == 0 || !load(id, it, what.with_body)) return {};
  tube& home = home_of(it);
  if (held != nullptr) {
    it.counters = held->data.counters;
    return {shown(std::move(it), home, job_state::reserved, held->expires, what.with_body), utc_};
  }
  const job_state state = waiting_state_of(it, home);
  return {shown(std::move(it), home, state, instant::never(), what.with_body), utc_};
}

}  // namespace foliot::jobs::detail
