#include "check.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "opening.hpp"

namespace foliot::jobs::detail {

void entry_sum::add(std::string_view key, std::string_view value) noexcept {
  ++count;
  const std::uint64_t of_key = std::hash<std::string_view>{}(key);
  hashes += (of_key << 1 | of_key >> 63) ^ std::hash<std::string_view>{}(value);
}

namespace {

std::unexpected<std::string> wrong(std::string what) { return std::unexpected(std::move(what)); }

/// The sums of the entries that an index has, by tube.
std::map<tube_number, entry_sum> entries_of(disk& of, family where) {
  std::map<tube_number, entry_sum> found;
  for (disk::scan entries(of, where, "", ""); entries.valid(); entries.next()) {
    const std::string_view key = entries.key();
    found[key.size() < tube_size ? 0 : read_big<tube_number>(key.data())].add(key, entries.value());
  }
  return found;
}

constexpr std::array indexes{family::due, family::ready, family::buried, family::keys};
/// What is wrong if an index has an entry to which no job leads; by family.
constexpr std::array<std::string_view, families> unowned{"",
                                                         "",
                                                         "",
                                                         "an entry of the delayed has no job",
                                                         "an entry of the ready has no job",
                                                         "a burial has no job",
                                                         "a key leads to no job"};

}  // namespace

check_result store_check::run() {
  jobs_by_tube found;
  if (check_result right = check_jobs(found, false); !right) return right;
  stored_counts all;
  for (const auto& [name, it] : tubes_.all()) {
    all += it->stored;
    if (found[it->number].counts != it->stored) return wrong("tube " + name + ": its counts are not those of its jobs");
    if (check_result right = check_tube(*it); !right) return wrong("tube " + name + ": " + right.error());
  }
  if (all != tubes_.totals().stored) return wrong("the counts of all tubes do not add up");
  for (const family each : indexes) {
    if (check_result right = check_entries(found, each); !right) return right;
  }
  for (const auto& [id, it] : held_.all()) {
    if (!it->home->reserved.contains(it->data.as_ready()))
      return wrong("a reserved job is not among those of its tube");
  }
  if (held_.all().size() != tubes_.totals().reserved) return wrong("the count of reserved jobs is wrong");
  return once_.check();
}

check_result store_check::check_jobs(jobs_by_tube& found, bool one_by_one) {
  disk::scan bodies(disk_, family::bodies, "", "");
  for (disk::scan records(disk_, family::jobs, "", ""); records.valid(); records.next()) {
    const auto id = read_big<job_id>(records.key().data());
    const std::string job = "job " + std::to_string(id);
    record it;
    if (!decode(id, records.value(), it, false)) return wrong(job + ": its record cannot be read");
    if (id == 0 || id >= next_id_) return wrong(job + ": its id was not given yet");
    if (it.has_fields() && format_.version() < format_with_fields) {
      return wrong(job + ": it has fields, and the folder's format has none");
    }
    tube* home = tubes_.find(it.tube);
    if (home == nullptr) return wrong(job + ": its tube is not known");
    found_jobs& sum = found[it.tube];
    if (check_result right = check_index(it, *home, sum, one_by_one); !right) return wrong(job + ": " + right.error());
    if (it.body_apart) {
      if (!bodies.valid() || bodies.key() > records.key()) return wrong(job + ": it has no body");
      if (bodies.key() < records.key()) break;  // a body without a job
      bodies.next();
    }
    if (!it.key.empty()) {
      sum.expect(family::keys, name_key(home->number, it.key), view(number_key(id)));
      if (one_by_one && records_.find_key(home->number, it.key) != id)
        return wrong(job + ": its key does not lead to it");
    }
  }
  if (bodies.valid()) return wrong("a body belongs to no job");
  return {};
}

check_result store_check::check_entries(const jobs_by_tube& found, family where) {
  std::map<tube_number, entry_sum> stored = entries_of(disk_, where);
  for (const auto& [tube, jobs] : found) {
    if (stored[tube] == jobs.entries[static_cast<std::size_t>(where)]) {
      stored.erase(tube);
    }
  }
  if (stored.empty()) return {};
  jobs_by_tube again;
  if (check_result right = check_jobs(again, true); !right) return right;  // it names the job that lacks an entry
  return wrong(std::string(unowned[static_cast<std::size_t>(where)]));
}

check_result store_check::check_index(const record& it, tube& home, found_jobs& sum, bool one_by_one) {
  // Returns false if the index was asked and does not have the entry.
  const auto expect = [&](family where, std::string_view key, std::string_view value) {
    sum.expect(where, key, value);
    return !one_by_one || disk_.read(where, key) == value;
  };
  const bool held = held_.has(it.id);
  const job_state state = held ? job_state::ready : indexes_.waiting_state_of(it, home);
  if (state == job_state::buried) {
    ++sum.counts.buried;
    if (!expect(family::buried, view(buried_key(home.number, it.sequence)), view(number_key(it.id))))
      return wrong("it is not where the buried are");
    if (it.sequence < home.buried_floor || it.sequence >= home.next_burial) return wrong("its burial is out of range");
    return {};
  }
  if (state == job_state::delayed) {
    ++sum.counts.delayed;
    const due_entry entry = it.as_due();
    if (!expect(family::due, view(entry.key(home.number)), view(entry.value())))
      return wrong("it is not where the delayed are");
    if (entry < home.due_floor()) return wrong("it lies below the floor of the delayed");
    if (home.due.covers(entry) && !home.due.has(entry)) return wrong("the window of the delayed misses it");
    return {};
  }
  ++sum.counts.ready;
  if (it.priority < urgent_below) ++sum.counts.urgent;
  const ready_entry entry = it.as_ready();
  if (!expect(family::ready, view(entry.key(home.number)), {})) return wrong("it is not where the ready are");
  if (entry < home.ready_floor()) return wrong("it lies below the floor of the ready");
  const bool expected = !held && home.ready.covers(entry);
  if (home.ready.has(entry) != expected) return wrong("the window of the ready is wrong about it");
  return {};
}

check_result store_check::check_tube(const tube& it) {
  if (it.due.empty() && it.stored.delayed != 0) return wrong("the window of the delayed is empty");
  if (it.due_timer.pending() != (!it.overdue && !it.due.empty()))
    return wrong("its timer is not that of its first delayed job");
  if (it.place_by_due != (it.due.empty() ? std::nullopt : std::optional(it.due.front())))
    return wrong("its place among the tubes with delayed jobs is not that of the first of these");
  return {};
}

}  // namespace foliot::jobs::detail
