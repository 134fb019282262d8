// A snapshot of statistics as lines of text, and back: what a statistics_socket answers, and `foliot top` reads.
//
//   foliot-statistics 1
//   started 12
//   …
//   lateness 8123 640 17:2 33:1          sum and maximum in ns, then the buckets that are not empty: number, count
//   callback_time 912 300 9:3
//   end
//
// The number in the first line changes with the meaning of any other. The last line says that nothing is missing.
// Thread safety: pure functions.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include <foliot/core/export.h>
#include <foliot/service/statistics.hpp>

namespace foliot::inline service {

/// Throws std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::string statistics_text(const service_statistics& now);

/// What statistics_text was given; or a sentence, without a full stop, that says what is wrong with the text. It may be
/// shown on a terminal: what it quotes of the text is short, and has its control characters as \xNN.
[[nodiscard]] FOLIOT_EXPORT std::expected<service_statistics, std::string> parse_statistics(std::string_view text);

}  // namespace foliot::inline service
