// A page of metrics in Prometheus' text format, version 0.0.4.
//
//   exposition page;
//   page.family("jobs_ready", "gauge", "Jobs that wait for a worker.");
//   page.sample({{"tube", "mail"}}, 3);
//   page.single("connections", "gauge", "Connections that are open.", 12);
//   std::string text = page.take();
//
// Each name gets the prefix `foliot_`, but those that begin with `process_`, which have the same names in all programs.
// The values of labels may be any bytes: what is no text in UTF-8, and control characters but the newline, are shown as
// a backslash, `x` and two digits, since a page with other bytes is refused as a whole.
//
// Thread safety: a plain object. O(length).
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/prometheus_label.hpp>
#include <foliot/jobs/time_histogram.hpp>

namespace foliot::program {

class exposition {
 public:
  /// The media type of the page. Prometheus 3 refuses a page without it.
  static constexpr std::string_view media_type = "text/plain; version=0.0.4; charset=utf-8";

  using labels = std::initializer_list<prometheus_label>;

  /// Begins a family of samples; `type` is gauge, counter or histogram.
  void family(std::string_view name, std::string_view type, std::string_view help);
  /// A sample of the family that has begun last.
  template <std::unsigned_integral Number>
  void sample(labels with, Number value) {
    add(with, number_text(value));
  }
  /// The same in seconds, to the nanosecond.
  void sample(labels with, duration value);
  /// A family with one sample.
  template <class Value>
  void single(std::string_view name, std::string_view type, std::string_view help, Value value) {
    family(name, type, help);
    sample({}, value);
  }
  /// A histogram, in seconds.
  void distribution(std::string_view name, std::string_view help, const jobs::time_histogram::counts& values);

  [[nodiscard]] std::string take() noexcept { return std::move(text_); }

 private:
  static std::string number_text(std::uint64_t value);
  void add(labels with, std::string_view value, std::string_view suffix = "");

  std::string name_;  // of the family, with its prefix
  std::string text_;
};

/// A value of a label as the format has it, without the quotes.
[[nodiscard]] std::string escaped_label(std::string_view value);

}  // namespace foliot::program
