// What a runtime tells of itself to the outside: as lines, which foliot top reads back, by a socket, and as a page for
// Prometheus. A new counter has a line in `counter_lines` and one in prometheus_text().
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <foliot/runtime/detail/reports.hpp>
#include <foliot/runtime/prometheus.hpp>
#include <foliot/runtime/statistics_socket.hpp>
#include <foliot/runtime/statistics_text.hpp>

#include "core/statistics/prometheus_page.hpp"
#include "core/statistics/statistics_lines.hpp"
#include "wait_words.hpp"

namespace foliot::runtime {

// ---------------------------------------------------------------- lines

namespace {

using foliot::detail::append_line;
using foliot::detail::line_reader;

constexpr std::string_view family = "foliot-runtime";
constexpr std::string_view first_line = "foliot-runtime 1";

using counter_line = foliot::detail::named_counter<runtime_counters>;
constexpr std::array counter_lines{
    counter_line{"spawned", &runtime_counters::spawned},
    counter_line{"turns", &runtime_counters::turns},
    counter_line{"spent_turns", &runtime_counters::spent_turns},
    counter_line{"fired", &runtime_counters::fired},
    counter_line{"steals", &runtime_counters::steals},
    counter_line{"stolen", &runtime_counters::stolen},
    counter_line{"parks", &runtime_counters::parks},
    counter_line{"polls", &runtime_counters::polls},
    counter_line{"rounds", &runtime_counters::rounds},
    counter_line{"rescues", &runtime_counters::rescues},
    counter_line{"tasks", &runtime_counters::tasks},
    counter_line{"running", &runtime_counters::running},
    counter_line{"ready", &runtime_counters::ready},
    counter_line{"descriptor_waits", &runtime_counters::descriptor_waits},
    counter_line{"timers", &runtime_counters::timers},
    counter_line{"blocking_calls", &runtime_counters::blocking_calls},
    counter_line{"blocking_threads", &runtime_counters::blocking_threads},
    counter_line{"processors", &runtime_counters::processors},
    counter_line{"idle", &runtime_counters::idle},
};

constexpr std::array phases{task_phase::ready, task_phase::running, task_phase::waiting};

void append(std::string& to, const task_group& group) {
  to.append("task ").append(std::to_string(group.tasks)).append(" ").append(to_string(group.phase));
  if (group.phase == task_phase::waiting) to.append(" ").append(to_string(group.waits_for));
  to.append(" ").append(group.for_so_long ? std::to_string(group.for_so_long->count()) : "-");
  to.append(" ");
  if (group.where.empty()) {
    to += '-';
  } else {
    foliot::detail::append_escaped(to, group.where, " ");
  }
  to += " '";
  foliot::detail::append_escaped(to, group.name, "'");
  to += "'\n";
}

bool read(line_reader& from, std::optional<duration>& length) noexcept {
  if (from.skip("-")) return true;
  std::int64_t count = 0;
  if (!from.read(count) || count < 0) return false;
  length = duration::nanoseconds(count);
  return true;
}

bool read(line_reader& from, task_phase& phase) noexcept {
  for (const task_phase each : phases) {
    phase = each;
    if (from.skip(to_string(each))) return true;
  }
  return false;
}

/// A word that is followed by a space.
bool read(line_reader& from, wait_reason& reason) noexcept {
  const std::string_view word = from.left().substr(0, from.left().find(' '));
  reason = detail::wait_reason_in(word);
  return !word.empty() && from.skip(word);
}

/// The line after its first word.
bool read(line_reader& from, task_group& group) {
  if (!(from.read(group.tasks) && from.skip(" ") && read(from, group.phase) && from.skip(" "))) return false;
  if (group.phase == task_phase::waiting && !(read(from, group.waits_for) && from.skip(" "))) return false;
  if (!(read(from, group.for_so_long) && from.skip(" "))) return false;
  if (!from.skip("- ") && !(from.read_escaped(group.where, ' ') && !group.where.empty())) return false;
  return from.skip("'") && from.read_escaped(group.name, '\'') && from.skip("\n");
}

bool read(line_reader& from, runtime_snapshot& now) {
  if (!foliot::detail::read_lines(from, counter_lines, now.statistics.counters)) return false;
  runtime_statistics& s = now.statistics;
  s.measured = from.left().starts_with("lateness");
  if (s.measured && !(from.line("lateness", s.lateness) && from.line("queue_time", s.queue_time) &&
                      from.line("turn_time", s.turn_time))) {
    return false;
  }
  while (from.skip("task ")) {
    if (!read(from, now.tasks.emplace_back())) return false;
  }
  return from.left() == "end\n";
}

}  // namespace

std::string statistics_text(const runtime_snapshot& now) {
  std::string text(first_line);
  text += '\n';
  const runtime_statistics& s = now.statistics;
  foliot::detail::append_lines(text, counter_lines, s.counters);
  if (s.measured) {
    append_line(text, "lateness", s.lateness);
    append_line(text, "queue_time", s.queue_time);
    append_line(text, "turn_time", s.turn_time);
  }
  for (const task_group& each : now.tasks) append(text, each);
  text += "end\n";
  return text;
}

std::expected<runtime_snapshot, std::string> parse_runtime_statistics(std::string_view text) {
  line_reader from(text);
  if (!from.skip(first_line) || !from.skip("\n")) {
    return std::unexpected(foliot::detail::wrong_beginning(text, family));
  }
  runtime_snapshot now;
  if (!read(from, now)) return std::unexpected(foliot::detail::malformed(text, from.left()));
  return now;
}

// ---------------------------------------------------------------- the socket

runtime_statistics_socket::runtime_statistics_socket(const runtime_handle& of, std::string path)
    : socket_(std::move(path), "foliot-stats", [gate = of.shared_gate()]() -> std::string {
        const detail::runtime_gate::guest inside(*gate);
        if (!inside) return {};
        return statistics_text(
            {.statistics = detail::statistics_of(*inside), .tasks = detail::task_groups_of(*inside)});
      }) {}

// ---------------------------------------------------------------- Prometheus

std::string prometheus_text(const runtime_statistics& now, std::string_view prefix,
                            std::span<const prometheus_label> labels) {
  foliot::detail::prometheus_page all(prefix, labels);
  const runtime_counters& c = now.counters;
  all.head("tasks", "gauge", "Tasks that have not ended.");
  all.sample("tasks", "state=\"running\"", std::to_string(c.running));
  all.sample("tasks", "state=\"ready\"", std::to_string(c.ready));
  all.sample("tasks", "state=\"waiting\"", std::to_string(c.waiting()));
  all.single("descriptor_waits", "gauge", "Tasks that wait for sockets and other descriptors.", c.descriptor_waits);
  all.single("timers_pending", "gauge", "Timers that are pending at the processors.", c.timers);
  all.single("processors", "gauge", "Processors, each with a worker that runs tasks.", c.processors);
  all.single("processors_idle", "gauge", "Processors whose workers sleep.", c.idle);
  all.single("blocking_calls", "gauge", "Calls by blocking() that have not returned.", c.blocking_calls);
  all.single("blocking_threads", "gauge", "Threads for such calls.", c.blocking_threads);
  all.single("tasks_spawned_total", "counter", "Tasks that were spawned.", c.spawned);
  all.single("turns_total", "counter", "Turns of tasks on workers.", c.turns);
  all.single("spent_turns_total", "counter", "Turns that ended because their budget was spent.", c.spent_turns);
  all.single("timers_fired_total", "counter", "Timers that came due.", c.fired);
  all.single("steals_total", "counter", "Times that a worker took tasks from another processor.", c.steals);
  all.single("tasks_stolen_total", "counter", "Tasks that were taken so.", c.stolen);
  all.single("parks_total", "counter", "Times that a worker went to sleep.", c.parks);
  all.single("polls_total", "counter", "Looks and waits for descriptors.", c.polls);
  all.single("rounds_total", "counter", "Searches of workers for work.", c.rounds);
  all.single("rescues_total", "counter", "Times that the monitor helped a processor that was stuck in a task.",
             c.rescues);
  if (now.measured) {
    all.distribution("lateness_seconds", "How long after its deadline a timer was found due.", now.lateness);
    all.distribution("queue_seconds", "How long a task that could run stood in a run queue.", now.queue_time);
    all.distribution("turn_seconds", "How long a turn of a task took.", now.turn_time);
  }
  return all.take();
}

}  // namespace foliot::runtime
