// The policies of the tubes of a server: lists of them, and what one says and shall say.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
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

constexpr std::uint64_t most_policies_in_page = 100;

/// A member of a policy, an object; null if there is none.
const ordered_json& part_of(const ordered_json& object, const char* name) {
  static const ordered_json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

/// A number, a text or a flag; `otherwise` if it is none of them.
std::string word_in(const ordered_json& object, const char* name, std::string_view otherwise) {
  const ordered_json& value = part_of(object, name);
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number() || value.is_boolean()) return value.dump();
  return std::string(otherwise);
}

/// "10s", "1s, 10s, 1m", or "10s, times 2, at most 1h, jitter 0.1".
std::string delay_words(const ordered_json& policy) {
  const ordered_json& delay = part_of(policy, "delay");
  const ordered_json& listed = delay.is_array() ? delay : part_of(delay, "listed");
  std::string all;
  if (listed.is_array()) {
    for (const ordered_json& each : listed) {
      if (each.is_string()) all += (all.empty() ? "" : ", ") + each.get<std::string>();
    }
  } else {
    all = delay.is_object() ? text_in(delay, "first") : word_in(policy, "delay", "0s");
  }
  const std::string factor = word_in(delay, "factor", "");
  const std::string most = word_in(delay, "most", "");
  const std::string jitter = word_in(delay, "jitter", "");
  if (!factor.empty()) all += ", times " + factor;
  if (!most.empty()) all += ", at most " + most;
  if (!jitter.empty()) all += ", jitter " + jitter;
  return all;
}

void add_policy(text_table& to, const ordered_json& entry) {
  const ordered_json& policy = part_of(entry, "policy");
  to.add({text_in(entry, "tube"), word_in(policy, "tries", "any"), delay_words(policy),
          word_in(policy, "dead_letters", ""), word_in(policy, "expires", ""), word_in(policy, "most_reserved", ""),
          word_in(policy, "most_reserved_of_group", ""), word_in(policy, "most_per_second", ""),
          text_in(entry, "fault")});
}

void add_member(std::string& to, std::string_view name, std::string_view value) {
  if (!value.empty()) fmt::format_to(std::back_inserter(to), "  {:<24}{}\n", name, printable(value));
}

std::string policy_text(const ordered_json& one, const time_style& style) {
  const ordered_json& policy = part_of(one, "policy");
  std::string text = fmt::format("policy of tube {}\n", printable(text_in(one, "tube")));
  add_member(text, "fault", text_in(one, "fault"));
  add_member(text, "tries", word_in(policy, "tries", "any number"));
  add_member(text, "a release counts", word_in(policy, "counts_releases", "true"));
  add_member(text, "a timeout counts", word_in(policy, "counts_timeouts", "true"));
  add_member(text, "delay", delay_words(policy));
  add_member(text, "dead letters", word_in(policy, "dead_letters", "buried in the tube"));
  add_member(text, "expires", word_in(policy, "expires", "never"));
  add_member(text, "most reserved", word_in(policy, "most_reserved", "any number"));
  add_member(text, "most reserved of group", word_in(policy, "most_reserved_of_group", "any number"));
  add_member(text, "most per second", word_in(policy, "most_per_second", "any number"));
  add_member(text, "burst", word_in(policy, "burst", ""));
  const std::string changed = text_in(one, "changed");
  const auto when = http::parse_time(changed);
  add_member(text, "changed", when && !style.is_exact ? time_words(*when, style.now) : changed);
  add_member(text, "version", text_in(one, "version"));
  return text;
}

/// A number where the text is one; else the text, which the server then refuses with what would be right.
ordered_json value_of_text(const std::string& text) {
  const char* const end = text.data() + text.size();
  std::uint64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole); read.ec == std::errc() && read.ptr == end)
    return whole;
  double number = 0;
  if (const auto read = std::from_chars(text.data(), end, number); read.ec == std::errc() && read.ptr == end)
    return number;
  return text;
}

bool asks_for_delay(const policy_line& asked) {
  return !(asked.delays.empty() && asked.factor.empty() && asked.most_delay.empty() && asked.jitter.empty());
}

/// Whether the line asks for a change of any member.
bool asks_for_change(const policy_line& asked) {
  const bool has_text = !(asked.tries.empty() && asked.most_reserved.empty() && asked.most_of_group.empty() &&
                          asked.most_per_second.empty() && asked.burst.empty() && asked.expires.empty());
  return has_text || asks_for_delay(asked) || asked.dead_letters || asked.counts_releases || asked.counts_timeouts;
}

/// The delay as the line asks for it: what it does not name stays as it was in this one, which may be null.
ordered_json delay_of(const policy_line& asked, const ordered_json& before) {
  ordered_json made = ordered_json::object();
  if (before.is_object()) made = before;
  if (before.is_array()) made["listed"] = before;
  if (before.is_string() || before.is_number()) made["first"] = before;
  if (asked.delays.empty() && made.empty()) throw failure("--factor, --most-delay and --jitter belong to --delay");
  if (asked.delays.size() > 1) {
    for (const char* const of_rule : {"first", "factor", "most"}) made.erase(of_rule);
    made["listed"] = asked.delays;
  }
  if (asked.delays.size() == 1) {
    made.erase("listed");
    made["first"] = asked.delays.front();
  }
  if (!asked.factor.empty()) made["factor"] = value_of_text(asked.factor);
  if (!asked.most_delay.empty()) made["most"] = asked.most_delay;
  if (!asked.jitter.empty()) made["jitter"] = value_of_text(asked.jitter);
  return made;
}

/// Changes the members for which the line asks. A member that needs one which is taken away goes with it.
void change_members(ordered_json& policy, const policy_line& asked) {
  if (asks_for_delay(asked)) policy["delay"] = delay_of(asked, part_of(policy, "delay"));
  for (const auto& [name, value] :
       {std::pair<const char*, const std::string&>("tries", asked.tries),
        std::pair<const char*, const std::string&>("most_reserved", asked.most_reserved),
        std::pair<const char*, const std::string&>("most_reserved_of_group", asked.most_of_group),
        std::pair<const char*, const std::string&>("most_per_second", asked.most_per_second)}) {
    if (!value.empty()) policy[name] = value_of_text(value);
  }
  if (asked.most_per_second == "0") policy.erase("burst");
  if (!asked.burst.empty()) policy["burst"] = value_of_text(asked.burst);
  if (!asked.expires.empty()) policy["expires"] = asked.expires;
  if (asked.tries == "0") policy.erase("dead_letters");
  if (asked.dead_letters) policy["dead_letters"] = *asked.dead_letters;
  if (asked.counts_releases) policy["counts_releases"] = *asked.counts_releases;
  if (asked.counts_timeouts) policy["counts_timeouts"] = *asked.counts_timeouts;
}

api_request about_policy_of(const std::string& tube, std::string method) {
  return {.method = std::move(method), .path = "/v1/policy", .query = {{"tube", tube}}};
}

void show_policy_change(const job_line& line, api_client& server, const api_request& what) {
  const ordered_json done = value_of(server.ask(what), server);
  if (text_in(done, "outcome").empty()) throw none_of_ours(server.at(), "has no 'outcome'");
  if (line.as_json) return print(json_line(done));
  print(fmt::format("policy of tube {}: {}\n", printable(text_in(done, "tube")), printable(text_in(done, "outcome"))));
}

/// Changes members of the policy that there is, if nobody else changes it meanwhile.
void set_policy(const job_line& line, api_client& server) {
  const std::string& tube = line.policy.tube;
  const api_answer before = server.ask(about_policy_of(tube, "GET"));
  const bool is_new = before.status == 404;
  ordered_json policy = ordered_json::object();
  api_request put = about_policy_of(tube, "PUT");
  if (!is_new) {
    const ordered_json seen = value_of(before, server);
    if (!text_in(seen, "fault").empty())
      throw failure(fmt::format("the policy of tube {} cannot be read, so none of it can be kept: --clear it first",
                                printable(tube)));
    if (!part_of(seen, "hidden").is_null() && !line.policy.dead_letters)
      throw failure(
          fmt::format("the dead letters of tube {} are out of your rights, and a change would lose them: name "
                      "others with --dead-letters, or have it changed by who may use both tubes",
                      printable(tube)));
    if (part_of(seen, "policy").is_object()) policy = part_of(seen, "policy");
    put.fields.emplace_back("If-Match", fmt::format("\"{}\"", text_in(seen, "version")));
  } else {
    put.fields.emplace_back("If-None-Match", "*");
  }
  change_members(policy, line.policy);
  put.body = policy.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
  put.content_type = "application/json";
  show_policy_change(line, server, put);
}

}  // namespace

void list_policies(const job_line& line, api_client& server) {
  text_table table({{"TUBE"},
                    {"TRIES"},
                    {"DELAY"},
                    {"DEAD LETTERS"},
                    {"EXPIRES"},
                    {"RESERVED"},
                    {"OF GROUP"},
                    {"PER SECOND"},
                    {"FAULT", false, 80}});
  std::uint64_t shown = 0;
  std::string cursor;
  do {
    api_request what{.path = "/v1/policies", .query = {}};
    if (line.filter.prefix) what.query.emplace_back("prefix", *line.filter.prefix);
    what.query.emplace_back("count", std::to_string(std::min(line.count - shown, most_policies_in_page)));
    if (!cursor.empty()) what.query.emplace_back("cursor", cursor);
    const ordered_json page = value_of(server.ask(what), server);
    const ordered_json& entries = part_of(page, "policies");
    if (!entries.is_array()) throw none_of_ours(server.at(), "has no 'policies'");
    for (const ordered_json& each : entries) {
      if (line.as_json)
        print(json_line(each));
      else
        add_policy(table, each);
      ++shown;
    }
    cursor = text_in(page, "next");
  } while (!cursor.empty() && shown < line.count);
  if (!line.as_json && !table.empty()) print(table.text());
  if (!cursor.empty()) report(fmt::format("more follow than these {}: --count shows more", shown));
  if (shown == 0 && !line.as_json) report("no tube has a policy");
}

void about_policy(const job_line& line, api_client& server) {
  const policy_line& asked = line.policy;
  const bool changes = asks_for_change(asked);
  if (changes && asked.clears) throw failure("--clear takes the whole policy away: name no members beside it");
  if (asked.clears) return show_policy_change(line, server, about_policy_of(asked.tube, "DELETE"));
  if (changes) return set_policy(line, server);
  const api_answer answer = server.ask(about_policy_of(asked.tube, "GET"));
  const ordered_json value = value_of(answer, server);
  if (text_in(value, "tube").empty()) throw none_of_ours(server.at(), "has no 'tube'");
  print(line.as_json ? json_line(value) : policy_text(value, {answer.now, line.is_exact}));
}

}  // namespace foliot::program::terminal
