#include "table.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "../grouped.hpp"
#include "../printable.hpp"

namespace foliot::program {

namespace {

struct counter_row {
  std::string_view name;
  std::uint64_t service_counters::* field;
};

constexpr std::array counter_rows{
    counter_row{"started", &service_counters::started},
    counter_row{"reset", &service_counters::superseded},
    counter_row{"stopped", &service_counters::stopped},
    counter_row{"fired", &service_counters::fired},
    counter_row{"skipped", &service_counters::skipped},
    counter_row{"dropped", &service_counters::dropped},
    counter_row{"woken early", &service_counters::wake_ups},
    counter_row{"wake-ups with work", &service_counters::wakes_with_work},
    counter_row{"wake-ups without work", &service_counters::wakes_without_work},
};

/// Whether no counter has become smaller.
bool same_service(const service_counters& then, const service_counters& now) noexcept {
  for (const auto& [name, field] : counter_rows) {
    if (now.*field < then.*field) return false;
  }
  return true;
}

std::string rate_of(std::uint64_t more, duration in) {
  const double rate = static_cast<double>(more) * 1e9 / static_cast<double>(in.count());
  return rate < 100 ? fmt::format("{:.1f}", rate) : grouped(static_cast<std::uint64_t>(std::llround(rate)));
}

/// In three digits or a few more: 640 ns, 12.3 us.
std::string length_text(duration length) {
  const std::int64_t count = length.count();
  if (count < 1'000) return fmt::format("{} ns", count);
  const double value = static_cast<double>(count);
  struct scale {
    std::string_view name;
    double nanoseconds;
  };
  for (const auto& [name, nanoseconds] : {scale{"us", 1e3}, scale{"ms", 1e6}}) {
    const double scaled = value / nanoseconds;
    if (scaled < 999.5) return fmt::format("{:.{}f} {}", scaled, scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0, name);
  }
  return fmt::format("{:.2f} s", value / 1e9);
}

}  // namespace

std::string statistics_table(std::string_view name, const service_statistics& now, const earlier_look* earlier) {
  const bool rates =
      earlier != nullptr && earlier->ago > duration::zero() && same_service(earlier->then.counters, now.counters);
  std::string text = fmt::format("foliot top of {}\n", printable(name));
  const auto add = [to = std::back_inserter(text)](fmt::string_view line, const auto&... values) {
    fmt::vformat_to(to, line, fmt::make_format_args(values...));
  };
  add("{:<22}{:>16}\n", "pending", grouped(now.counters.pending));
  add("{:<22}{:>16}\n", "peak pending", grouped(now.counters.peak_pending));
  add("{:<22}{:>16}\n", "shards", now.shards);
  add("\n{:<22}{:>16}{}\n", "", "total", rates ? fmt::format("{:>16}", "a second") : "");
  for (const auto& [what, field] : counter_rows) {
    const std::uint64_t total = now.counters.*field;
    add("{:<22}{:>16}{}\n", what, grouped(total),
        rates ? fmt::format("{:>16}", rate_of(total - earlier->then.counters.*field, earlier->ago)) : "");
  }
  if (!now.measured) return text + "\nlateness and callback time are not measured there\n";
  add("\n{:<22}{:>12}{:>12}{:>12}{:>12}\n", "", "p50", "p99", "p99.9", "max");
  const auto distribution = [&](std::string_view what, const histogram& values) {
    add("{:<22}{:>12}{:>12}{:>12}{:>12}\n", what, length_text(values.percentile(50)),
        length_text(values.percentile(99)), length_text(values.percentile(99.9)), length_text(values.max()));
  };
  distribution("lateness", now.lateness);
  distribution("callback time", now.callback_time);
  return text;
}

}  // namespace foliot::program
