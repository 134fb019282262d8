// Durations and instants for the library {fmt}, which the program that includes this must have:
//
//   fmt::print("{} of {:>10}\n", taken, options.limit);
//
// The text is that of to_string(), and the specification that of a string.
#pragma once

#include <string_view>

#include <fmt/format.h>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

template <>
struct fmt::formatter<foliot::duration> : fmt::formatter<std::string_view> {
  /// Writes to_string(), as the specification has it. Throws std::bad_alloc.
  template <class Context>
  auto format(foliot::duration length, Context& context) const {
    return fmt::formatter<std::string_view>::format(foliot::to_string(length), context);
  }
};

template <>
struct fmt::formatter<foliot::instant> : fmt::formatter<std::string_view> {
  /// Writes to_string(), as the specification has it. Throws std::bad_alloc.
  template <class Context>
  auto format(foliot::instant when, Context& context) const {
    return fmt::formatter<std::string_view>::format(foliot::to_string(when), context);
  }
};
