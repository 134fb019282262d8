// What a runtime tells of itself as lines of text, and back: a runtime_statistics_socket writes them, `foliot top`
// reads them.
//
//   foliot-runtime 1
//   spawned 12
//   …
//   lateness 8123 640 17:2 33:1          sum and maximum in ns, then number:count of each bucket that is not empty
//   queue_time 912 300 9:3
//   turn_time 1204 310 9:3
//   task 1200 waiting read 12400000000 server.cpp:31 'session'
//   end
//
// The number in the first line changes when the meaning of any other line does. The last line shows that the text is
// complete. A line of tasks says how many they are, what they do, for what they wait if they wait (wait_kind.hpp), for
// how many ns (`-`: not measured), their place and their name. A task's place is `-` before its first co_await; places
// and names have control characters, spaces (places), quotes and backslashes as \xNN.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/export.h>
#include <foliot/runtime/statistics.hpp>
#include <foliot/runtime/task_report.hpp>

namespace foliot::runtime {

/// The statistics of a runtime, and its tasks.
struct runtime_snapshot {
  runtime_statistics statistics{};
  std::vector<task_group> tasks{};

  friend bool operator==(const runtime_snapshot&, const runtime_snapshot&) = default;
};

/// Returns the snapshot as lines. A pure function, for any thread. Throws std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::string statistics_text(const runtime_snapshot& now);

/// Reads the text of statistics_text. The error is a sentence without a full stop that says what is wrong with the
/// text. It may be printed to a terminal: it quotes little of the text, with control characters as \xNN. A pure
/// function, for any thread. Throws std::bad_alloc.
[[nodiscard]] FOLIOT_EXPORT std::expected<runtime_snapshot, std::string> parse_runtime_statistics(
    std::string_view text);

}  // namespace foliot::runtime

namespace foliot {
using runtime::parse_runtime_statistics;
using runtime::runtime_snapshot;
}  // namespace foliot
