#include "schedule_record.hpp"

#include <algorithm>
#include <cstdint>
#include <expected>
#include <limits>

#include <fmt/format.h>
#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/names.hpp>

#include "occurrence_note.hpp"
#include "server/access/server_tubes.hpp"
#include "text/printable.hpp"

namespace foliot::program {

namespace {

living_fact fact_of(const jobs::peek_answer& seen) noexcept {
  if (!seen.job) return living_fact::gone;
  switch (seen.job->state) {
    case jobs::job_state::delayed:
    case jobs::job_state::ready: return living_fact::waiting;
    case jobs::job_state::reserved: return living_fact::at_work;
    case jobs::job_state::buried: return living_fact::buried;
  }
  return living_fact::unknown;
}

}  // namespace

std::string sentence_of(const plan_error& wrong) {
  return wrong.pointer.empty() ? wrong.detail : fmt::format("{}: {}", wrong.pointer, wrong.detail);
}

schedule_record schedule_record::in(const jobs::job& record) {
  schedule_record read;
  read.key = record.key;
  read.fields = record.fields;
  read.history = record.history;
  const std::expected<std::optional<schedule_state>, state_error> state = schedule_state::in(record.history);
  if (!state && state.error() == state_error::later_version) {
    read.is_of_later_version = true;
    return read;
  }
  if (state) read.state = *state;
  const auto names = schedule_of_key(record.key);
  if (!names) {
    read.fault = fmt::format("the key '{}' of the record is not TUBE:NAME", printable(record.key));
    return read;
  }
  read.tube = names->first;
  read.name = names->second;
  if (!jobs::is_tube_name(read.tube) || !is_schedule_name(read.name)) {
    read.fault = fmt::format("the key '{}' of the record has a tube or a name that there cannot be: names have {}",
                             printable(record.key), form_of_schedule_names);
    return read;
  }
  if (!state) {
    read.is_damaged = true;
    read.fault = sentence_of_damaged_state;
    return read;
  }
  std::expected<schedule_plan, plan_error> plan = schedule_plan::read(record.body);
  if (plan) {
    read.plan = std::move(*plan);
  } else {
    read.fault = sentence_of(plan.error());
  }
  return read;
}

jobs::job_fields schedule_record::history_with(const schedule_state& next) const {
  jobs::job_fields made = history;
  // Without room for what others have noted, the state is what is needed.
  return made.set(tag_of_schedule_state, next.encoding()) ? made : next.history();
}

jobs::put put_of_record(std::string key, const schedule_plan& plan, const schedule_state& state,
                        std::optional<jobs::utc_time> due, std::optional<jobs::reservation> holder) {
  jobs::put record;
  record.tube = tube_of_schedules;
  record.key = std::move(key);
  record.body = plan.text();
  record.due = std::min(due.value_or(jobs::latest_due()), jobs::latest_due());
  record.ttr = longest_turn_of_schedule;
  record.existing = holder ? jobs::on_existing::replace : jobs::on_existing::refuse;
  record.history = state.history();
  record.holder = holder;
  return record;
}

jobs::put_all commit_of_turn(const schedule_record& of, const schedule_plan& plan, const schedule_turn& turn,
                             const living_look& seen, const jobs::reservation& holder) {
  jobs::put_all commit;
  commit.puts.reserve(turn.make.size() + 1);
  commit.puts.push_back(put_of_record(of.key, plan, turn.state, turn.due, holder));
  commit.puts.back().fields = of.fields;
  commit.puts.back().history = of.history_with(turn.state);
  for (const planned_occurrence& each : turn.make) {
    jobs::put job;
    job.tube = of.tube;
    job.key = key_of_occurrence(of.name, each.key, turn.state.incarnation);
    job.body = plan.job.body;
    job.priority = plan.job.priority;
    job.ttr = plan.job.ttr;
    job.due = std::min(each.due, jobs::latest_due());
    // A job with this very name is there only if a client has put it: then it is the occurrence.
    job.existing = each.replaces ? jobs::on_existing::replace : jobs::on_existing::keep;
    // A worker may have had it meanwhile, and have buried it, or may have finished it: then it is not replaced.
    if (each.replaces) job.expected = seen.version_of(each.key);
    job.fields = plan.job.fields;
    const std::string note = occurrence_note::of(of.name, plan, turn.state, each).encoding();
    // A plan of which the note has no room is refused when it is made: has_room_for_note().
    static_cast<void>(job.fields.set(tag_of_occurrence, note));
    commit.puts.push_back(std::move(job));
  }
  return commit;
}

bool has_room_for_note(std::string_view name, const schedule_plan& plan) {
  // The longest one there can be.
  schedule_state state;
  state.incarnation = std::numeric_limits<std::uint64_t>::max();
  state.version = std::numeric_limits<std::uint32_t>::max();
  state.zone_data = std::string(64, 'x');
  planned_occurrence made;
  made.name.ordinal = std::numeric_limits<std::uint32_t>::max();
  made.reason = occurrence_reason::backfill;
  made.when.abbreviation = std::string(16, 'x');
  made.when.offset = std::chrono::hours(-24);
  made.when.is_shifted = true;
  made.when.pass = schedule::overlap_pass::second;
  jobs::job_fields fields = plan.job.fields;
  return fields.set(tag_of_occurrence, occurrence_note::of(name, plan, state, made).encoding());
}

living_look::living_look(const schedule_record& of, const schedule_plan& plan) {
  const std::vector<living_occurrence>& living = of.state->living;
  facts_.assign(living.size(), living_fact::unknown);
  versions_.assign(living.size(), 0);
  keys_.reserve(living.size());
  for (const living_occurrence& each : living) keys_.push_back(each.key);
  const bool needs_all = plan.busy != busy_policy::allow;
  const std::size_t count = needs_all ? living.size() : std::min(living.size(), most_if_allowed);
  // The number of occurrences so far is another one in each turn that makes some.
  const std::size_t first = count == living.size() ? 0 : of.state->counters.decided % living.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = (first + i) % living.size();
    names_.push_back({of.tube, key_of_occurrence(of.name, living[place].key, of.state->incarnation)});
    places_.push_back(place);
  }
}

void living_look::note(std::size_t place, const jobs::peek_answer& seen) {
  facts_[places_[place]] = fact_of(seen);
  versions_[places_[place]] = seen.job ? seen.version : 0;
}

jobs::job_version living_look::version_of(const occurrence_name& key) const noexcept {
  const auto found = std::ranges::find(keys_, key);
  return found == keys_.end() ? 0 : versions_[static_cast<std::size_t>(found - keys_.begin())];
}

}  // namespace foliot::program
