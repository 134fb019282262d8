#include "comparison_table.hpp"

#include <cmath>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "../duration_text.hpp"
#include "../grouped.hpp"

namespace foliot::program {

std::string comparison_table(std::span<const engine_result> results) {
  std::string text;
  const auto row = [&text](std::string_view engine, std::string_view cost, std::string_view rate,
                           std::string_view sessions, std::string_view peak, std::string_view lateness,
                           std::string_view agrees) {
    fmt::format_to(std::back_inserter(text), "{:<18}{:>15}{:>15}{:>13}{:>14}{:>17}  {}\n", engine, cost, rate, sessions,
                   peak, lateness, agrees);
  };
  row("engine", "ns/operation", "operations/s", "sessions", "peak pending", "may be late by", "agrees");
  for (const engine_result& each : results) {
    const bool reference = &each == &results.front();
    row(each.engine, fmt::format("{:.1f}", each.nanoseconds_an_operation()),
        grouped(static_cast<std::uint64_t>(std::llround(each.operations_per_second()))), grouped(each.sessions),
        grouped(each.timers.peak_pending), each.lateness > duration::zero() ? duration_text(each.lateness) : "-",
        reference       ? "(reference)"
        : each.agrees() ? "yes"
                        : "NO");
  }
  return text;
}

}  // namespace foliot::program
