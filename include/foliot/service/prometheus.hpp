// A service's statistics in Prometheus' text format, version 0.0.4, for a server's metrics page.
//
//   page += foliot::prometheus_text(timers.statistics(), "foliot", {{"service", "sessions"}});
//
// The text has counters and gauges and, where the service measures, the histograms of lateness and callback time, in
// seconds. The upper bounds of the buckets (`le`) are 2^k - 1 ns, from 127 ns to about 69 s. A bucket of
// foliot::histogram ends at each of these bounds, so the counts are exact.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <foliot/core/export.h>
#include <foliot/core/prometheus_label.hpp>
#include <foliot/service/statistics.hpp>

namespace foliot::inline service {

/// Returns the statistics as whole lines; each metric's name begins with `prefix`. A pure function, for any thread.
/// Throws std::invalid_argument for a prefix that cannot begin a metric's name, and for a label whose name is not
/// valid, is `le`, or occurs twice; std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::string prometheus_text(const service_statistics& now, std::string_view prefix,
                                                        std::span<const prometheus_label> labels);
/// The same, with the labels in braces.
[[nodiscard]] inline std::string prometheus_text(const service_statistics& now, std::string_view prefix = "foliot",
                                                 std::initializer_list<prometheus_label> labels = {}) {
  return prometheus_text(now, prefix, std::span(labels.begin(), labels.size()));
}

}  // namespace foliot::inline service
