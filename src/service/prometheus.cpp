#include <foliot/service/prometheus.hpp>

#include "core/statistics/prometheus_page.hpp"

namespace foliot::inline service {

std::string prometheus_text(const service_statistics& now, std::string_view prefix,
                            std::span<const prometheus_label> labels) {
  foliot::detail::prometheus_page all(prefix, labels);
  const service_counters& c = now.counters;
  all.single("timers_pending", "gauge", "Timers that are pending.", c.pending);
  all.single("timers_peak_pending", "gauge", "The most timers that were ever pending, summed over shards.",
             c.peak_pending);
  all.single("timers_started_total", "counter", "Starts of timers that were not pending.", c.started);
  all.single("timers_reset_total", "counter", "Resets of timers that were pending.", c.superseded);
  all.single("timers_stopped_total", "counter", "Stops of timers that were pending.", c.stopped);
  all.single("timers_fired_total", "counter", "Callbacks begun, those of tickers included.", c.fired);
  all.single("timers_skipped_total", "counter", "Ticks that were skipped because the ticker fired too late.",
             c.skipped);
  all.single("timers_dropped_total", "counter", "Timers that were pending when the service ended.", c.dropped);
  all.single("timers_refused_total", "counter",
             "Starts, sleeps and watches that began nothing: the service was ending, or the timer was closed.",
             c.refused);
  all.single("early_wake_ups_total", "counter", "Times that a thread was woken before its time, for an earlier timer.",
             c.wake_ups);
  all.single("wake_ups_with_work_total", "counter", "Times that a thread woke and something was due.",
             c.wakes_with_work);
  all.single("wake_ups_without_work_total", "counter", "Times that a thread woke and nothing was due.",
             c.wakes_without_work);
  all.single("shards", "gauge", "Queues, each with a lock and a thread.", now.shards);
  if (now.measured) {
    all.distribution("lateness_seconds", "How long after its deadline a callback began.", now.lateness);
    all.distribution("callback_seconds", "How long a callback ran.", now.callback_time);
  }
  return all.take();
}

}  // namespace foliot::inline service
