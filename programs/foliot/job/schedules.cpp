// The schedules of a server: lists of them, and what one does next and has done.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "job/api_client.hpp"
#include "job/job_line.hpp"
#include "job/job_text.hpp"
#include "job/problems.hpp"
#include "job/text_table.hpp"
#include "job/time_words.hpp"
#include "output_file.hpp"
#include "report.hpp"
#include "server/http/times.hpp"
#include "text/failure.hpp"
#include "text/printable.hpp"

namespace foliot::program::terminal {

namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t most_schedules_in_page = 100;

/// A member that is an object or an array; null if there is none.
const ordered_json& member_in(const ordered_json& object, const char* name) {
  static const ordered_json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

std::string in_words(const ordered_json& object, const char* name, const time_style& style) {
  std::string text = text_in(object, name);
  const auto when = http::parse_time(text);
  return when && !style.is_exact ? time_words(*when, style.now) : text;
}

/// "2026-11-29 09:00", with seconds only if there are some.
std::string clock_text(std::string local) {
  if (local.size() != std::string_view("2026-11-29T09:00:00").size()) return local;
  local[10] = ' ';
  if (local.ends_with(":00")) local.resize(local.size() - 3);
  return local;
}

std::string note_on(const ordered_json& upcoming) {
  if (member_in(upcoming, "skipped") == true) return "will be skipped";
  if (member_in(upcoming, "paused") == true) return "paused";
  if (member_in(upcoming, "shifted") == true)
    return fmt::format("moved from {}, which the clock leaves out", clock_text(text_in(upcoming, "nominal")));
  const std::string pass = text_in(upcoming, "pass");
  return pass == "first"    ? "the clock shows it again later"
         : pass == "second" ? "the clock shows it for the second time"
                            : "";
}

std::string joined_rules(const ordered_json& entry) {
  std::string all;
  const ordered_json& rules = member_in(entry, "rules");
  if (!rules.is_array()) return all;
  for (const ordered_json& each : rules) {
    if (each.is_string()) all += (all.empty() ? "" : "; ") + each.get<std::string>();
  }
  return all;
}

void add_named(std::string& to, std::string_view name, std::string_view value) {
  if (!value.empty()) fmt::format_to(std::back_inserter(to), "  {:<16}{}\n", name, printable(value));
}

void add_schedule(text_table& to, const ordered_json& entry, const time_style& style) {
  const ordered_json& next = member_in(entry, "next");
  const ordered_json& last = member_in(entry, "last");
  to.add({text_in(entry, "tube"), text_in(entry, "name"), text_in(entry, "state"), in_words(next, "at", style),
          clock_text(text_in(next, "nominal")), text_in(entry, "zone"), joined_rules(entry), text_in(last, "outcome")});
}

std::string pause_words(const ordered_json& pause, const time_style& style) {
  if (!pause.is_object()) return {};
  const std::string until = text_in(pause, "until");
  const std::string note = text_in(pause, "note");
  const std::string by = text_in(pause, "by");
  return fmt::format("since {}{}{}{}", in_words(pause, "since", style), until.empty() ? "" : ", until " + until,
                     by.empty() ? "" : ", by " + by, note.empty() ? "" : ": " + note);
}

std::string schedule_text(const ordered_json& one, const time_style& style) {
  std::string text =
      fmt::format("schedule {} of tube {}\n", printable(text_in(one, "name")), printable(text_in(one, "tube")));
  add_named(text, "state", text_in(one, "state"));
  add_named(text, "refused", text_in(one, "refused"));
  add_named(text, "ended", text_in(one, "ended"));
  add_named(text, "paused", pause_words(member_in(one, "pause"), style));
  add_named(text, "rules", text_in(one, "words"));
  add_named(text, "note", text_in(member_in(one, "plan"), "note"));
  add_named(text, "made", in_words(one, "made", style));
  add_named(text, "changed", in_words(one, "changed", style));
  const ordered_json& next = member_in(one, "next");
  text_table upcoming({{"NEXT"}, {"LOCAL TIME"}, {"ZONE"}, {"UTC"}, {"NOTE", false, 80}});
  if (next.is_array()) {
    for (const ordered_json& each : next) {
      upcoming.add({in_words(each, "at", style), clock_text(text_in(each, "local")),
                    text_in(each, "abbreviation") + " " + text_in(each, "offset"), text_in(each, "at"), note_on(each)});
    }
  }
  if (!upcoming.empty()) text += upcoming.text();
  const ordered_json& last = member_in(one, "last");
  text_table past({{"LAST"}, {"UTC"}, {"REASON"}, {"OUTCOME"}});
  if (last.is_array()) {
    for (const ordered_json& each : last) {
      past.add({in_words(each, "at", style), text_in(each, "at"), text_in(each, "reason"), text_in(each, "outcome")});
    }
  }
  if (!past.empty()) text += past.text();
  return text;
}

/// The request that the line asks for, behind the path of the schedule.
std::string change_of(const schedule_line& asked) {
  const int count = int{asked.pauses} + int{asked.resumes} + int{asked.skips} + int{asked.runs};
  if (count > 1) throw failure("--pause, --resume, --skip and --run exclude each other");
  if (!asked.pauses && !(asked.note.empty() && asked.until.empty()))
    throw failure("--note and --until belong to --pause");
  if (!asked.skips && !asked.at.empty()) throw failure("--at belongs to --skip");
  if (asked.pauses) return "/pause";
  if (asked.resumes) return "/resume";
  if (asked.skips) return "/skip";
  return asked.runs ? "/run" : "";
}

}  // namespace

void list_schedules(const job_line& line, api_client& server) {
  text_table table({{"TUBE"}, {"NAME"}, {"STATE"}, {"NEXT"}, {"LOCAL TIME"}, {"ZONE"}, {"RULES"}, {"LAST"}});
  std::uint64_t shown = 0;
  std::string cursor;
  do {
    api_request what{.path = "/v1/schedules", .query = {}};
    if (!line.schedule.tube.empty()) what.query.emplace_back("tube", line.schedule.tube);
    if (line.filter.prefix) what.query.emplace_back("prefix", *line.filter.prefix);
    what.query.emplace_back("count", std::to_string(std::min(line.count - shown, most_schedules_in_page)));
    if (!cursor.empty()) what.query.emplace_back("cursor", cursor);
    const api_answer answer = server.ask(what);
    const ordered_json page = value_of(answer, server);
    const ordered_json& entries = member_in(page, "schedules");
    if (!entries.is_array()) throw none_of_ours(server.at(), "has no 'schedules'");
    for (const ordered_json& each : entries) {
      if (line.as_json)
        print(json_line(each));
      else
        add_schedule(table, each, {answer.now, line.is_exact});
      ++shown;
    }
    cursor = text_in(page, "next");
  } while (!cursor.empty() && shown < line.count);
  if (!line.as_json && !table.empty()) print(table.text());
  if (!cursor.empty()) report(fmt::format("more follow than these {}: --count shows more", shown));
  if (shown == 0 && !line.as_json) report("there are no such schedules");
}

void about_schedule(const job_line& line, api_client& server) {
  const schedule_line& asked = line.schedule;
  const std::string change = change_of(asked);
  api_request what{.method = change.empty() ? "GET" : "POST",
                   .path = "/v1/schedule" + change,
                   .query = {{"tube", asked.tube}, {"name", asked.name}}};
  for (const auto& [name, value] : {std::pair<const char*, const std::string&>("note", asked.note),
                                    std::pair<const char*, const std::string&>("until", asked.until),
                                    std::pair<const char*, const std::string&>("at", asked.at)}) {
    if (!value.empty()) what.query.emplace_back(name, value);
  }
  const api_answer answer = server.ask(what);
  const ordered_json value = value_of(answer, server);
  if (text_in(value, "name").empty()) throw none_of_ours(server.at(), "has no 'name'");
  if (line.as_json) return print(json_line(value));
  if (change.empty()) return print(schedule_text(value, {answer.now, line.is_exact}));
  const std::string at = text_in(value, "at");
  const std::string key = text_in(value, "key");
  print(fmt::format("schedule {} of tube {}: {}{}{}\n", printable(text_in(value, "name")),
                    printable(text_in(value, "tube")), printable(text_in(value, "outcome")),
                    at.empty() ? "" : ", " + printable(at), key.empty() ? "" : ", job " + printable(key)));
}

}  // namespace foliot::program::terminal
