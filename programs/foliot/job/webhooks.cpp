// The targets of tubes of a server: a list of them, and how the deliveries of one go.
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

/// A member that is an object or an array; null if there is none.
const ordered_json& part_of(const ordered_json& object, const char* name) {
  static const ordered_json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

std::string when_in_words(const ordered_json& object, const char* name, const time_style& style) {
  std::string text = text_in(object, name);
  const auto when = http::parse_time(text);
  return when && !style.is_exact ? time_words(*when, style.now) : text;
}

/// A number, or nothing.
std::string count_in(const ordered_json& object, const char* name) {
  const ordered_json& number = part_of(object, name);
  return number.is_number_unsigned() || number.is_number_integer() ? number.dump() : std::string();
}

void add_line(std::string& to, std::string_view name, std::string_view value) {
  if (!value.empty()) to += fmt::format("  {:<16}{}\n", name, printable(value));
}

void add_webhook(text_table& to, const ordered_json& entry) {
  const ordered_json& how = part_of(entry, "deliveries");
  to.add({text_in(entry, "tube"), text_in(entry, "state"), text_in(how, "circuit"), count_in(how, "under_way"),
          count_in(how, "delivered"), count_in(how, "failed"), count_in(how, "buried"),
          text_in(part_of(entry, "target"), "url"), text_in(entry, "reason")});
}

std::string webhook_text(const ordered_json& one, const time_style& style) {
  std::string text = fmt::format("target of tube {}\n", printable(text_in(one, "tube")));
  const ordered_json& plan = part_of(one, "target");
  const ordered_json& how = part_of(one, "deliveries");
  add_line(text, "state", text_in(one, "state"));
  add_line(text, "reason", text_in(one, "reason"));
  add_line(text, "since", when_in_words(one, "since", style));
  add_line(text, "by", text_in(one, "by"));
  add_line(text, "url", text_in(plan, "url"));
  add_line(text, "secret", text_in(plan, "secret"));
  add_line(text, "time-out", text_in(plan, "time_out"));
  add_line(text, "at once", count_in(plan, "at_once"));
  add_line(text, "tries", count_in(plan, "tries"));
  add_line(text, "circuit", text_in(how, "circuit"));
  add_line(text, "closed until", when_in_words(how, "closed_until", style));
  add_line(text, "held until", when_in_words(how, "held_until", style));
  add_line(text, "under way", count_in(how, "under_way"));
  add_line(text, "delivered", count_in(how, "delivered"));
  add_line(text, "failed", count_in(how, "failed"));
  add_line(text, "buried", count_in(how, "buried"));
  return text;
}

void add_delivery(text_table& to, const ordered_json& one, const time_style& style) {
  to.add({when_in_words(one, "at", style), text_in(one, "job"), text_in(one, "key"), count_in(one, "attempt"),
          text_in(one, "outcome"), count_in(one, "status"), count_in(one, "milliseconds"), text_in(one, "then"),
          text_in(one, "reason")});
}

text_table table_of_deliveries() {
  return text_table({{"WHEN"},
                     {"JOB", true},
                     {"KEY", false, 40},
                     {"TRY", true},
                     {"OUTCOME"},
                     {"STATUS", true},
                     {"MS", true},
                     {"THEN"},
                     {"REASON", false, 80}});
}

api_request request_of_webhook(const webhook_line& asked) {
  const bool puts = !asked.url.empty() || !asked.secret.empty();
  const int count = int{asked.enables} + int{asked.disables} + int{asked.tests} + int{asked.deletes} +
                    int{asked.shows_deliveries} + int{puts};
  if (count > 1) throw failure("--url, --enable, --disable, --test, --delete and --deliveries exclude each other");
  if (puts && (asked.url.empty() || asked.secret.empty())) throw failure("--url and --secret belong together");
  if (!asked.disables && !asked.note.empty()) throw failure("--note belongs to --disable");
  api_request what{.path = "/v1/webhook", .query = {{"tube", asked.tube}}};
  if (puts) {
    what.method = "PUT";
    ordered_json plan = ordered_json::object();
    plan["url"] = asked.url;
    plan["secret"] = asked.secret;
    what.body = plan.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    what.content_type = "application/json";
  }
  if (asked.deletes) what.method = "DELETE";
  if (asked.enables || asked.disables || asked.tests) what.method = "POST";
  if (asked.enables) what.path += "/enable";
  if (asked.disables) what.path += "/disable";
  if (asked.tests) what.path += "/test";
  if (asked.shows_deliveries) what.path += "/deliveries";
  if (!asked.note.empty()) what.query.emplace_back("note", asked.note);
  return what;
}

}  // namespace

void list_webhooks(const job_line& line, api_client& server) {
  api_request what{.path = "/v1/webhooks"};
  if (line.filter.prefix) what.query.emplace_back("prefix", *line.filter.prefix);
  const api_answer answer = server.ask(what);
  const ordered_json all = value_of(answer, server);
  const ordered_json& entries = part_of(all, "webhooks");
  if (!entries.is_array()) throw none_of_ours(server.at(), "has no 'webhooks'");
  text_table table({{"TUBE"},
                    {"STATE"},
                    {"CIRCUIT"},
                    {"UNDER WAY", true},
                    {"DELIVERED", true},
                    {"FAILED", true},
                    {"BURIED", true},
                    {"URL", false, 80},
                    {"REASON", false, 80}});
  for (const ordered_json& each : entries) {
    if (line.as_json)
      print(json_line(each));
    else
      add_webhook(table, each);
  }
  if (!line.as_json && !table.empty()) print(table.text());
  if (entries.empty() && !line.as_json) report("there are no such targets");
}

void about_webhook(const job_line& line, api_client& server) {
  const webhook_line& asked = line.webhook;
  const api_request what = request_of_webhook(asked);
  const api_answer answer = server.ask(what);
  const ordered_json value = value_of(answer, server);
  const time_style style{answer.now, line.is_exact};
  if (asked.shows_deliveries) {
    const ordered_json& all = part_of(value, "deliveries");
    if (!all.is_array()) throw none_of_ours(server.at(), "has no 'deliveries'");
    text_table table = table_of_deliveries();
    for (const ordered_json& each : all) {
      if (line.as_json)
        print(json_line(each));
      else
        add_delivery(table, each, style);
    }
    if (!line.as_json && !table.empty()) print(table.text());
    if (all.empty() && !line.as_json) report("this node has delivered nothing there since its start");
    return;
  }
  if (line.as_json) return print(json_line(value));
  if (asked.tests) {
    text_table table = table_of_deliveries();
    add_delivery(table, value, style);
    return print(table.text());
  }
  if (what.method == "GET") return print(webhook_text(value, style));
  print(
      fmt::format("target of tube {}: {}\n", printable(text_in(value, "tube")), printable(text_in(value, "outcome"))));
}

}  // namespace foliot::program::terminal
