// Durations as people write them, and as to_string() writes them: 30m, 1h30m, 1.5h, 90s, 500ms, 2d.
//
// A duration is one or more numbers, each with its unit: d, h, m, s, ms, us or ns. A number may have a decimal
// fraction; fractions of a nanosecond are rounded up, as foliot rounds every duration.
//
// Thread safety: pure functions.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include <foliot/core/duration.hpp>

namespace foliot::program {

/// The duration, which is positive, or a sentence on what is wrong with the text.
[[nodiscard]] std::expected<duration, std::string> parse_duration(std::string_view text);

}  // namespace foliot::program
