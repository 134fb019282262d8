// The names of tubes that clients of all protocols can use: those that beanstalkd takes. A program that opens a store
// as a library may put jobs into tubes with other names.
//
// Thread safety: pure functions. O(length).
#pragma once

#include <string_view>

#include <foliot/jobs/names.hpp>

namespace foliot::program {

/// The rule for people: what a name must have.
inline constexpr std::string_view rule_of_tube_names =
    "1 to 200 of the characters A-Z a-z 0-9 - + / ; . $ _ ( ) and not begin with -";

using jobs::is_tube_character;
using jobs::is_tube_name;

}  // namespace foliot::program
