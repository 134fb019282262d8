#include "job/job_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "grouped.hpp"
#include "job/problems.hpp"
#include "job/time_words.hpp"
#include "output_file.hpp"
#include "server/http/json.hpp"
#include "server/http/times.hpp"
#include "text/failure.hpp"
#include "text/printable.hpp"

namespace foliot::program::terminal {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t shown_of_body = 4096;

/// The time of a member: in words, or as it is.
std::string time_in(const ordered_json& object, const char* name, const time_style& style) {
  std::string text = text_in(object, name);
  const auto when = http::parse_time(text);
  if (!when || style.is_exact) return text;
  return time_words(*when, style.now);
}

/// The time of a member, as it is and in words.
std::string full_time_in(const ordered_json& object, const char* name, const time_style& style) {
  std::string text = text_in(object, name);
  const auto when = http::parse_time(text);
  return when ? fmt::format("{} ({})", text, time_words(*when, style.now)) : text;
}

void add_line(std::string& to, std::string_view name, std::string_view value) {
  if (!value.empty()) fmt::format_to(std::back_inserter(to), "  {:<16}{}\n", printable(name), printable(value));
}

void add_body(std::string& to, const ordered_json& job) {
  const bool has_one = job.contains("body") || job.contains("text") || job.contains("base64");
  if (!has_one) return;
  const std::string body = body_of(job);
  const std::string_view seen = std::string_view(body).substr(0, shown_of_body);
  fmt::format_to(std::back_inserter(to), "body, {} {}:\n", grouped(body.size()), body.size() == 1 ? "byte" : "bytes");
  for (std::size_t at = 0; at < seen.size();) {
    const std::size_t end = std::min(seen.find('\n', at), seen.size());
    to += "  " + printable(seen.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  if (seen.size() < body.size())
    fmt::format_to(std::back_inserter(to), "  … and {} more bytes: see --body\n", grouped(body.size() - seen.size()));
}

std::string counters_of(const ordered_json& job) {
  return fmt::format("reserved {}, timeouts {}, released {}, buried {}, kicked {}", number_in(job, "reserves"),
                     number_in(job, "timeouts"), number_in(job, "releases"), number_in(job, "buries"),
                     number_in(job, "kicks"));
}

/// The failed tries: "3 failed", and a line for each of the last ones.
void add_tries(std::string& to, const ordered_json& job, const time_style& style) {
  const auto tries = job.find("tries");
  if (tries == job.end() || !tries->is_object()) return;
  add_line(to, "tries", fmt::format("{} failed", number_in(*tries, "failed")));
  const auto last = tries->find("last");
  if (last == tries->end() || !last->is_array()) return;
  for (const ordered_json& each : *last) {
    const std::string why = text_in(each, "why");
    const std::string worker = text_in(each, "worker");
    const std::string tube = text_in(each, "tube");
    const std::string from = tube.empty() ? "" : fmt::format(" from tube {}, job {}", tube, text_in(each, "id"));
    add_line(to, "",
             fmt::format("{}: {}{}{}{}", full_time_in(each, "when", style), text_in(each, "how"), from,
                         worker.empty() ? "" : " by " + worker, why.empty() ? "" : ": " + why));
  }
}

std::string left_out(const ordered_json& data) {
  if (data.contains("count")) {
    const std::uint64_t count = number_in(data, "count");
    return fmt::format("{} {} left out", grouped(count), count == 1 ? "event was" : "events were");
  }
  if (data.contains("at_most"))
    return fmt::format("at most {} events were left out", grouped(number_in(data, "at_most")));
  return "events may have been left out";
}

std::string line_of(std::string_view name, const ordered_json& data) {
  constexpr std::size_t most = 48;
  std::string more;
  if (name == "missed") {
    more = left_out(data);
  } else {
    const std::string id = text_in(data, "id");
    const std::string key = text_in(data, "key");
    const std::string reason = text_in(data, "reason");
    if (!id.empty()) more += "job " + shortened(id, most);
    if (!key.empty()) more += (more.empty() ? "key '" : " '") + shortened(key, most) + "'";
    if (!reason.empty()) more += (more.empty() ? "" : ": ") + shortened(reason, most);
    if (data.contains("count")) more += fmt::format(", {} jobs", grouped(number_in(data, "count")));
  }
  std::string line = fmt::format("{:<24}  {:<8}  {:<20}  {}", shortened(text_in(data, "at"), most),
                                 shortened(name, most), shortened(text_in(data, "tube"), 200), more);
  line.resize(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string json_line(const ordered_json& value) {
  return value.dump(-1, ' ', true, ordered_json::error_handler_t::replace) + "\n";
}

std::string body_of(const ordered_json& job) {
  if (job.is_object()) {
    if (const auto text = job.find("text"); text != job.end() && text->is_string()) return text->get<std::string>();
    if (const auto body = job.find("body"); body != job.end()) {
      return body->dump(-1, ' ', false, ordered_json::error_handler_t::replace);
    }
    if (const auto bytes = job.find("base64"); bytes != job.end() && bytes->is_string()) {
      if (auto decoded = http::from_base64(bytes->get<std::string>())) return *std::move(decoded);
    }
  }
  throw failure("the answer has no body that can be read");
}

std::string job_text(const ordered_json& job, const time_style& style) {
  std::string text = fmt::format("job {}\n", printable(text_in(job, "id")));
  add_line(text, "tube", text_in(job, "tube"));
  add_line(text, "key", text_in(job, "key"));
  add_line(text, "state", text_in(job, "state"));
  add_line(text, "due", full_time_in(job, "due", style));
  add_line(text, "reserved until", full_time_in(job, "reserved_until", style));
  add_line(text, "held by", text_in(job, "held_by"));
  add_line(text, "node", text_in(job, "node"));
  add_line(text, "reservation", text_in(job, "reservation"));
  add_line(text, "priority", std::to_string(number_in(job, "priority")));
  add_line(text, "ttr", text_in(job, "ttr"));
  add_line(text, "made", full_time_in(job, "made", style));
  add_line(text, "group", text_in(job, "group"));
  add_line(text, "expires", full_time_in(job, "expires", style));
  add_line(text, "times", counters_of(job));
  if (job.is_object()) add_tries(text, job, style);
  add_line(text, "version", text_in(job, "version"));
  add_line(text, "content type", text_in(job, "content_type"));
  if (job.is_object()) {
    if (const auto headers = job.find("headers"); headers != job.end() && headers->is_object()) {
      for (const auto& [name, value] : headers->items()) {
        if (value.is_string()) add_line(text, "header", name + ": " + value.get<std::string>());
      }
    }
    add_body(text, job);
  }
  return text;
}

std::string why_text(const ordered_json& why, const time_style& style) {
  const std::string waits = text_in(why, "waits");
  const std::string until = printable(full_time_in(why, "until", style));
  const std::string id = printable(text_in(why, "id"));
  std::string text =
      fmt::format("job {} of tube '{}' is {}", id, printable(text_in(why, "tube")), printable(text_in(why, "state")));
  if (waits == "due_later") {
    text += fmt::format(": it is due at {}", until);
  } else if (waits == "reserved") {
    const std::string holder = text_in(why, "held_by");
    const std::string node = text_in(why, "node");
    text += fmt::format(": {}{} has it until {}, unless it touches the job",
                        holder.empty() ? "a worker" : printable(holder),
                        node.empty() ? "" : " at node " + printable(node), until);
  } else if (waits == "buried") {
    text += fmt::format(": a worker has set it aside; 'foliot job kick {}' makes it ready", id);
  } else if (waits == "paused") {
    text += fmt::format(", but its tube is paused until {}", until);
  } else if (waits == "has_target") {
    text += ": the server delivers it to the target of its tube; 'foliot job webhook' shows how that goes";
  } else if (waits == "nobody_watches") {
    text += ", but no client of this server watches its tube: start a worker";
  } else if (waits == "no_server") {
    text += ": no server runs on the folder";
  } else if (waits == "next") {
    text += ": the next worker gets it";
  } else if (waits == "others_first") {
    const std::uint64_t ahead = number_in(why, "ahead_at_most");
    text += ahead > 0 ? fmt::format(": other jobs of its tube come first, at most {}", grouped(ahead))
                      : ": other jobs of its tube may come first";
  } else {
    text += fmt::format(", for the reason '{}', which this program does not know", printable(waits));
  }
  return text + "\n";
}

text_table jobs_table() {
  return text_table({{"ID", true},
                     {"TUBE"},
                     {"KEY"},
                     {"STATE"},
                     {"DUE"},
                     {"PRIORITY", true},
                     {"UNTIL"},
                     {"HELD BY"},
                     {"NODE"},
                     {"RESERVATION"}});
}

void add_job(text_table& to, const ordered_json& job, const time_style& style) {
  to.add({text_in(job, "id"), text_in(job, "tube"), text_in(job, "key"), text_in(job, "state"),
          time_in(job, "due", style), std::to_string(number_in(job, "priority")), time_in(job, "reserved_until", style),
          text_in(job, "held_by"), text_in(job, "node"), text_in(job, "reservation")});
}

text_table due_table() { return text_table({{"ID", true}, {"TUBE"}, {"DUE"}, {"AT"}}); }

void add_due(text_table& to, const ordered_json& job, const time_style& style) {
  to.add({text_in(job, "id"), text_in(job, "tube"), time_in(job, "due", {style.now}), text_in(job, "due")});
}

text_table tubes_table() {
  return text_table({{"TUBE", false, 200},
                     {"READY", true},
                     {"DELAYED", true},
                     {"RESERVED", true},
                     {"BURIED", true},
                     {"PAUSED UNTIL"},
                     {"NOTE"}});
}

void add_tube(text_table& to, const ordered_json& tube, const time_style& style) {
  to.add({text_in(tube, "tube"), grouped(number_in(tube, "ready")), grouped(number_in(tube, "delayed")),
          grouped(number_in(tube, "reserved")), grouped(number_in(tube, "buried")),
          time_in(tube, "paused_until", style), tube.contains("at_least") ? "at least" : ""});
}

std::string event_text(std::string_view name, std::string_view id, const std::string& data, bool as_json) {
  ordered_json value = parsed(data).value_or(ordered_json::object());
  if (!as_json) return line_of(name, value);
  ordered_json all = ordered_json::object();
  all["event"] = std::string(name);
  all["id"] = std::string(id);
  all["data"] = std::move(value);
  return json_line(all);
}

void show_job(const job_line& line, const nlohmann::ordered_json& job, jobs::utc_time now) {
  if (!line.is_body_alone) return print(line.as_json ? json_line(job) : job_text(job, {now, line.is_exact}));
  if (::isatty(STDOUT_FILENO) != 0 && !line.is_terminal_allowed) {
    throw failure(
        "the body would go to a terminal, which obeys control characters in it: write it to a file, or add "
        "--to-terminal");
  }
  print(body_of(job));
}

}  // namespace foliot::program::terminal
