#include "table.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "grouped.hpp"
#include "text/printable.hpp"

namespace foliot::program {

namespace {

template <class Counters>
struct counter_row {
  std::string_view name;
  std::uint64_t Counters::* field;
};

using service_row = counter_row<service_counters>;
constexpr std::array service_rows{
    service_row{"started", &service_counters::started},
    service_row{"reset", &service_counters::superseded},
    service_row{"stopped", &service_counters::stopped},
    service_row{"fired", &service_counters::fired},
    service_row{"skipped", &service_counters::skipped},
    service_row{"dropped", &service_counters::dropped},
    service_row{"refused", &service_counters::refused},
    service_row{"woken early", &service_counters::wake_ups},
    service_row{"wake-ups with work", &service_counters::wakes_with_work},
    service_row{"wake-ups without work", &service_counters::wakes_without_work},
};

using runtime_row = counter_row<runtime_counters>;
constexpr std::array runtime_rows{
    runtime_row{"tasks spawned", &runtime_counters::spawned},   runtime_row{"turns", &runtime_counters::turns},
    runtime_row{"spent turns", &runtime_counters::spent_turns}, runtime_row{"timers fired", &runtime_counters::fired},
    runtime_row{"steals", &runtime_counters::steals},           runtime_row{"tasks stolen", &runtime_counters::stolen},
    runtime_row{"workers parked", &runtime_counters::parks},    runtime_row{"polls", &runtime_counters::polls},
    runtime_row{"rounds", &runtime_counters::rounds},           runtime_row{"rescues", &runtime_counters::rescues},
};

/// How many groups of tasks a table shows.
constexpr std::size_t most_groups = 15;
/// How many tubes.
constexpr std::size_t shown_tubes = 10;

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

/// A table that is made line by line.
class table {
 public:
  explicit table(std::string_view name) : text_(fmt::format("foliot top of {}\n", printable(name))) {}

  void value(std::string_view what, std::uint64_t now) { add("{:<22}{:>16}\n", what, grouped(now)); }

  /// Each counter, and how much more it is a second if no counter has become smaller.
  template <class Rows, class Counters>
  void counters(const Rows& rows, const Counters& now, const Counters* then, duration ago) {
    bool rates = then != nullptr && ago > duration::zero();
    for (const auto& [what, field] : rows) rates = rates && now.*field >= then->*field;
    add("\n{:<22}{:>16}{}\n", "", "total", rates ? fmt::format("{:>16}", "a second") : "");
    for (const auto& [what, field] : rows) {
      add("{:<22}{:>16}{}\n", what, grouped(now.*field),
          rates ? fmt::format("{:>16}", rate_of(now.*field - then->*field, ago)) : "");
    }
  }

  void distributions_head() { add("\n{:<22}{:>12}{:>12}{:>12}{:>12}\n", "", "p50", "p99", "p99.9", "max"); }
  void distribution(std::string_view what, const histogram& values) {
    add("{:<22}{:>12}{:>12}{:>12}{:>12}\n", what, length_text(values.percentile(50)),
        length_text(values.percentile(99)), length_text(values.percentile(99.9)), length_text(values.max()));
  }

  template <class... Values>
  void add(fmt::string_view line, const Values&... values) {
    fmt::vformat_to(std::back_inserter(text_), line, fmt::make_format_args(values...));
  }

  [[nodiscard]] std::string take() noexcept { return std::move(text_); }

 private:
  std::string text_;
};

void add_groups(table& to, const std::vector<task_group>& groups) {
  if (groups.empty()) return;
  to.add("\n{:>12}  {:<20}{:>12}  {}\n", "tasks", "name", groups.front().for_so_long ? "longest" : "", "what they do");
  for (const task_group& each : groups | std::views::take(most_groups)) {
    to.add("{:>12}  {:<20}{:>12}  {}\n", grouped(each.tasks), printable(each.name),
           each.for_so_long ? length_text(*each.for_so_long) : "", printable(activity_text(each)));
  }
  if (groups.size() > most_groups) to.add("{:>12}  more groups\n", groups.size() - most_groups);
}

void add_unless_unknown(table& to, std::string_view what, const std::optional<std::uint64_t>& now) {
  to.add("{:<22}{:>16}\n", what, now ? grouped(*now) : "-");
}

void add_jobs(table& to, const job_figures& now) {
  const auto count = [&now](std::uint64_t jobs::job_counts::* of) {
    return now.counts ? std::optional(*now.counts.*of) : std::nullopt;
  };
  add_unless_unknown(to, "tubes with jobs", now.tubes);
  add_unless_unknown(to, "jobs ready", count(&jobs::job_counts::ready));
  add_unless_unknown(to, "  delayed", count(&jobs::job_counts::delayed));
  add_unless_unknown(to, "  reserved", count(&jobs::job_counts::reserved));
  add_unless_unknown(to, "  buried", count(&jobs::job_counts::buried));
  to.add("{:<22}{:>16}\n", "next is due in", now.next_due ? length_text(*now.next_due) : "-");
  to.add("{:<22}{:>16}\n", "overdue for", now.overdue ? length_text(*now.overdue) : now.is_overdue ? "some time" : "-");
  if (now.schedules && now.schedules->all > 0) {
    to.add("{:<22}{:>16}  ({} due)\n", "schedules", grouped(now.schedules->all), grouped(now.schedules->due));
  }
  if (!now.counts) to.add("\nthe store does not answer, or its jobs cannot be counted quickly\n");
  if (!now.by_tube.empty()) to.add("\n{:>12}{:>12}{:>12}{:>12}  tube\n", "ready", "delayed", "reserved", "buried");
  for (const tube_figures& each : now.by_tube | std::views::take(shown_tubes)) {
    const jobs::job_counts& in = each.counts;
    to.add("{:>12}{:>12}{:>12}{:>12}  {}\n", grouped(in.ready), grouped(in.delayed), grouped(in.reserved),
           grouped(in.buried), printable(each.name));
  }
  if (now.by_tube.size() > shown_tubes) to.add("{:>12}  more tubes\n", now.by_tube.size() - shown_tubes);
  to.add("\n");
}

void add_runtime(table& to, const runtime_snapshot& now, const runtime_snapshot* then, duration ago) {
  const runtime_statistics& s = now.statistics;
  to.value("tasks", s.counters.tasks);
  to.value("  running", s.counters.running);
  to.value("  ready", s.counters.ready);
  to.value("  waiting", s.counters.waiting());
  to.value("waiting for sockets", s.counters.descriptor_waits);
  to.value("timers pending", s.counters.timers);
  to.add("{:<22}{:>16}  ({} idle)\n", "processors", s.counters.processors, s.counters.idle);
  to.add("{:<22}{:>16}  ({} threads)\n", "blocking calls", grouped(s.counters.blocking_calls),
         s.counters.blocking_threads);
  to.counters(runtime_rows, s.counters, then != nullptr ? &then->statistics.counters : nullptr, ago);
  if (s.measured) {
    to.distributions_head();
    to.distribution("lateness", s.lateness);
    to.distribution("time in run queues", s.queue_time);
    to.distribution("turns of tasks", s.turn_time);
  } else {
    to.add("\nlateness, queue time and turn time are not measured there\n");
  }
  add_groups(to, now.tasks);
}

}  // namespace

std::string statistics_table(std::string_view name, const service_snapshot& snapshot,
                             const earlier_look<service_snapshot>* earlier) {
  const service_statistics& now = snapshot.statistics;
  table text(name);
  text.value("pending", now.counters.pending);
  text.value("peak pending", now.counters.peak_pending);
  text.value("shards", now.shards);
  text.counters(service_rows, now.counters, earlier != nullptr ? &earlier->then.statistics.counters : nullptr,
                earlier != nullptr ? earlier->ago : duration());
  if (now.measured) {
    text.distributions_head();
    text.distribution("lateness", now.lateness);
    text.distribution("callback time", now.callback_time);
  } else {
    text.add("\nlateness and callback time are not measured there\n");
  }
  if (!snapshot.slowest.empty()) text.add("\n{:<22}{:>12}  {}\n", "slowest callbacks", "", "armed at");
  for (const slowest_callback& each : snapshot.slowest) {
    text.add("{:<22}{:>12}  {}\n", each.name.empty() ? "-" : printable(each.name), length_text(each.took),
             printable(each.armed_at));
  }
  return text.take();
}

std::string statistics_table(std::string_view name, const runtime_snapshot& now,
                             const earlier_look<runtime_snapshot>* earlier) {
  table text(name);
  add_runtime(text, now, earlier != nullptr ? &earlier->then : nullptr, earlier != nullptr ? earlier->ago : duration());
  return text.take();
}

std::string statistics_table(std::string_view name, const server_snapshot& now,
                             const earlier_look<server_snapshot>* earlier) {
  table text(name);
  add_jobs(text, now.jobs);
  add_runtime(text, now, earlier != nullptr ? &earlier->then : nullptr, earlier != nullptr ? earlier->ago : duration());
  return text.take();
}

}  // namespace foliot::program
