// std::format for durations and instants, where the standard library has it (that of g++ 13 does):
//
//   std::format("{} of {:>10}", taken, options.limit)
//
// The text is that of to_string(), and the specification that of a string. Where there is no std::format this header
// declares nothing: stream them, or call to_string(). adapters/fmt.hpp is the same for {fmt}.
#pragma once

#include <version>

#ifdef __cpp_lib_format

#include <format>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

template <>
struct std::formatter<foliot::duration> : std::formatter<std::string_view> {
  /// Writes to_string(), as the specification has it. Throws std::bad_alloc.
  template <class Context>
  auto format(foliot::duration length, Context& context) const {
    return std::formatter<std::string_view>::format(foliot::to_string(length), context);
  }
};

template <>
struct std::formatter<foliot::instant> : std::formatter<std::string_view> {
  /// Writes to_string(), as the specification has it. Throws std::bad_alloc.
  template <class Context>
  auto format(foliot::instant when, Context& context) const {
    return std::formatter<std::string_view>::format(foliot::to_string(when), context);
  }
};

#endif
