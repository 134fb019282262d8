#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "job/api_client.hpp"
#include "job/job_line.hpp"
#include "job/job_text.hpp"
#include "job/problems.hpp"
#include "job/requests.hpp"
#include "job/rule_times.hpp"
#include "job/time_words.hpp"
#include "output_file.hpp"
#include "report.hpp"
#include "text/failure.hpp"
#include "text/nearest.hpp"
#include "text/printable.hpp"

namespace foliot::program::terminal {

namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t most_in_page = 1000;
/// Of so many tubes the one with the nearest name is suggested, where a tube has no jobs.
constexpr std::uint64_t names_looked_at = 1000;

bool is_empty(const ordered_json& tube) {
  if (!tube.is_object() || tube.contains("paused_until")) return false;
  return std::ranges::all_of(std::initializer_list<const char*>{"ready", "delayed", "reserved", "buried"},
                             [&tube](const char* name) { return number_in(tube, name) == 0; });
}

/// "; tube 'mial' has no jobs: the nearest that has some is 'mail'", if the tube has no jobs. Empty where the access
/// token does not allow to look.
std::string about_tube(const std::string& tube, api_client& at) {
  try {
    if (!is_empty(value_of(at.ask({.path = "/v1/tube", .query = {{"tube", tube}}}), at))) return {};
    std::vector<std::string> names;
    const ordered_json page =
        value_of(at.ask({.path = "/v1/tubes", .query = {{"count", std::to_string(names_looked_at)}}}), at);
    if (const auto tubes = page.find("tubes"); tubes != page.end() && tubes->is_array()) {
      for (const ordered_json& each : *tubes) names.push_back(text_in(each, "tube"));
    }
    const auto meant = nearest(tube, names);
    return fmt::format("tube '{}' has no jobs{}", tube,
                       meant ? fmt::format(": the nearest that has some is '{}'", *meant) : "");
  } catch (const failure&) {
    return {};
  }
}

class job_run {
 public:
  explicit job_run(const job_line& line) : line_(line), server_(line.access) {}

  void run();

 private:
  void put();
  void get();
  void list();
  void why();
  void change(const api_request& what);
  void move();
  void kick();
  void reserve();
  void settle(std::string_view what);

  /// The answer about the line's job, which is a success. Throws failure: where there is no such job, it names a tube
  /// that is near.
  [[nodiscard]] api_answer ask_about_job(const api_request& what);
  /// Shows pages of a list, as many entries as the line wants, and returns how many there were.
  std::uint64_t show_pages(api_request what, const char* member, text_table& table,
                           void (*add)(text_table&, const ordered_json&, const time_style&));
  void show_done(const ordered_json& done);
  /// Throws failure if the answer does not have this text, which each of a foliot server has.
  void expect(const ordered_json& answer, const char* member) const {
    if (text_in(answer, member).empty()) throw none_of_ours(server_.at(), fmt::format("has no '{}'", member));
  }
  [[nodiscard]] time_style style(jobs::utc_time now) const { return {now, line_.is_exact}; }

  const job_line& line_;
  api_client server_;
};

void job_run::run() {
  const bool is_many = line_.job.empty() && line_.filter.is_given();
  if (!line_.job.empty() && line_.filter.is_given())
    throw failure("a job and a filter are given: name one job, or those that a filter fits");
  switch (line_.what) {
    case job_command::put: return put();
    case job_command::get: return get();
    case job_command::why: return why();
    case job_command::list:
    case job_command::tubes: return list();
    case job_command::cancel: return is_many ? change_many(line_, server_) : change(about_job(line_, "DELETE"));
    case job_command::move: return is_many ? change_many(line_, server_) : move();
    case job_command::fire: return is_many ? change_many(line_, server_) : change(about_job(line_, "POST", "/fire"));
    case job_command::kick: return is_many ? change_many(line_, server_) : kick();
    case job_command::reserve: return reserve();
    case job_command::finish: return settle("finish");
    case job_command::release: return settle("release");
    case job_command::touch: return settle("touch");
    case job_command::bury: return settle("bury");
    case job_command::watch: return watch_events(line_, server_);
    case job_command::schedules: return list_schedules(line_, server_);
    case job_command::schedule: return about_schedule(line_, server_);
    case job_command::policies: return list_policies(line_, server_);
    case job_command::policy: return about_policy(line_, server_);
    case job_command::webhooks: return list_webhooks(line_, server_);
    case job_command::webhook: return about_webhook(line_, server_);
    case job_command::next: break;  // asks no server
  }
}

void job_run::move() {
  api_request moving = about_job(line_, "POST", "/reschedule");
  for (auto& each : due_of(line_, true)) moving.query.push_back(std::move(each));
  change(moving);
}

api_answer job_run::ask_about_job(const api_request& what) {
  api_answer answer = server_.ask(what);
  if (answer.is_success()) return answer;
  const failure refused = refused_by(answer, server_);
  const bool is_missing = answer.status == 404 && line_.job.size() == 2;
  const std::string more = is_missing ? about_tube(line_.job[0], server_) : std::string();
  throw failure(more.empty() ? refused.what() : fmt::format("{}; {}", refused.what(), more), refused.code());
}

void job_run::show_done(const ordered_json& done) {
  expect(done, "outcome");
  if (line_.as_json) return print(json_line(done));
  const std::string until = text_in(done, "reserved_until");
  const std::string id = text_in(done, "id");
  print(fmt::format("{}: {}{}\n", id.empty() ? "reservation" : "job " + printable(id),
                    printable(text_in(done, "outcome")),
                    until.empty() ? "" : fmt::format(", reserved until {}", printable(until))));
}

void job_run::put() { show_done(value_of(server_.ask(put_request(line_)), server_)); }

void job_run::get() {
  const api_answer answer = ask_about_job(about_job(line_, "GET"));
  const ordered_json found = json_of(answer, server_.at());
  expect(found, "id");
  show_job(line_, found, answer.now);
}

void job_run::why() {
  const api_answer answer = ask_about_job(about_job(line_, "GET", "/why"));
  const ordered_json value = json_of(answer, server_.at());
  expect(value, "waits");
  print(line_.as_json ? json_line(value) : why_text(value, style(answer.now)));
}

void job_run::change(const api_request& what) { show_done(json_of(ask_about_job(what), server_.at())); }

void job_run::kick() {
  ordered_json named = {{"id", line_.job.empty() ? "" : line_.job[0]}};
  api_request what = about_job(line_, "GET");
  if (line_.job.size() == 2) {  // the interface kicks by id
    what.query.emplace_back("with_body", "false");
    named = json_of(ask_about_job(what), server_.at());
    expect(named, "id");
  }
  change({.method = "POST", .path = fmt::format("/v1/jobs/{}/kick", percent_encoded(text_in(named, "id")))});
}

std::uint64_t job_run::show_pages(api_request what, const char* member, text_table& table,
                                  void (*add)(text_table&, const ordered_json&, const time_style&)) {
  const names_and_values query = what.query;
  std::uint64_t shown = 0;
  for (std::string cursor;;) {
    what.query = query;
    const std::uint64_t left = line_.count - shown;
    what.query.emplace_back("count", std::to_string(std::min(left, most_in_page)));
    if (!cursor.empty()) what.query.emplace_back("cursor", cursor);
    const api_answer answer = server_.ask(what);
    const ordered_json page = value_of(answer, server_);
    const auto entries = page.find(member);
    if (entries == page.end() || !entries->is_array())
      throw none_of_ours(server_.at(), fmt::format("has no '{}'", member));
    std::string lines;
    for (const ordered_json& each : *entries) {
      if (line_.as_json)
        lines += json_line(each);
      else
        add(table, each, style(answer.now));
      ++shown;
    }
    if (!lines.empty()) print(lines);
    cursor = text_in(page, "next");
    if (!cursor.empty() && shown < line_.count) continue;
    if (!line_.as_json && !table.empty()) print(table.text());
    if (!cursor.empty()) report(fmt::format("more follow than these {}: --count shows more", shown));
    return shown;
  }
}

void job_run::list() {
  std::uint64_t shown = 0;
  const job_filter& which = line_.filter;
  if (line_.what == job_command::tubes) {
    text_table table = tubes_table();
    shown = show_pages({.path = "/v1/tubes", .query = listed_by(which)}, "tubes", table, &add_tube);
  } else if (line_.is_due_next && !which.tube) {
    text_table table = due_table();
    shown = show_pages({.path = "/v1/due", .query = listed_by(which)}, "jobs", table, &add_due);
  } else {
    job_filter asked = which;
    if (line_.is_due_next) asked.state = "delayed";
    text_table table = jobs_table();
    shown = show_pages({.path = "/v1/jobs", .query = listed_by(asked)}, "jobs", table, &add_job);
  }
  if (shown > 0) return;
  if (which.tube) {
    if (const std::string none = about_tube(*which.tube, server_); !none.empty())
      throw failure(none, exit_code::bad_input);
  }
  if (!line_.as_json)
    report(line_.what == job_command::tubes ? "there are no tubes with jobs" : "there are no such jobs");
}

void job_run::reserve() {
  ordered_json wanted = ordered_json::object();
  wanted["tubes"] = line_.tubes;
  wanted["count"] = std::max<std::uint64_t>(line_.count, 1);
  if (!line_.timeout.empty()) wanted["timeout"] = line_.timeout;
  const api_answer answer = server_.ask({.method = "POST",
                                         .path = "/v1/reserve",
                                         .body = wanted.dump(-1, ' ', true, ordered_json::error_handler_t::replace),
                                         .content_type = "application/json",
                                         .waits = true});
  const ordered_json value = value_of(answer, server_);
  const auto got = value.find("jobs");
  if (got == value.end() || !got->is_array()) throw none_of_ours(server_.at(), "has no 'jobs'");
  if (got->empty()) throw failure("no job was ready within the time", exit_code::bad_input);
  expect(got->front(), "reservation");
  std::string text;
  for (const ordered_json& each : *got) text += line_.as_json ? json_line(each) : job_text(each, style(answer.now));
  if (!line_.as_json) {
    text += fmt::format("say what becomes of it: 'foliot job finish {}', or release, touch or bury\n",
                        printable(text_in(got->front(), "reservation")));
  }
  print(text);
}

void job_run::settle(std::string_view what) {
  api_request made{.method = "POST",
                   .path = fmt::format("/v1/reservations/{}/{}", percent_encoded(line_.reservation), what)};
  if (line_.what == job_command::release) made.query = due_of(line_, false);
  if (!line_.priority.empty()) made.query.emplace_back("priority", line_.priority);
  if (!line_.reason.empty()) made.query.emplace_back("reason", line_.reason);
  show_done(value_of(server_.ask(made), server_));
}

}  // namespace

void run_job(const job_line& line) {
  if (line.what == job_command::next) return show_rule_times(line);
  if (!line.folder.empty()) return look_into_folder(line);
  job_run(line).run();
}

}  // namespace foliot::program::terminal
