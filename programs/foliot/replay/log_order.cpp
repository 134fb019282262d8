#include "log_order.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "input_file.hpp"
#include "line_reader.hpp"
#include "text/timestamp.hpp"

namespace foliot::program {

namespace {

/// The time of the first line that is in the format.
std::optional<instant> first_time(const std::string& log, log_format format) {
  input_file file(log);
  line_reader lines(file);
  log_parser parser(format);
  while (const auto line = lines.next()) {
    if (line->too_long) continue;
    if (const auto request = parser.parse(line->text)) return request->time;
  }
  return std::nullopt;
}

/// Whether the log can be read twice.
bool is_regular(const std::string& log) { return log != "-" && input_file::size(log).has_value(); }

}  // namespace

std::vector<std::string> in_order_of_first_lines(std::vector<std::string> logs, log_format format) {
  if (logs.size() < 2 || !std::ranges::all_of(logs, is_regular)) return logs;
  std::vector<std::pair<std::optional<instant>, std::size_t>> begins;  // with the index in `logs`
  for (const std::string& log : logs) begins.emplace_back(first_time(log, format), begins.size());
  std::ranges::sort(begins);
  std::vector<std::string> ordered;
  for (const auto& [time, index] : begins) ordered.push_back(std::move(logs[index]));
  return ordered;
}

void backward_lines::begin_log(const std::string& name) {
  logs_.push_back(name);
  log_ = logs_.size() - 1;
  any_in_log_ = behind_ = false;
}

std::optional<std::string> backward_lines::sentence(std::uint64_t number, instant time) {
  if (std::exchange(behind_, true)) return std::nullopt;
  const std::string line = fmt::format("{}:{}", shown_log(logs_[log_]), number);
  const std::string distance = to_string(latest_.time - time);
  if (!std::exchange(any_in_log_, true) && latest_.log + 1 == log_) {
    return fmt::format("{}: the log begins {} before the end of the one before it, {}, which is more than --idle", line,
                       distance, text_of(latest_));
  }
  return fmt::format("{}: the time goes back by {} from {}, which is more than --idle", line, distance,
                     text_of(latest_));
}

std::string backward_lines::text_of(const place& where) const {
  std::string text = fmt::format("{}:{} (", shown_log(logs_[where.log]), where.line);
  append_iso_time(text, where.time);
  return text + ')';
}

std::string shown_log(const std::string& name) { return name == "-" ? "standard input" : name; }

}  // namespace foliot::program
