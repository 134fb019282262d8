// A page of metrics in Prometheus' text format, version 0.0.4: what prometheus_text() of the service and of the runtime
// are made of.
//
// Thread safety: none; a plain object.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/core/histogram.hpp>
#include <foliot/core/prometheus_label.hpp>

namespace foliot::detail {

class FOLIOT_EXPORT prometheus_page {
 public:
  /// Each metric's name begins with `prefix`, and every line has the labels. Throws std::invalid_argument for a prefix
  /// that cannot begin a metric's name, and for a label whose name is not valid, is `le`, or occurs twice.
  prometheus_page(std::string_view prefix, std::span<const prometheus_label> labels);

  /// A metric with one value; `type` is gauge or counter.
  void single(std::string_view name, std::string_view type, std::string_view help, std::uint64_t value);
  /// A metric of which each value has a label of its own.
  void head(std::string_view name, std::string_view type, std::string_view help);
  void sample(std::string_view name, std::string_view label, std::string_view value);
  /// A histogram, in seconds.
  void distribution(std::string_view name, std::string_view help, const histogram& values);

  [[nodiscard]] std::string take() noexcept { return std::move(text_); }

 private:
  std::string_view prefix_;
  std::string labels_;
  std::string text_;
};

}  // namespace foliot::detail
