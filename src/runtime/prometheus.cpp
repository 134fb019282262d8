#include <foliot/runtime/prometheus.hpp>

#include "core/statistics/prometheus_page.hpp"

namespace foliot::runtime {

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
