// A label of the lines in Prometheus' text format. Thread safety: a plain value.
#pragma once

#include <foliot/core/language.hpp>

#include <string_view>

namespace foliot::inline core {

/// A label that every line gets. Its value may be any UTF-8 text.
struct prometheus_label {
  std::string_view name;
  std::string_view value;
};

}  // namespace foliot::inline core
