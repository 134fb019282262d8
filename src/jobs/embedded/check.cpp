// The walk over everything that an embedded store has.
#include <map>
#include <string>
#include <utility>

#include "engine.hpp"

namespace foliot::jobs::detail {
namespace {

/// What a tube's jobs come to, as counted by their records.
struct found_jobs {
  stored_counts counts;
  std::uint64_t keys = 0;
  std::uint64_t bodies = 0;
};

std::unexpected<std::string> wrong(std::string what) { return std::unexpected(std::move(what)); }

std::uint64_t entries_of(disk& of, family where, tube_number tube) {
  std::uint64_t count = 0;
  const auto from = number_key(tube);
  const auto to = number_key(tube + 1);
  for (disk::scan entries(of, where, view(from), view(to)); entries.valid(); entries.next()) ++count;
  return count;
}

}  // namespace

check_result embedded_engine::check() {
  if (!failure_.empty()) return wrong(failure_);
  try {
    if (const rocksdb::Status read = disk_.verify_checksums(); !read.ok()) {
      return wrong("a table of the database is damaged: " + read.ToString());
    }
    return check_all();
  } catch (const store_failure& failed) {
    return wrong(failed.what());
  }
}

check_result embedded_engine::check_all() {
  std::map<tube_number, found_jobs> found;
  std::uint64_t bodies = 0;
  for (disk::scan records(disk_, family::jobs, "", ""); records.valid(); records.next()) {
    const auto id = read_big<job_id>(records.key().data());
    const std::string job = "job " + std::to_string(id);
    record it;
    if (!decode(id, records.value(), it, false)) return wrong(job + ": its record cannot be read");
    if (id == 0 || id >= next_id_) return wrong(job + ": its id was not given yet");
    tube* home = tubes_.find(it.tube);
    if (home == nullptr) return wrong(job + ": its tube is not known");
    found_jobs& sum = found[it.tube];
    if (check_result right = check_index(it, *home, sum.counts); !right) return wrong(job + ": " + right.error());
    if (it.body_apart) {
      ++bodies;
      if (!disk_.read(family::bodies, records.key())) return wrong(job + ": it has no body");
    }
    if (!it.key.empty()) {
      ++sum.keys;
      if (find_key(*home, it.key) != id) return wrong(job + ": its key does not lead to it");
    }
  }
  for (const auto& [name, it] : tubes_.all()) {
    const found_jobs& sum = found[it->number];
    if (sum.counts != it->stored) return wrong("tube " + name + ": its counts are not those of its jobs");
    if (check_result right = check_tube(*it, sum.keys); !right) return wrong("tube " + name + ": " + right.error());
  }
  for (disk::scan each(disk_, family::bodies, "", ""); each.valid(); each.next()) --bodies;
  if (bodies != 0) return wrong("a body belongs to no job");
  for (const auto& [id, it] : held_.all()) {
    if (!it->home->reserved.contains(it->data.as_ready()))
      return wrong("a reserved job is not among those of its tube");
  }
  return {};
}

check_result embedded_engine::check_index(const record& it, tube& home, stored_counts& sum) {
  const bool held = held_.has(it.id);
  const job_state state = held ? job_state::ready : waiting_state_of(it, home);
  if (state == job_state::buried) {
    ++sum.buried;
    const auto id = disk_.read(family::buried, view(buried_key(home.number, it.sequence)));
    if (!id || read_big<job_id>(id->data()) != it.id) return wrong("it is not where the buried are");
    if (it.sequence < home.buried_floor || it.sequence >= home.next_burial) return wrong("its burial is out of range");
    return {};
  }
  if (state == job_state::delayed) {
    ++sum.delayed;
    const due_entry entry = it.as_due();
    if (!disk_.read(family::due, view(entry.key(home.number)))) return wrong("it is not where the delayed are");
    if (entry < home.due_floor()) return wrong("it lies below the floor of the delayed");
    if (home.due.covers(entry) && !home.due.has(entry)) return wrong("the window of the delayed misses it");
    return {};
  }
  ++sum.ready;
  if (it.priority < urgent_below) ++sum.urgent;
  const ready_entry entry = it.as_ready();
  if (!disk_.read(family::ready, view(entry.key(home.number)))) return wrong("it is not where the ready are");
  if (entry < home.ready_floor()) return wrong("it lies below the floor of the ready");
  const bool expected = !held && home.ready.covers(entry);
  if (home.ready.has(entry) != expected) return wrong("the window of the ready is wrong about it");
  return {};
}

check_result embedded_engine::check_tube(tube& it, std::uint64_t keys) {
  if (entries_of(disk_, family::ready, it.number) != it.stored.ready) return wrong("an entry of the ready has no job");
  if (entries_of(disk_, family::due, it.number) != it.stored.delayed)
    return wrong("an entry of the delayed has no job");
  if (entries_of(disk_, family::buried, it.number) != it.stored.buried) return wrong("a burial has no job");
  if (entries_of(disk_, family::keys, it.number) != keys) return wrong("a key leads to no job");
  if (it.due.empty() && it.stored.delayed != 0) return wrong("the window of the delayed is empty");
  if (it.due_timer.pending() != (!it.overdue && !it.due.empty()))
    return wrong("its timer is not that of its first delayed job");
  return {};
}

}  // namespace foliot::jobs::detail
