// A snapshot of statistics as lines of text, and back: a statistics_socket writes them, `foliot top` reads them.
//
//   foliot-statistics 1
//   started 12
//   …
//   lateness 8123 640 17:2 33:1          sum and maximum in ns, then number:count of each bucket that is not empty
//   callback_time 912 300 9:3
//   slow 17400000 server.cpp:31 'reconnect'     how long in ns, the line that armed the timer, its name
//   end
//
// The number in the first line changes when the meaning of any other line does. The last line shows that the text is
// complete. Lines and names have
// control characters, bytes past ASCII, spaces (lines), quotes (names) and backslashes as \xNN.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include <foliot/core/export.h>
#include <foliot/service/statistics.hpp>

namespace foliot::inline service {

/// Returns the statistics as lines. A pure function, for any thread. Throws std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::string statistics_text(const service_snapshot& snapshot);

/// Reads the text of statistics_text. The error is a sentence without a full stop that says what is wrong with the
/// text. It may be printed to a terminal: it quotes little of the text, with control characters as \xNN. A pure
/// function, for any thread. Throws std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::expected<service_snapshot, std::string> parse_statistics(std::string_view text);

}  // namespace foliot::inline service
