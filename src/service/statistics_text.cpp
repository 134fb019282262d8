#include <foliot/service/statistics_text.hpp>

#include <array>
#include <cstdint>

#include "core/statistics/statistics_lines.hpp"

namespace foliot::inline service {

namespace {

using foliot::detail::append_line;
using foliot::detail::line_reader;
using foliot::detail::malformed;
using foliot::detail::wrong_beginning;

constexpr std::string_view family = "foliot-statistics";
constexpr std::string_view first_line = "foliot-statistics 1";

using counter_line = foliot::detail::named_counter<service_counters>;
constexpr std::array counter_lines{
    counter_line{"started", &service_counters::started},
    counter_line{"reset", &service_counters::superseded},
    counter_line{"stopped", &service_counters::stopped},
    counter_line{"fired", &service_counters::fired},
    counter_line{"skipped", &service_counters::skipped},
    counter_line{"dropped", &service_counters::dropped},
    counter_line{"refused", &service_counters::refused},
    counter_line{"early_wake_ups", &service_counters::wake_ups},
    counter_line{"wake_ups_with_work", &service_counters::wakes_with_work},
    counter_line{"wake_ups_without_work", &service_counters::wakes_without_work},
    counter_line{"pending", &service_counters::pending},
    counter_line{"peak_pending", &service_counters::peak_pending},
};

/// The line after its first word.
bool read(line_reader& from, slowest_callback& one) {
  std::int64_t took = 0;
  if (!from.read(took) || took < 0 || !from.skip(" ")) return false;
  one.took = duration::nanoseconds(took);
  return from.read_escaped(one.armed_at, ' ') && from.skip("'") && from.read_escaped(one.name, '\'') && from.skip("\n");
}

bool read(line_reader& from, service_statistics& now) noexcept {
  if (!foliot::detail::read_lines(from, counter_lines, now.counters) || !from.line("shards", now.shards)) return false;
  now.measured = from.left().starts_with("lateness");
  return !now.measured || (from.line("lateness", now.lateness) && from.line("callback_time", now.callback_time));
}

bool read(line_reader& from, service_snapshot& now) {
  if (!read(from, now.statistics)) return false;
  while (from.skip("slow ")) {
    if (!read(from, now.slowest.emplace_back())) return false;
  }
  return from.left() == "end\n";
}

}  // namespace

std::string statistics_text(const service_snapshot& snapshot) {
  const service_statistics& now = snapshot.statistics;
  std::string text(first_line);
  text += '\n';
  foliot::detail::append_lines(text, counter_lines, now.counters);
  append_line(text, "shards", now.shards);
  if (now.measured) {
    append_line(text, "lateness", now.lateness);
    append_line(text, "callback_time", now.callback_time);
  }
  for (const slowest_callback& each : snapshot.slowest) {
    text.append("slow ").append(std::to_string(each.took.count())).append(" ");
    foliot::detail::append_escaped(text, each.armed_at, " ");
    text += " '";
    foliot::detail::append_escaped(text, each.name, "'");
    text += "'\n";
  }
  text += "end\n";
  return text;
}

std::expected<service_snapshot, std::string> parse_statistics(std::string_view text) {
  line_reader from(text);
  if (!from.skip(first_line) || !from.skip("\n")) return std::unexpected(wrong_beginning(text, family));
  service_snapshot now;
  if (!read(from, now)) return std::unexpected(malformed(text, from.left()));
  return now;
}

}  // namespace foliot::inline service
