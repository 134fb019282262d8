// Scripts at random, for rapidcheck: it shrinks one that fails, and prints the seed that repeats it.
#pragma once

#include <rapidcheck/Gen.h>

#include <cstddef>

#include "script.hpp"

namespace foliot::conformance {

inline constexpr std::size_t timers_at_random = 12;

[[nodiscard]] rc::Gen<script> arbitrary_script();

}  // namespace foliot::conformance
