// A runtime's statistics in Prometheus' text format, version 0.0.4, for a server's metrics page.
//
//   page += foliot::runtime::prometheus_text(foliot::runtime::statistics(), "foliot_runtime");
//
// The text has counters and gauges and, where the runtime measures, the histograms of lateness, queue time and turn
// time, in seconds, with the buckets of service/prometheus.hpp.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <foliot/core/export.h>
#include <foliot/core/prometheus_label.hpp>
#include <foliot/runtime/statistics.hpp>

namespace foliot::runtime {

/// Returns the statistics as whole lines; each metric's name begins with `prefix`. A pure function, for any thread.
/// Throws std::invalid_argument for a prefix that cannot begin a metric's name, and for a label whose name is not
/// valid, is `le`, or occurs twice; std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::string prometheus_text(const runtime_statistics& now, std::string_view prefix,
                                                        std::span<const prometheus_label> labels);
/// The same, with the labels in braces.
[[nodiscard]] inline std::string prometheus_text(const runtime_statistics& now,
                                                 std::string_view prefix = "foliot_runtime",
                                                 std::initializer_list<prometheus_label> labels = {}) {
  return prometheus_text(now, prefix, std::span(labels.begin(), labels.size()));
}

}  // namespace foliot::runtime
