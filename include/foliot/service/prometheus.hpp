// Statistics in Prometheus' text format, version 0.0.4, for the page that a server shows to Prometheus.
//
//   page += foliot::prometheus_text(timers.statistics(), "foliot", {{"service", "sessions"}});
//
// Counters and gauges, and, where the service measures, the histograms of lateness and callback time, in seconds. Their
// bounds, the `le` of each bucket, are 2^k - 1 ns, from 127 ns to some 69 s: as a bucket of ours ends at each of
// them, the counts are exact.
//
// Thread safety: a pure function.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <foliot/core/export.h>
#include <foliot/service/statistics.hpp>

namespace foliot::inline service {

/// A label that every line has. Its value may be any text in UTF-8.
struct prometheus_label {
  std::string_view name;
  std::string_view value;
};

/// The text, of whole lines. Throws std::invalid_argument for a prefix that cannot begin a metric's name, and for a
/// label whose name is none, is `le`, or comes twice; std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::string prometheus_text(const service_statistics& now, std::string_view prefix,
                                                        std::span<const prometheus_label> labels);
[[nodiscard]] inline std::string prometheus_text(const service_statistics& now, std::string_view prefix = "foliot",
                                                 std::initializer_list<prometheus_label> labels = {}) {
  return prometheus_text(now, prefix, std::span(labels.begin(), labels.size()));
}

}  // namespace foliot::inline service
