#include "schedule_json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "times.hpp"

namespace foliot::program::http {

namespace {

std::string_view outcome_word(occurrence_outcome what) noexcept {
  return names_of_occurrence_outcomes[static_cast<std::size_t>(what)];
}
std::string_view reason_word(occurrence_reason why) noexcept { return names_of_reasons[static_cast<std::size_t>(why)]; }

void add_occurrence_times(ordered_json& to, const schedule::occurrence& one) {
  to["at"] = schedule::text_of(one.at);
  to["local"] = schedule::text_of(one.local());
  to["nominal"] = schedule::text_of(one.nominal);
  to["offset"] = offset_text(one.offset);
  to["abbreviation"] = one.abbreviation;
  to["pass"] = name_of(one.pass);
  to["shifted"] = one.is_shifted;
}

ordered_json shown_upcoming_occurrence(const upcoming_occurrence& one) {
  ordered_json all = ordered_json::object();
  add_occurrence_times(all, one.when);
  all["due"] = time_text(one.due);
  if (one.is_skipped) all["skipped"] = true;
  if (one.is_paused) all["paused"] = true;
  return all;
}

ordered_json shown_recent(const recent_occurrence& one) {
  ordered_json all = ordered_json::object();
  all["at"] = schedule::text_of(one.name.at);
  if (one.name.ordinal != 0) all["run"] = one.name.ordinal;
  all["reason"] = reason_word(one.reason);
  all["outcome"] = outcome_word(one.outcome);
  all["when"] = time_text(one.when);
  return all;
}

ordered_json shown_pause(const schedule_state& state, const schedule_pause& pause) {
  ordered_json all = ordered_json::object();
  all["since"] = schedule::text_of(pause.since);
  if (pause.until) all["until"] = schedule::text_of(*pause.until);
  if (!state.pause_note.empty()) all["note"] = state.pause_note;
  if (!state.paused_by.empty()) all["by"] = state.paused_by;
  return all;
}

ordered_json shown_counts(const schedule_counters& counters) {
  ordered_json all = ordered_json::object();
  all["decided"] = counters.decided;
  ordered_json& made = all["made"] = ordered_json::object();
  for (std::size_t i = 0; i < names_of_reasons.size(); ++i) made[std::string(names_of_reasons[i])] = counters.made[i];
  ordered_json& outcomes = all["outcomes"] = ordered_json::object();
  for (std::size_t i = 0; i < names_of_occurrence_outcomes.size(); ++i) {
    const auto what = static_cast<occurrence_outcome>(i);
    if (what == occurrence_outcome::queued || what == occurrence_outcome::made) continue;  // no ends
    outcomes[std::string(names_of_occurrence_outcomes[i])] = counters.outcomes[i];
  }
  if (counters.not_followed != 0) all["not_followed"] = counters.not_followed;
  if (counters.uncounted != 0) all["uncounted"] = counters.uncounted;
  return all;
}

/// What waits, and what lives.
void add_schedule_work(ordered_json& to, const known_schedule& what) {
  const schedule_state& state = what.state;
  ordered_json& skips = to["skips"] = ordered_json::array();
  for (const skip_request& each : state.skips) skips.push_back(schedule::text_of(each.at));
  ordered_json& queue = to["queue"] = ordered_json::array();
  for (const queued_occurrence& each : state.queue) queue.push_back(schedule::text_of(each.at));
  to["runs_waiting"] = state.by_hand.size();
  ordered_json& backfills = to["backfills"] = ordered_json::array();
  for (const backfill_request& each : state.backfills) {
    ordered_json one = ordered_json::object();
    one["from"] = schedule::text_of(each.left.from);
    one["to"] = schedule::text_of(each.left.to);
    one["made"] = each.made;
    backfills.push_back(std::move(one));
  }
  ordered_json& living = to["living"] = ordered_json::array();
  for (const living_occurrence& each : state.living) {
    ordered_json one = ordered_json::object();
    one["at"] = schedule::text_of(each.name.at);
    one["key"] = key_of_occurrence(what.name, each.key, state.incarnation);
    living.push_back(std::move(one));
  }
}

void add_schedule_past(ordered_json& to, const schedule_state& state) {
  ordered_json& last = to["last"] = ordered_json::array();
  for (auto each = state.recent.rbegin(); each != state.recent.rend(); ++each) last.push_back(shown_recent(*each));
  if (state.last_success) to["last_success"] = shown_recent(*state.last_success);
  if (state.last_failure) to["last_failure"] = shown_recent(*state.last_failure);
  to["counts"] = shown_counts(state.counters);
}

void add_meaning(ordered_json& to, const schedule_table& table) {
  to["words"] = table.all.words();
  to["warnings"] = table.all.warnings();
}

void add_upcoming(ordered_json& to, const known_schedule& what, const schedule_table& table) {
  ordered_json& next = to["next"] = ordered_json::array();
  for (const upcoming_occurrence& each : upcoming_occurrences(what.plan, table, what.state, what.now, shown_upcoming)) {
    next.push_back(shown_upcoming_occurrence(each));
  }
}

/// Names, state and version, which all forms begin with.
ordered_json begin_of_schedule(const known_schedule& what) {
  const schedule_state& state = what.state;
  ordered_json all = ordered_json::object();
  all["tube"] = what.tube;
  all["name"] = what.name;
  all["state"] = state_word(what);
  if (const std::string& why = what.fault.empty() ? state.refused : what.fault; !why.empty()) all["refused"] = why;
  if (!what.fault.empty()) return all;
  if (state.ended) all["ended"] = names_of_ends[static_cast<std::size_t>(*state.ended)];
  add_version(all, {state.incarnation, state.version});
  const auto now = std::chrono::floor<std::chrono::seconds>(what.now);
  if (const schedule_pause* const pause = state.pause_from(now)) all["pause"] = shown_pause(state, *pause);
  return all;
}

}  // namespace

std::string offset_text(std::chrono::seconds offset) {
  const auto length = std::abs(offset.count());
  std::string text = fmt::format("{}{:02}:{:02}", offset.count() < 0 ? '-' : '+', length / 3600, length / 60 % 60);
  if (length % 60 != 0) text += fmt::format(":{:02}", length % 60);
  return text;
}

std::string_view name_of(schedule::overlap_pass pass) noexcept {
  return pass == schedule::overlap_pass::only ? "only" : pass == schedule::overlap_pass::first ? "first" : "second";
}

std::string_view state_word(const known_schedule& what) noexcept {
  const schedule_standing standing = what.fault.empty()
                                         ? what.state.standing_at(std::chrono::floor<std::chrono::seconds>(what.now))
                                         : schedule_standing::refused;
  return names_of_standings[static_cast<std::size_t>(standing)];
}

std::string tag_text(const schedule_version& version) {
  return fmt::format("{:016x}.{}", version.incarnation, version.version);
}

std::optional<schedule_version> version_of_tag(std::string_view tag) noexcept {
  schedule_version read;
  constexpr std::size_t digits = 16;
  if (tag.size() < digits + 2) return std::nullopt;
  const char* const dot = tag.data() + digits;
  const char* const end = tag.data() + tag.size();
  const auto incarnation = std::from_chars(tag.data(), dot, read.incarnation, 16);
  const auto version = std::from_chars(dot + 1, end, read.version);
  const bool is_right = incarnation.ec == std::errc() && incarnation.ptr == dot && *dot == '.' &&
                        version.ec == std::errc() && version.ptr == end;
  return is_right ? std::optional(read) : std::nullopt;
}

void add_version(ordered_json& to, const schedule_version& version) {
  to["version"] = version.version;
  to["incarnation"] = fmt::format("{:016x}", version.incarnation);
}

ordered_json shown(const std::vector<schedule::occurrence>& those) {
  ordered_json all = ordered_json::array();
  for (const schedule::occurrence& each : those) {
    ordered_json one = ordered_json::object();
    add_occurrence_times(one, each);
    all.push_back(std::move(one));
  }
  return all;
}

ordered_json entry_of(const known_schedule& what) {
  ordered_json all = begin_of_schedule(what);
  if (!what.fault.empty()) return all;
  ordered_json& rules = all["rules"] = ordered_json::array();
  for (const planned_rule& each : what.plan.rules) rules.push_back(each.text);
  if (!what.words.empty()) all["words"] = what.words;
  all["zone"] = what.plan.zone;
  if (!what.plan.note.empty()) all["note"] = what.plan.note;
  if (what.state.next) {
    ordered_json& next = all["next"] = ordered_json::object();
    next["at"] = schedule::text_of(what.state.next->at);
    next["local"] =
        schedule::text_of(std::chrono::local_seconds(what.state.next->at.time_since_epoch() + what.state.next->offset));
    next["nominal"] = schedule::text_of(what.state.next->nominal);
    next["offset"] = offset_text(what.state.next->offset);
    if (std::ranges::binary_search(what.state.skips, what.state.next->at, {}, &skip_request::at))
      next["skipped"] = true;
    if (what.state.is_paused_at(what.state.next->at)) next["paused"] = true;
  }
  if (!what.state.recent.empty()) all["last"] = shown_recent(what.state.recent.back());
  return all;
}

ordered_json shown(const known_schedule& what, const schedule_table* table) {
  ordered_json all = begin_of_schedule(what);
  if (!what.fault.empty()) return all;
  const schedule_state& state = what.state;
  all["made"] = time_text(state.made);
  all["changed"] = time_text(state.changed);
  all["plan"] = what.plan.json();
  if (table != nullptr) add_meaning(all, *table);
  all["zone_data"] = state.zone_data;
  all["cursor"] = schedule::text_of(state.cursor);
  if (table != nullptr) add_upcoming(all, what, *table);
  add_schedule_past(all, state);
  add_schedule_work(all, what);
  return all;
}

ordered_json preview_of(const known_schedule& what, const schedule_table& table) {
  ordered_json all = ordered_json::object();
  all["tube"] = what.tube;
  all["name"] = what.name;
  add_meaning(all, table);
  add_upcoming(all, what, table);
  return all;
}

ordered_json shown(const occurrence_note& what) {
  ordered_json all = ordered_json::object();
  all["name"] = what.schedule;
  all["reason"] = reason_word(what.reason);
  if (what.ordinal != 0) all["run"] = what.ordinal;
  schedule::occurrence when;
  when.at = what.at;
  when.nominal = what.nominal;
  when.offset = what.offset;
  when.abbreviation = what.abbreviation;
  when.pass = what.pass;
  when.is_shifted = what.is_shifted;
  add_occurrence_times(all, when);
  all["zone"] = what.zone;
  all["zone_data"] = what.zone_data;
  add_version(all, {what.incarnation, what.version});
  return all;
}

}  // namespace foliot::program::http
