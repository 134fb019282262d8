// Jobs of an embedded store: their records, and their entries in the indexes.
#include <utility>

#include "core.hpp"
#include "opening.hpp"

namespace foliot::jobs::detail {

namespace {
[[noreturn]] void throw_damaged(const std::string& folder, const std::string& what) {
  throw store_failure(
      "the job store " + folder + " is damaged: " + what + ": restore a backup, or look at what its check reports",
      store_failure::remedies::restore_backup);
}
}  // namespace

bool embedded_core::load(job_id id, record& it, bool with_body) {
  std::optional<std::string_view> value;
  if (const std::string* const found = records_.find(id)) {
    if (found->empty()) return false;
    value = *found;
  } else {
    value = disk_.read(family::jobs, view(number_key(id)));
  }
  if (!value) return false;
  if (!decode(id, *value, it, with_body)) {
    throw_damaged(disk_.folder(), "the record of job " + std::to_string(id) + " cannot be read");
  }
  return true;
}

void embedded_core::load_known(job_id id, record& it, bool with_body) {
  if (!load(id, it, with_body)) throw_damaged(disk_.folder(), "job " + std::to_string(id) + " has no record");
}

void embedded_core::save(const record& it) {
  if (it.has_fields() && format_version_ < format_with_fields) {
    format_version_ = format_with_fields;
    disk_.put(family::meta, "version", view(number_key(format_version_)));
  }
  encode(it, value_);
  disk_.put(family::jobs, view(number_key(it.id)), value_);
  records_.save(it.id, value_, it.place == index_of::ready);
}

std::string embedded_core::body_of(record& it) {
  if (!it.body_apart) return std::move(it.body);
  if (const auto found = fresh_bodies_.find(it.id); found != fresh_bodies_.end()) return found->second;
  const std::optional<std::string_view> body = disk_.read(family::bodies, view(number_key(it.id)));
  if (!body) throw_damaged(disk_.folder(), "job " + std::to_string(it.id) + " has no body");
  return std::string(*body);
}

job_id embedded_core::find_key(const tube& in, std::string_view key) {
  const std::string name = name_key(in.number, key);
  if (const auto found = fresh_keys_.find(name); found != fresh_keys_.end()) return found->second;
  const std::optional<std::string_view> id = disk_.read(family::keys, name);
  if (!id) return 0;
  if (id->size() != sizeof(job_id)) throw_damaged(disk_.folder(), "the key '" + std::string(key) + "' cannot be read");
  return read_big<job_id>(id->data());
}

job_id embedded_core::find_name(const job_name& name) {
  if (const auto* id = std::get_if<job_id>(&name)) return *id;
  const auto& by_key = std::get<job_key>(name);
  const tube* in = tubes_.find(by_key.tube);
  return in == nullptr || by_key.key.empty() ? 0 : find_key(*in, by_key.key);
}

job_state embedded_core::waiting_state_of(const record& it, tube& home) {
  if (it.place == index_of::buried) return job_state::buried;
  if (it.place == index_of::ready) return job_state::ready;
  if (it.due > home.promoted_to || records_.is_of_batch(it.id)) return job_state::delayed;
  const due_entry entry = it.as_due();
  const bool delayed =
      home.due.covers(entry) ? home.due.has(entry) : disk_.read(family::due, view(entry.key(home.number))).has_value();
  return delayed ? job_state::delayed : job_state::ready;
}

tube& embedded_core::home_of(const record& it) {
  tube* home = tubes_.find(it.tube);
  if (home == nullptr) throw_damaged(disk_.folder(), "job " + std::to_string(it.id) + " is in no tube");
  return *home;
}

void embedded_core::link(record& it, tube& home, job_state state) {
  tubes_.change(home);
  if (state == job_state::ready) {
    const ready_entry entry = it.as_ready();
    it.place = index_of::ready;
    disk_.put(family::ready, view(entry.key(home.number)), {});
    home.count_ready(it.priority, true);
    home.ready.insert(entry, tubes_.window_bound());
    became_ready(home);
  } else if (state == job_state::delayed) {
    const due_entry entry = it.as_due();
    it.place = index_of::due;
    disk_.put(family::due, view(entry.key(home.number)), view(entry.value()));
    home.count_delayed(true);
    home.due.insert(entry, tubes_.window_bound());
    if (!std::exchange(home.due_changed, true)) due_changed_.push_back(&home);
  } else {
    it.place = index_of::buried;
    it.sequence = home.next_burial++;
    disk_.put(family::buried, view(buried_key(home.number, it.sequence)), view(number_key(it.id)));
    home.count_buried(true);
  }
}

void embedded_core::unlink(const record& it, tube& home, job_state state) {
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
    if (!std::exchange(home.due_changed, true)) due_changed_.push_back(&home);
  } else {
    disk_.erase(family::buried, view(buried_key(home.number, it.sequence)));
    home.count_buried(false);
  }
  if (home.paused() && home.stored.all() == 0) emptied_tubes_.push_back(&home);
}

void embedded_core::insert(record& it, std::string body, tube& home, job_state state) {
  it.body_apart = body.size() > longest_inline_body;
  if (it.body_apart) {
    disk_.put(family::bodies, view(number_key(it.id)), body);
    fresh_bodies_.emplace(it.id, std::move(body));
  } else {
    it.body = std::move(body);
  }
  if (!it.key.empty()) {
    std::string name = name_key(home.number, it.key);
    disk_.put(family::keys, name, view(number_key(it.id)));
    fresh_keys_[std::move(name)] = it.id;
  }
  link(it, home, state);
  save(it);
}

void embedded_core::erase(const record& it, const tube& home) {
  disk_.erase(family::jobs, view(number_key(it.id)));
  records_.erase(it.id);
  if (it.body_apart) disk_.erase(family::bodies, view(number_key(it.id)));
  if (!it.key.empty()) {
    std::string name = name_key(home.number, it.key);
    disk_.erase(family::keys, name);
    fresh_keys_[std::move(name)] = 0;
  }
}

void embedded_core::became_ready(tube& home) {
  if (!std::exchange(home.became_ready, true)) ready_tubes_.push_back(&home);
}

void embedded_core::leave(held_job& it) {
  it.home->unreserve(it.data.as_ready());
  held_.remove(it);
}

void embedded_core::give_back(held_job& it) {
  record back;
  load_known(it.data.id, back, true);
  back.counters = it.data.counters;
  back.place = index_of::ready;
  save(back);
  tube& home = *it.home;
  leave(it);
  home.ready.insert(back.as_ready(), tubes_.window_bound());
  became_ready(home);
}

claimed_job embedded_core::reserve(record it, tube& home) {
  const instant expires = now_ + milliseconds(it.ttr);
  ++it.counters.reserves;
  const reservation token{it.id, opening_, it.counters.reserves};
  home.reserve(it.as_ready());
  records_.forget(it.id);
  held_.add(without_content(it), home, token, expires);
  return {token, shown(std::move(it), home, job_state::reserved, expires, true)};
}

job embedded_core::shown(record it, tube& home, job_state state, instant expires, bool with_body) {
  return {.id = it.id,
          .tube = home.name,
          .key = std::move(it.key),
          .body = with_body ? body_of(it) : std::string(),
          .priority = it.priority,
          .state = state,
          .made = utc_time(milliseconds(it.made)),
          .due = utc_time(milliseconds(it.due)),
          .delay = milliseconds(it.delay),
          .ttr = milliseconds(it.ttr),
          .expires = expires,
          .counters = it.counters,
          .fields = std::move(it.fields),
          .history = std::move(it.history)};
}

}  // namespace foliot::jobs::detail
