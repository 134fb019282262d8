// The values of the metrics. Prometheus' own parser checks the grammar of the text: tests/programs.
#include <foliot/service/prometheus.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

service_statistics some() {
  service_statistics now;
  now.counters = {.started = 12,
                  .superseded = 3,
                  .stopped = 4,
                  .fired = 5,
                  .skipped = 6,
                  .dropped = 7,
                  .refused = 14,
                  .wake_ups = 8,
                  .wakes_with_work = 9,
                  .wakes_without_work = 10,
                  .pending = 11,
                  .peak_pending = 13};
  now.shards = 2;
  return now;
}

TEST(Prometheus, HasEachCounterAndGauge) {
  const std::string text = prometheus_text(some());
  for (const char* line :
       {"foliot_timers_started_total 12", "foliot_timers_reset_total 3", "foliot_timers_stopped_total 4",
        "foliot_timers_fired_total 5", "foliot_timers_skipped_total 6", "foliot_timers_dropped_total 7",
        "foliot_timers_refused_total 14", "foliot_early_wake_ups_total 8", "foliot_wake_ups_with_work_total 9",
        "foliot_wake_ups_without_work_total 10", "foliot_timers_pending 11", "foliot_timers_peak_pending 13",
        "foliot_shards 2", "# TYPE foliot_timers_fired_total counter", "# TYPE foliot_timers_pending gauge"}) {
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  }
}

TEST(Prometheus, WhatIsNotMeasuredIsAbsent) { EXPECT_EQ(prometheus_text(some()).find("_seconds"), std::string::npos); }

TEST(Prometheus, HistogramsAreCumulativeAndInSeconds) {
  service_statistics now = some();
  now.measured = true;
  now.lateness.add(127ns);
  now.lateness.add(128ns);
  now.lateness.add(1s + 5ns);
  now.lateness.add(2h);
  const std::string text = prometheus_text(now, "foliot");
  for (const char* line :
       {"# TYPE foliot_lateness_seconds histogram", "foliot_lateness_seconds_bucket{le=\"0.000000127\"} 1",
        "foliot_lateness_seconds_bucket{le=\"0.000000255\"} 2", "foliot_lateness_seconds_bucket{le=\"0.536870911\"} 2",
        "foliot_lateness_seconds_bucket{le=\"1.073741823\"} 3", "foliot_lateness_seconds_bucket{le=\"68.719476735\"} 3",
        "foliot_lateness_seconds_bucket{le=\"+Inf\"} 4", "foliot_lateness_seconds_sum 7201.00000026",
        "foliot_lateness_seconds_count 4", "foliot_callback_seconds_bucket{le=\"+Inf\"} 0",
        "foliot_callback_seconds_sum 0", "foliot_callback_seconds_count 0"}) {
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  }
}

TEST(Prometheus, LabelsAreOnEveryLineAndEscaped) {
  service_statistics now = some();
  now.measured = true;
  const std::string text = prometheus_text(now, "my:server", {{"service", "a \"b\" \\ c\nd"}, {"_x9", ""}});
  const std::string labels = R"(service="a \"b\" \\ c\nd",_x9="")";
  EXPECT_TRUE(has_line(text, "my:server_timers_pending{" + labels + "} 11")) << text;
  EXPECT_TRUE(has_line(text, "my:server_lateness_seconds_bucket{" + labels + ",le=\"+Inf\"} 0")) << text;
  EXPECT_TRUE(has_line(text, "my:server_lateness_seconds_count{" + labels + "} 0")) << text;
}

TEST(Prometheus, NamesThatAreNoneAreRefused) {
  for (const char* prefix : {"", "9lives", "a-b", "a b", "ä"}) {
    EXPECT_THROW(static_cast<void>(prometheus_text(some(), prefix)), std::invalid_argument) << prefix;
  }
  for (const char* label : {"", "9lives", "a:b", "le", "__name__", "a b"}) {
    EXPECT_THROW(static_cast<void>(prometheus_text(some(), "foliot", {{label, "x"}})), std::invalid_argument) << label;
  }
  EXPECT_THROW(static_cast<void>(prometheus_text(some(), "foliot", {{"a", "x"}, {"a", "y"}})), std::invalid_argument);
}

}  // namespace
}  // namespace foliot::test
