#include "job/requests.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "text/failure.hpp"

namespace foliot::program::terminal {

namespace {

constexpr std::string_view job_path = "/v1/job";
constexpr std::size_t longest_body = std::size_t{1} << 30;

void add_unless_empty(names_and_values& to, const char* name, const std::string& value) {
  if (!value.empty()) to.emplace_back(name, value);
}

bool is_id(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 20 && text.front() != '0' &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string read_all(std::istream& from, std::string_view name) {
  std::string bytes;
  char piece[65'536];
  while (from.read(piece, sizeof(piece)) || from.gcount() > 0) {
    bytes.append(piece, static_cast<std::size_t>(from.gcount()));
    if (bytes.size() > longest_body) throw failure(fmt::format("'{}' is larger than any body", name));
  }
  if (from.bad()) throw system_failure("read", name, errno);
  return bytes;
}

std::string body_of_put(const job_line& line) {
  if (line.body && !line.file.empty()) throw failure("a body is given as an argument or by --file: leave one out");
  if (line.body) return *line.body;
  if (line.file == "-") return read_all(std::cin, "standard input");
  if (line.file.empty()) return {};
  errno = 0;
  std::ifstream opened(line.file, std::ios::binary);
  if (!opened) throw system_failure("read", line.file, errno);
  return read_all(opened, line.file);
}

/// The name of a field of a request.
bool is_token(std::string_view text) noexcept {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

/// Line ends in a field of a request would begin another one.
void refuse_controls(std::string_view option, std::string_view value) {
  const bool has_some = std::ranges::any_of(value, [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; });
  if (has_some) throw failure(fmt::format("{}: '{}' has control characters", option, value));
}

}  // namespace

names_and_values name_of_job(const job_line& line) {
  if (line.job.size() == 2) return {{"tube", line.job[0]}, {"key", line.job[1]}};
  if (line.job.size() == 1 && is_id(line.job[0])) return {{"id", line.job[0]}};
  if (line.job.size() == 1) {
    throw failure(fmt::format("'{}' is no id of a job: write a number such as 17, or a tube and a key", line.job[0]));
  }
  throw failure("name a job by its id, or by its tube and its key");
}

api_request about_job(const job_line& line, std::string method, std::string_view path) {
  api_request made;
  made.method = std::move(method);
  made.path = fmt::format("{}{}", job_path, path);
  made.query = name_of_job(line);
  return made;
}

names_and_values due_of(const job_line& line, bool is_needed) {
  if (!line.due.empty() && !line.delay.empty()) throw failure("--due and --delay exclude each other");
  if (is_needed && line.due.empty() && line.delay.empty()) {
    throw failure("say when the job is due: by --delay, such as 5m, or by --due, such as 2027-01-31T08:00:00Z");
  }
  names_and_values when;
  add_unless_empty(when, "due", line.due);
  add_unless_empty(when, "delay", line.delay);
  return when;
}

api_request put_request(const job_line& line) {
  api_request made;
  made.method = "POST";
  made.path = "/v1/jobs";
  made.query = due_of(line, false);
  made.query.emplace_back("tube", line.tube);
  add_unless_empty(made.query, "key", line.key);
  add_unless_empty(made.query, "priority", line.priority);
  add_unless_empty(made.query, "ttr", line.ttr);
  add_unless_empty(made.query, "group", line.group);
  add_unless_empty(made.query, "expires", line.expires);
  add_unless_empty(made.query, "expires_in", line.expires_in);
  add_unless_empty(made.query, "existing", line.existing);
  made.body = body_of_put(line);
  refuse_controls("--type", line.content_type);
  made.content_type = line.content_type;
  made.fields.emplace_back("Foliot-Body", "raw");
  for (const std::string& each : line.headers) {
    const std::size_t end = each.find('=');
    if (end == std::string::npos || !is_token(std::string_view(each).substr(0, end))) {
      throw failure(fmt::format(
          "--header: '{}' is no header: write NAME=VALUE, with letters, digits and hyphens in the name", each));
    }
    refuse_controls("--header", each);
    made.fields.emplace_back("Foliot-Header-" + each.substr(0, end), each.substr(end + 1));
  }
  return made;
}

names_and_values listed_by(const job_filter& which) {
  names_and_values query;
  if (which.tube) query.emplace_back("tube", *which.tube);
  if (which.prefix) query.emplace_back("prefix", *which.prefix);
  add_unless_empty(query, "state", which.state);
  add_unless_empty(query, "key_prefix", which.key_prefix);
  add_unless_empty(query, "text", which.text);
  return query;
}

}  // namespace foliot::program::terminal
