#include "job/rule_times.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <foliot/schedule.hpp>
#include <nlohmann/json.hpp>

#include "job/job_text.hpp"
#include "job/text_table.hpp"
#include "job/time_words.hpp"
#include "output_file.hpp"
#include "report.hpp"
#include "server/http/times.hpp"
#include "text/failure.hpp"

namespace foliot::program::terminal {

namespace {

using nlohmann::ordered_json;
using std::chrono::local_seconds;
using std::chrono::sys_seconds;

/// Changes of clocks are told for so long behind the first time that is shown.
constexpr std::chrono::days told_ahead(400);
constexpr std::size_t most_changes = 8;

/// "2026-11-29 09:00", with seconds only if there are some.
std::string date_and_time(local_seconds time) {
  std::string text = schedule::text_of(time);
  text[10] = ' ';
  if (text.ends_with(":00")) text.resize(text.size() - 3);
  return text;
}

/// "09:00", for a text in which the date stands already.
std::string time_of_day(local_seconds time) { return date_and_time(time).substr(11); }

std::string weekday_of(local_seconds time) {
  constexpr const char* names[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  return names[std::chrono::weekday(std::chrono::floor<std::chrono::days>(time)).c_encoding()];
}

/// "+01:00".
std::string offset_text(std::chrono::seconds offset) {
  const auto length = std::abs(offset.count());
  std::string text = fmt::format("{}{:02}:{:02}", offset.count() < 0 ? '-' : '+', length / 3600, length / 60 % 60);
  if (length % 60 != 0) text += fmt::format(":{:02}", length % 60);
  return text;
}

/// What a reader might not expect of an occurrence.
std::string note_of(const schedule::occurrence& one) {
  if (one.is_shifted) return fmt::format("moved from {}, which the clock leaves out", time_of_day(one.nominal));
  if (one.pass == schedule::overlap_pass::first) return "the clock shows it again later";
  return one.pass == schedule::overlap_pass::second ? "the clock shows it for the second time" : "";
}

std::string_view name_of(schedule::overlap_pass pass) {
  return pass == schedule::overlap_pass::only ? "only" : pass == schedule::overlap_pass::first ? "first" : "second";
}

std::string_view name_of(schedule::change_effect effect) {
  switch (effect) {
    case schedule::change_effect::shifted: return "shifted";
    case schedule::change_effect::skipped: return "skipped";
    case schedule::change_effect::first: return "first";
    case schedule::change_effect::last: return "last";
    case schedule::change_effect::twice: return "twice";
  }
  return {};
}

/// "02:30 comes at 03:00", "4 times from 02:00 on do not come".
std::string effect_text(const schedule::clock_change& change) {
  const bool is_one = change.times == 1;
  const std::string times =
      is_one ? time_of_day(change.first) : fmt::format("{} times from {} on", change.times, time_of_day(change.first));
  switch (change.effect) {
    case schedule::change_effect::shifted:
      return is_one ? fmt::format("{} comes at {}", times, time_of_day(change.to()))
                    : fmt::format("{} come at {}, together", times, time_of_day(change.to()));
    case schedule::change_effect::skipped: return times + (is_one ? " does not come" : " do not come");
    case schedule::change_effect::first:
      return times + (is_one ? " comes once, the first time" : " come once, the first time");
    case schedule::change_effect::last:
      return times + (is_one ? " comes once, the second time" : " come once, the second time");
    case schedule::change_effect::twice: return times + (is_one ? " comes twice" : " come twice");
  }
  return {};
}

std::string change_text(const schedule::clock_change& change, const schedule::timetable& table) {
  const bool is_ahead = change.to() > change.from();
  const bool is_same_day =
      std::chrono::floor<std::chrono::days>(change.from()) == std::chrono::floor<std::chrono::days>(change.to());
  std::string text =
      fmt::format("{} {}: the clock goes {} to {}: {}", weekday_of(change.from()), date_and_time(change.from()),
                  is_ahead ? "forward" : "back", is_same_day ? time_of_day(change.to()) : date_and_time(change.to()),
                  effect_text(change));
  if (table.options().rules.size() > 1) text += fmt::format(" ('{}')", table.options().rules[change.rule].text());
  return text + "\n";
}

/// Throws failure if a value is none of an option's.
void check_choice(const char* option, std::string_view value, std::initializer_list<std::string_view> choices) {
  if (std::ranges::find(choices, value) != choices.end()) return;
  throw failure(fmt::format("{}: '{}' is none of {}", option, value, fmt::join(choices, ", ")));
}

/// Whether somebody meant a date: 2026-02-30.
bool is_shaped_as_date(std::string_view text) {
  constexpr std::string_view shape = "0000-00-00";
  return std::ranges::equal(
      text, shape, [](char each, char wanted) { return wanted == '0' ? each >= '0' && each <= '9' : each == wanted; });
}

class rule_look {
 public:
  explicit rule_look(const job_line& line)
      : line_(line), now_(std::chrono::floor<std::chrono::seconds>(local_now())), table_(read_table()) {}

  void show();

 private:
  [[nodiscard]] sys_seconds read_from() const;
  [[nodiscard]] schedule::rule read_rule(const std::string& text, const char* option) const;
  [[nodiscard]] schedule::timetable read_table() const;
  [[nodiscard]] schedule::clock_change_list changes() const;
  void show_text() const;
  void show_json() const;

  const job_line& line_;
  const sys_seconds now_;
  const schedule::timetable table_;
  std::vector<schedule::occurrence> found_{};
  std::optional<schedule::absence> none_{};  // why there is no further one
};

sys_seconds rule_look::read_from() const {
  if (line_.next.from.empty()) return now_;
  const auto read = http::parse_time(line_.next.from);
  if (!read) {
    throw failure(fmt::format(
        "--from: '{}' is no time: write one such as 2027-01-31T08:00:00Z, or with +01:00 behind it", line_.next.from));
  }
  const auto second = std::chrono::floor<std::chrono::seconds>(*read);
  if (second < schedule::earliest || second >= schedule::latest)
    throw failure(fmt::format("--from: '{}' is not within the years 1 to 9999", line_.next.from));
  return second;
}

schedule::rule rule_look::read_rule(const std::string& text, const char* option) const {
  schedule::rule_options how;
  how.cron = *schedule::dialect_named(line_.next.dialect);
  how.anchor = read_from();
  auto read = schedule::rule::parse(text, how);
  if (!read) throw failure(fmt::format("{}'{}': {}", option, text, read.error().message()));
  return *std::move(read);
}

schedule::timetable rule_look::read_table() const {
  const rule_line& asked = line_.next;
  check_choice("--dialect", asked.dialect, {"vixie", "seconds", "quartz", "eventbridge"});
  check_choice("--gap", asked.gap, {"shift", "skip"});
  check_choice("--overlap", asked.overlap, {"first", "last", "both"});
  schedule::timetable_options options;
  auto where = schedule::zone_directory().find(asked.zone);
  if (!where) throw failure("--zone: " + where.error());
  options.where = *std::move(where);
  for (const std::string& each : asked.rules) options.rules.push_back(read_rule(each, ""));
  for (const std::string& each : asked.excluded) {
    const auto day = schedule::date_of(each);
    if (day)
      options.excluded_dates.push_back(*day);
    else if (is_shaped_as_date(each))
      throw failure(fmt::format("--exclude: there is no day {}: name one of the calendar", each));
    else
      options.exclusions.push_back(read_rule(each, "--exclude "));
  }
  if (asked.gap == "skip") options.gap = schedule::gap_policy::skip;
  if (asked.overlap == "last") options.overlap = schedule::overlap_policy::last;
  if (asked.overlap == "both") options.overlap = schedule::overlap_policy::both;
  auto made = schedule::timetable::make(std::move(options));
  if (!made) throw failure(made.error());
  return *std::move(made);
}

schedule::clock_change_list rule_look::changes() const {
  if (found_.empty()) return {};
  const sys_seconds first = std::min(found_.front().at, found_.back().at);
  const sys_seconds last = std::max(found_.front().at, found_.back().at);
  return table_.clock_changes(first - std::chrono::days(1), std::max(last + std::chrono::days(1), first + told_ahead),
                              most_changes);
}

void rule_look::show() {
  const sys_seconds from = read_from();
  sys_seconds at = from;
  while (found_.size() < line_.count) {
    auto found = line_.next.is_backwards ? table_.previous(at) : table_.next(at);
    if (!found) {
      none_ = found.error();
      break;
    }
    at = found->at;
    found_.push_back(*std::move(found));
  }
  for (const std::string& each : table_.warnings()) report(each);
  if (line_.as_json)
    show_json();
  else
    show_text();
  if (!found_.empty()) return;
  const char* const beyond = line_.next.is_backwards ? "before" : "after";
  throw failure(
      none_ == schedule::absence::given_up
          ? fmt::format("none found {} {}: too many times in a row are excluded", beyond, schedule::text_of(from))
          : fmt::format("never {} {}: there is no such time within 400 years", beyond, schedule::text_of(from)),
      exit_code::bad_input);
}

void rule_look::show_text() const {
  std::string text = table_.words() + "\n";
  text_table times({{"DAY"}, {"LOCAL TIME"}, {"ZONE"}, {"UTC"}, {"WHEN"}, {"NOTE", false, 80}});
  for (const schedule::occurrence& each : found_) {
    const std::string when = line_.next.from.empty() ? time_words(each.at, now_) : "";
    times.add({weekday_of(each.local()), date_and_time(each.local()),
               fmt::format("{} {}", each.abbreviation, offset_text(each.offset)), schedule::text_of(each.at), when,
               note_of(each)});
  }
  if (!times.empty()) text += times.text();
  if (!found_.empty() && none_ == schedule::absence::given_up)
    text += "no more found: too many times in a row are excluded\n";
  else if (!found_.empty() && none_)
    text += line_.next.is_backwards ? "none before\n" : "then never\n";
  const schedule::clock_change_list changed = changes();
  for (const auto& each : changed.changes) text += change_text(each, table_);
  if (changed.is_cut) text += "there may be more changes of clocks, which are not shown\n";
  if (const std::string& version = table_.options().where.version(); !version.empty())
    text += fmt::format("by the data of time zones {}\n", version);
  print(text);
}

void rule_look::show_json() const {
  ordered_json answer = ordered_json::object();
  answer["words"] = table_.words();
  answer["zone"] = table_.options().where.name();
  answer["zone_data"] = table_.options().where.version();
  answer["warnings"] = table_.warnings();
  answer["times"] = ordered_json::array();
  for (const schedule::occurrence& each : found_) {
    ordered_json one = ordered_json::object();
    one["at"] = schedule::text_of(each.at);
    one["local"] = schedule::text_of(each.local());
    one["nominal"] = schedule::text_of(each.nominal);
    one["offset"] = offset_text(each.offset);
    one["abbreviation"] = each.abbreviation;
    one["pass"] = name_of(each.pass);
    one["shifted"] = each.is_shifted;
    answer["times"].push_back(std::move(one));
  }
  answer["complete"] = none_ == schedule::absence::never;
  answer["clock_changes"] = ordered_json::array();
  const schedule::clock_change_list changed = changes();
  for (const auto& each : changed.changes) {
    ordered_json one = ordered_json::object();
    one["at"] = schedule::text_of(each.at);
    one["from"] = schedule::text_of(each.from());
    one["to"] = schedule::text_of(each.to());
    one["rule"] = table_.options().rules[each.rule].text();
    one["effect"] = name_of(each.effect);
    one["first"] = schedule::text_of(each.first);
    one["times"] = each.times;
    answer["clock_changes"].push_back(std::move(one));
  }
  answer["clock_changes_cut"] = changed.is_cut;
  print(json_line(answer));
}

}  // namespace

void show_rule_times(const job_line& line) { rule_look(line).show(); }

}  // namespace foliot::program::terminal
