// Lines of a statistics text, each with a name and a number or a histogram, written and read: statistics_text() of the
// service and of the runtime.
//
// Thread safety: none; plain objects and pure functions.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include <foliot/core/export.h>
#include <foliot/core/histogram.hpp>

namespace foliot::detail {

/// Appends `name number`, on a line of its own.
FOLIOT_EXPORT void append_line(std::string& to, std::string_view name, std::uint64_t number);
/// Appends `name sum max bucket:count …`, in nanoseconds.
FOLIOT_EXPORT void append_line(std::string& to, std::string_view name, const histogram& values);

/// Reads the text from its beginning. Text that does not match stays unread.
class line_reader {
 public:
  explicit line_reader(std::string_view text) noexcept : left_(text) {}

  [[nodiscard]] bool skip(std::string_view expected) noexcept {
    if (!left_.starts_with(expected)) return false;
    left_.remove_prefix(expected.size());
    return true;
  }
  template <class Number>
  [[nodiscard]] bool read(Number& number) noexcept {
    const auto [stop, error] = std::from_chars(left_.data(), left_.data() + left_.size(), number);
    if (error != std::errc()) return false;
    left_.remove_prefix(static_cast<std::size_t>(stop - left_.data()));
    return true;
  }
  /// `name number`, on a line of its own.
  template <class Number>
  [[nodiscard]] bool line(std::string_view name, Number& number) noexcept {
    return skip(name) && skip(" ") && read(number) && skip("\n");
  }
  [[nodiscard]] bool line(std::string_view name, histogram& values) noexcept {
    std::uint64_t sum = 0;
    std::int64_t max = 0;
    if (!(skip(name) && skip(" ") && read(sum) && skip(" ") && read(max)) || max < 0) return false;
    values.restore_sum(sum, duration::nanoseconds(max));
    while (skip(" ")) {
      std::size_t bucket = 0;
      std::uint64_t count = 0;
      if (!(read(bucket) && skip(":") && read(count)) || bucket >= histogram::buckets) return false;
      values.restore(bucket, count);
    }
    return skip("\n");
  }

  /// Text of append_escaped() up to `end`, which is skipped.
  [[nodiscard]] FOLIOT_EXPORT bool read_escaped(std::string& text, char end);

  [[nodiscard]] std::string_view left() const noexcept { return left_; }

 private:
  std::string_view left_;
};

/// A counter of a struct, and the name of its line.
template <class Counters>
struct named_counter {
  std::string_view name;
  std::uint64_t Counters::* field;
};
static_assert(sizeof(std::size_t) == sizeof(std::uint64_t));  // so that all counters have one type

template <class Names, class Counters>
void append_lines(std::string& to, const Names& names, const Counters& counters) {
  for (const auto& [name, field] : names) append_line(to, name, counters.*field);
}
template <class Names, class Counters>
[[nodiscard]] bool read_lines(line_reader& from, const Names& names, Counters& counters) noexcept {
  for (const auto& [name, field] : names) {
    if (!from.line(name, counters.*field)) return false;
  }
  return true;
}

/// Appends the text with control characters, bytes past ASCII, backslashes and the characters of `also` as \xNN.
FOLIOT_EXPORT void append_escaped(std::string& to, std::string_view text, std::string_view also);

/// The beginning of an untrusted line, in quotes, with its control characters escaped for a terminal.
[[nodiscard]] FOLIOT_EXPORT std::string excerpt(std::string_view line);

/// The error for a text whose first line is not that of its kind. `family` is how the first lines of all versions
/// begin.
[[nodiscard]] FOLIOT_EXPORT std::string wrong_beginning(std::string_view text, std::string_view family);
/// The error for a text that could not be read from `left` on.
[[nodiscard]] FOLIOT_EXPORT std::string malformed(std::string_view text, std::string_view left);

}  // namespace foliot::detail
