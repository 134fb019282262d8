// The arguments of a command line, from left to right.
//
//   arguments left("5 @1000 urgent");
//   left.number(10);  // 5
//   left.due();       // a time
//   left.word();      // "urgent"
//
// Each call takes one argument off the front. Without the right one it takes nothing, or spaces, or the wrong word.
//
// Thread safety: one thread. O(length of the argument), without an allocation. Words point into the line.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include <foliot/jobs/limits.hpp>
#include <foliot/jobs/names.hpp>
#include <foliot/jobs/operations.hpp>

#include "command_line.hpp"
#include "commands.hpp"
#include "server/core/tube_name.hpp"

namespace foliot::program::beanstalk {

inline constexpr std::uint64_t max_u32 = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::uint64_t max_u64 = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t max_timeout = std::numeric_limits<std::int32_t>::max();
inline constexpr std::uint64_t max_milliseconds = std::uint64_t{jobs::longest_time.count()};
inline constexpr std::uint64_t max_utc =
    std::numeric_limits<std::int64_t>::max() / 1'000'000;  // where the wall clock ends

constexpr bool is_digit(char c) noexcept { return '0' <= c && c <= '9'; }

class arguments {
 public:
  explicit arguments(std::string_view rest) noexcept : rest_(rest) {}

  [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

  /// Digits after any number of spaces; nothing if there are none, or if they are more than `limit`.
  std::optional<std::uint64_t> number(std::uint64_t limit) noexcept {
    skip_spaces();
    return digits(limit);
  }

  std::optional<std::uint32_t> number() noexcept {
    const auto value = number(max_u32);
    return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
  }

  std::optional<jobs::milliseconds> seconds() noexcept {
    const auto value = number();
    return value ? std::optional<jobs::milliseconds>(std::chrono::seconds(*value)) : std::nullopt;
  }

  /// The characters of a tube's name after any number of spaces; empty if there are none.
  std::string_view name_characters() noexcept {
    skip_spaces();
    return take(static_cast<std::size_t>(std::ranges::find_if_not(rest_, is_tube_character) - rest_.begin()));
  }

  /// The characters up to the next space, after any number of spaces.
  std::string_view word() noexcept {
    skip_spaces();
    return take(std::min(rest_.find(' '), rest_.size()));
  }

  /// A due time: a delay in milliseconds, or `@` and a time.
  std::optional<jobs::due_at> due() noexcept {
    const std::string_view digits_of = word();
    const bool is_time = digits_of.starts_with('@');
    arguments left(digits_of.substr(is_time ? 1 : 0));
    const auto value = left.number(is_time ? max_utc : max_milliseconds);
    if (!value || !left.at_end()) return std::nullopt;
    const jobs::milliseconds length(*value);
    return is_time ? jobs::due_at(jobs::utc_time(length)) : jobs::due_at(length);
  }

  /// A job: an id, or `=` and a key.
  std::optional<job_reference> job() noexcept {
    const std::string_view name = word();
    if (name.starts_with('=')) {
      const std::string_view key = name.substr(1);
      return jobs::is_command_key(key) ? std::optional<job_reference>(key) : std::nullopt;
    }
    arguments left(name);
    const auto id = left.number(max_u64);
    return id && left.at_end() ? std::optional<job_reference>(*id) : std::nullopt;
  }

  /// As strtoul with base 10: white space, perhaps a sign, digits. Nothing without digits, or if they are too many for
  /// 64 bits. The result is reduced to 32 bits, as by beanstalkd: -1 is the greatest.
  std::optional<std::uint32_t> as_strtoul() noexcept {
    take(std::min(rest_.find_first_not_of(" \t\n\v\f\r"), rest_.size()));
    const bool negative = rest_.starts_with('-');
    if (negative || rest_.starts_with('+')) take(1);
    const auto value = digits(max_u64);
    if (!value) return std::nullopt;
    return static_cast<std::uint32_t>(negative ? 0 - *value : *value);
  }

 private:
  std::string_view take(std::size_t count) noexcept {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }

  void skip_spaces() noexcept { take(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  std::optional<std::uint64_t> digits(std::uint64_t limit) noexcept {
    if (rest_.empty() || !is_digit(rest_.front())) return std::nullopt;
    std::uint64_t value = 0;
    while (!rest_.empty() && is_digit(rest_.front())) {
      const auto digit = static_cast<std::uint64_t>(rest_.front() - '0');
      if (value > (limit - digit) / 10) return std::nullopt;
      value = value * 10 + digit;
      take(1);
    }
    return value;
  }

  std::string_view rest_;
};

}  // namespace foliot::program::beanstalk
