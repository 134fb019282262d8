// The names that clients of a server can use: of tubes, those that beanstalkd takes, and of jobs, the keys that fit
// into a command. A program that opens a store as a library may use other names (limits.hpp), of which such clients see
// nothing.
//
// Thread safety: pure functions. O(length).
#pragma once

#include <foliot/core/language.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <foliot/jobs/limits.hpp>

namespace foliot::jobs {

/// Whether the names of tubes may have this character.
[[nodiscard]] constexpr bool is_tube_character(char c) noexcept {
  return ('0' <= c && c <= '9') || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') ||
         std::string_view("-+/;.$_()").contains(c);
}

/// Whether clients can use a tube with this name, and so whether there can be tubes whose names begin so.
[[nodiscard]] constexpr bool is_tube_name(std::string_view name) noexcept {
  static_assert(longest_tube_name == 200);
  return !name.empty() && name.size() <= longest_tube_name && name.front() != '-' &&
         std::ranges::all_of(name, is_tube_character);
}

/// The longest key in a command, in bytes: a line has room for it and all other arguments.
inline constexpr std::size_t longest_command_key = 128;

/// Whether a command may have this as the key of a job: visible ASCII characters, and not `-` alone.
[[nodiscard]] constexpr bool is_command_key(std::string_view text) noexcept {
  return !text.empty() && text.size() <= longest_command_key && text != "-" &&
         std::ranges::all_of(text, [](char c) { return '!' <= c && c <= '~'; });
}

}  // namespace foliot::jobs
