#include "summary.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <foliot/version.hpp>
#include <nlohmann/json.hpp>

#include "grouped.hpp"
#include "text/printable.hpp"

namespace foliot::program {

namespace {

double per_second(double count, double seconds) noexcept { return seconds > 0 ? count / seconds : 0; }

std::uint64_t rounded(double rate) noexcept { return static_cast<std::uint64_t>(std::llround(rate)); }

std::string names(const std::vector<std::string>& logs) {
  constexpr std::size_t most_names = 3;
  if (logs.size() > most_names) return fmt::format("{} logs", grouped(logs.size()));
  std::string text;
  for (const std::string& log : logs) {
    if (!text.empty()) text += ", ";
    text += log == "-" ? "standard input" : printable(log);
  }
  return text;
}

nlohmann::ordered_json timers_json(const service_counters& timers) {
  return {
      {"started", timers.started},
      {"reset", timers.superseded},
      {"fired", timers.fired},
      {"peak_pending", timers.peak_pending},
  };
}

nlohmann::ordered_json engine_json(const engine_result& result) {
  nlohmann::ordered_json all = {
      {"engine", result.engine},
      {"sessions", result.sessions},
      {"timers", timers_json(result.timers)},
      {"processor_seconds", static_cast<double>(result.spent.count()) / 1e9},
      {"nanoseconds_per_timer_operation", result.nanoseconds_an_operation()},
      {"timer_operations_per_second", rounded(result.operations_per_second())},
      {"lateness_allowed_seconds", static_cast<double>(result.lateness.count()) / 1e9},
      {"agrees", result.agrees()},
  };
  if (!result.agrees()) all["disagreement"] = result.disagreement;
  return all;
}

}  // namespace

double replay_summary::wall_seconds() const noexcept { return static_cast<double>(wall.count()) / 1e9; }

double replay_summary::timer_operations_per_second() const noexcept {
  if (!engines.empty()) return engines.front().operations_per_second();
  return per_second(static_cast<double>(timers.started + timers.superseded + timers.fired), wall_seconds());
}

double replay_summary::lines_per_second() const noexcept {
  return per_second(static_cast<double>(lines), wall_seconds());
}

std::string comparison_table(std::span<const engine_result> results) {
  std::string text;
  const auto row = [&text](std::string_view engine, std::string_view cost, std::string_view rate,
                           std::string_view sessions, std::string_view peak, std::string_view lateness,
                           std::string_view agrees) {
    constexpr std::size_t both = 33;  // a long name takes some of the cost's room
    fmt::format_to(std::back_inserter(text), "{}{:>{}}{:>15}{:>13}{:>14}{:>17}  {}\n", engine, cost,
                   both - std::min(both, engine.size()), rate, sessions, peak, lateness, agrees);
  };
  row("engine", "ns/operation", "operations/s", "sessions", "peak pending", "may be late by", "agrees");
  for (const engine_result& each : results) {
    const bool reference = &each == &results.front();
    row(each.engine, fmt::format("{:.1f}", each.nanoseconds_an_operation()),
        grouped(static_cast<std::uint64_t>(std::llround(each.operations_per_second()))), grouped(each.sessions),
        grouped(each.timers.peak_pending), each.lateness > duration::zero() ? to_string(each.lateness) : "-",
        reference       ? "(reference)"
        : each.agrees() ? "yes"
                        : "NO");
  }
  return text;
}

std::string summary_text(const replay_summary& summary) {
  std::string text = fmt::format("foliot replay of {}, idle {}, engine {}\n", names(summary.logs),
                                 to_string(summary.idle), summary.engine);
  const auto row = [&text](std::string_view name, std::string_view value, std::string_view unit = {}) {
    fmt::format_to(std::back_inserter(text), "{:<18}{:>15}{}{}\n", name, value, unit.empty() ? "" : " ", unit);
  };
  row("lines", grouped(summary.lines));
  row("malformed", grouped(summary.malformed));
  row("out of order", grouped(summary.out_of_order));
  row("clients", (summary.clients_exact ? "" : "about ") + grouped(summary.clients));
  const bool one_engine = summary.engines.empty();  // otherwise the table has these
  if (one_engine) {
    row("sessions", grouped(summary.sessions));
    row("timers started", grouped(summary.timers.started));
    row("timers reset", grouped(summary.timers.superseded));
    row("timers fired", grouped(summary.timers.fired));
    row("peak pending", grouped(summary.timers.peak_pending));
  }
  row("wall time", fmt::format("{:.3f}", summary.wall_seconds()), "s");
  if (one_engine) {
    row("timer operations", grouped(rounded(summary.timer_operations_per_second())), "a second");
    row("lines read", grouped(rounded(summary.lines_per_second())), "a second");
  }
  row("peak memory", fmt::format("{:.1f}", static_cast<double>(summary.peak_memory_bytes) / (1024 * 1024)), "MiB");
  if (!one_engine) text += '\n' + comparison_table(summary.engines);
  return text;
}

std::string summary_json(const replay_summary& summary) {
  nlohmann::ordered_json all = {
      {"version", FOLIOT_VERSION},
      {"logs", summary.logs},
      {"idle_seconds", static_cast<double>(summary.idle.count()) / 1e9},
      {"engine", summary.engine},
      {"lines", summary.lines},
      {"malformed", summary.malformed},
      {"out_of_order", summary.out_of_order},
      {"clients", summary.clients},
      {"clients_exact", summary.clients_exact},
      {"sessions", summary.sessions},
      {"timers", timers_json(summary.timers)},
      {"wall_seconds", summary.wall_seconds()},
      {"timer_operations_per_second", rounded(summary.timer_operations_per_second())},
      {"lines_per_second", rounded(summary.lines_per_second())},
      {"peak_memory_bytes", summary.peak_memory_bytes},
  };
  for (const engine_result& each : summary.engines) all["engines"].push_back(engine_json(each));
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

}  // namespace foliot::program
