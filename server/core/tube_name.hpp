// The names of tubes that clients of all protocols can use: those that beanstalkd takes. A program that opens a store
// as a library may put jobs into tubes with other names.
//
// Thread safety: pure functions. O(length).
#pragma once

#include <algorithm>
#include <string_view>

#include <foliot/jobs/limits.hpp>

namespace foliot::program {

/// The rule for people: what a name must have.
inline constexpr std::string_view rule_of_tube_names =
    "1 to 200 of the characters A-Z a-z 0-9 - + / ; . $ _ ( ) and not begin with -";

[[nodiscard]] constexpr bool is_tube_character(char c) noexcept {
  return ('0' <= c && c <= '9') || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') ||
         std::string_view("-+/;.$_()").contains(c);
}

/// Whether clients can use a tube with this name, and so whether there can be tubes whose names begin so.
[[nodiscard]] constexpr bool is_tube_name(std::string_view name) noexcept {
  static_assert(jobs::longest_tube_name == 200);
  return !name.empty() && name.size() <= jobs::longest_tube_name && name.front() != '-' &&
         std::ranges::all_of(name, is_tube_character);
}

}  // namespace foliot::program
