// Durations as people write them: 30m, 1h30m, 1.5h, 90s, 500ms, 2d.
//
// A duration is one or more numbers, each with its unit: d, h, m, s, ms, us or ns. A number may have a
// decimal fraction; what lies below a nanosecond is rounded up, as foliot rounds every duration.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include <foliot/core/duration.hpp>

namespace foliot::program {

/// The duration, always positive, or a sentence that says what is wrong with the text.
[[nodiscard]] std::expected<duration, std::string> parse_duration(std::string_view text);

/// The shortest such text for a duration that is not negative, in whole numbers: 1h30m, 0s.
[[nodiscard]] std::string duration_text(duration length);

}  // namespace foliot::program
