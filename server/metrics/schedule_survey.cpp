#include "schedule_survey.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include <foliot/jobs/limits.hpp>

#include "server/access/server_tubes.hpp"

namespace foliot::program {

namespace {

/// In which records are, in the order in which they are read.
constexpr std::array states_of_records{jobs::job_state::reserved, jobs::job_state::ready, jobs::job_state::delayed};
/// So many records are read at once: each may have a history of 8 KiB.
constexpr std::size_t read_at_once = 64;

jobs::list_jobs records_in(jobs::job_state state, jobs::job_place after, std::uint32_t count) {
  jobs::list_jobs some;
  some.tube = tube_of_schedules;
  some.which = state;
  some.after = after;
  some.count = count;
  return some;
}

/// What the schedule of this record does. Without a state it has had no turn yet: SQL has made it.
schedule_standing standing_of(const jobs::job& record, jobs::utc_time now) {
  const auto state = schedule_state::in(record.history);
  if (!state) return schedule_standing::refused;
  if (!*state) return schedule_standing::active;
  return (*state)->standing_at(std::chrono::floor<std::chrono::seconds>(now));
}

task<> count_standings(jobs::client& to_store, std::vector<jobs::job_id> records, schedule_standings& into) {
  for (std::span<const jobs::job_id> left(records); !left.empty();) {
    const std::size_t count = std::min(left.size(), read_at_once);
    std::deque<jobs::in_flight<jobs::peek>> looks;
    for (const jobs::job_id each : left.first(count)) looks.emplace_back(to_store, jobs::peek{each, false});
    for (jobs::in_flight<jobs::peek>& each : looks) {
      const jobs::peek_answer seen = co_await each;
      if (seen.job) ++into[static_cast<std::size_t>(standing_of(*seen.job, seen.now))];
    }
    left = left.subspan(count);
  }
}

}  // namespace

task<bool> schedule_survey::go_on(jobs::client& to_store, std::uint32_t most, round& with) {
  // All states in one batch: a record whose turn begins in between would be in none of them.
  std::deque<jobs::in_flight<jobs::list_jobs>> lists;
  jobs::job_place after = with.at;
  for (std::size_t state = with.state; state < states_of_records.size(); ++state) {
    lists.emplace_back(to_store, records_in(states_of_records[state], after, most));
    after = {};
  }
  std::vector<jobs::job_id> found;
  bool goes_on = true;
  for (jobs::in_flight<jobs::list_jobs>& each : lists) {
    const jobs::jobs_answer listed = co_await each;
    if (!goes_on) continue;  // it is awaited nevertheless
    for (const jobs::listed_job& one : listed.jobs) {
      goes_on = found.size() < most;
      if (!goes_on) break;
      found.push_back(one.job.id);
      with.at = one.place;
    }
    if (goes_on && listed.next) {
      with.at = *listed.next;
      goes_on = false;
    }
    if (goes_on) {
      ++with.state;
      with.at = {};
    }
  }
  auto counting = count_standings(to_store, std::move(found), with.counted);
  co_await counting;
  co_return with.state == states_of_records.size();
}

task<surveyed_schedules> schedule_survey::look(authorized_client& by, bool has_other_nodes) {
  by.check_scope(scope::look);
  jobs::client& to_store = by.connection_for_server();
  // In the order in which they are claimed, which is that of their ids: the longest wait may be any of them.
  const std::uint32_t most = has_other_nodes ? with_nodes : alone;
  jobs::in_flight<jobs::list_jobs> first_ready(to_store, records_in(jobs::job_state::ready, {}, most));
  jobs::in_flight<jobs::list_jobs> first_delayed(to_store, records_in(jobs::job_state::delayed, {}, 1));
  const jobs::jobs_answer ready = co_await first_ready;
  const jobs::jobs_answer delayed = co_await first_delayed;
  surveyed_schedules seen;
  if (!ready.jobs.empty()) {
    seen.next_due = duration::zero();
    for (const jobs::listed_job& each : ready.jobs) {
      seen.overdue = std::max(seen.overdue, duration(ready.now - each.job.due));
    }
  } else if (!delayed.jobs.empty() && delayed.jobs.front().job.due < jobs::latest_due()) {
    seen.next_due = std::max(duration::zero(), duration(delayed.jobs.front().job.due - delayed.now));
  }
  round made;
  {
    const lock held(lock_);
    made = now_;
  }
  auto going_on = go_on(to_store, most, made);
  const bool has_ended = co_await going_on;
  const lock held(lock_);
  if (has_ended) last_ = made.counted;
  now_ = has_ended ? round() : made;
  seen.standings = last_;
  co_return seen;
}

}  // namespace foliot::program
