// What a server says about one of its jobs, by `stats-job` or `x-stats-job`.
//
// Thread safety: plain values.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <foliot/core/export.h>
#include <foliot/jobs/job.hpp>

namespace foliot::client {

/// A job without its body.
struct job_record {
  jobs::job_id id = 0;
  std::string tube;
  jobs::job_state state = jobs::job_state::ready;
  jobs::priority priority = 0;
  /// Whole seconds from beanstalkd.
  jobs::milliseconds ttr{};
  /// Until a delayed job is due, rounded down: less than a second is missing.
  std::uint64_t seconds_left = 0;
  /// When a job of foliot is due, in milliseconds since 1970; nothing from beanstalkd.
  std::optional<std::uint64_t> due;
  /// The key of a job of foliot; empty if it has none.
  std::string key;
  jobs::job_counters counters{};
  /// Of a job of foliot.
  jobs::job_fields fields{};
  /// The same.
  jobs::job_fields history{};
};

/// No server has given a higher id: they ascend from 1.
inline constexpr jobs::job_id highest_id = jobs::job_id{1} << 62;

/// Nothing if the dictionary lacks a line that every server writes, or has a value that no command can have, or fields
/// that are none. A key may have any bytes: some clients of foliot do not put by a command.
[[nodiscard]] FOLIOT_EXPORT std::optional<job_record> parse_job(std::string_view dictionary);

}  // namespace foliot::client
