// A job: a piece of work that becomes ready at its due time and is then handed to one worker. Plain values.
//
//   put ──> delayed ──its due time──> ready ──claim──> reserved ──finish──> gone
//                                      ^                  │
//                                      └── release, or its TTR has ended
//
// transitions.hpp has all states and events. Jobs lie in tubes: named groups from which workers claim. Of the ready
// jobs of a tube the one with the lowest priority number comes first, and of equal priorities the one with the lowest
// id.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/fields.hpp>

namespace foliot::jobs {

/// The number of a job. A store gives them in ascending order, from 1, and gives none twice. 0 is no job.
using job_id = std::uint64_t;

/// A time of the wall clock, in UTC, to the millisecond: due times, and the time at which a job was made.
using utc_time = std::chrono::sys_time<std::chrono::milliseconds>;

/// A length of time: delays and TTRs. Never negative.
using milliseconds = std::chrono::milliseconds;

/// Names what a job has come to, so that a later operation can say which job its client has seen: it is another one
/// after each change of the job, and the end of a reservation is one. It stays when the due time comes, and a restart
/// of the embedded store may bring back the one from before a claim. 0 is no version, and none is above 2^63 - 1. Only
/// to be compared, for equality, and among the versions of one job: docs/decisions/0020-versions-of-jobs.md.
using job_version = std::uint64_t;

/// How urgent a job is: lower numbers come first. A ready job below `urgent_below` counts as urgent in the statistics.
using priority = std::uint32_t;
inline constexpr priority urgent_below = 1024;

/// Where a job is. A job that has ended is in no state: it is gone.
enum class job_state : std::uint8_t {
  delayed,   ///< its due time has not come
  ready,     ///< the next worker that claims from its tube may get it
  reserved,  ///< one worker has it
  buried,    ///< set aside until a client kicks it
};

/// What a worker shows to change a job that it has reserved. A store never gives the same reservation twice: workers
/// may use it to recognise work that they have done before.
struct reservation {
  job_id id = 0;
  /// The opening of the store, or its connection to the database, that gave it. In no order.
  std::uint64_t opening = 0;
  /// Rises with each reservation of this job.
  std::uint64_t attempt = 0;

  friend auto operator<=>(const reservation&, const reservation&) noexcept = default;
};

/// How often things have happened to a job. A store may forget what has happened since the job was last stored when it
/// is opened again.
struct job_counters {
  std::uint32_t reserves = 0;
  std::uint32_t timeouts = 0;
  std::uint32_t releases = 0;
  std::uint32_t buries = 0;
  std::uint32_t kicks = 0;

  friend bool operator==(const job_counters&, const job_counters&) noexcept = default;
};

/// All that a store knows of a job.
struct job {
  job_id id = 0;
  std::string tube;
  /// The name that its client gave it, unique among the jobs of its tube; empty if none.
  std::string key;
  std::string body;
  jobs::priority priority = 0;
  job_state state = job_state::ready;
  /// When it was put.
  utc_time made{};
  /// When it becomes or became ready: never before this time of the store's clock.
  utc_time due{};
  /// The delay that its last put, release or reschedule asked for.
  milliseconds delay{};
  /// How long a worker may keep it between its claim, or its last touch, and its end.
  milliseconds ttr{};
  /// Only where it is reserved: when the reservation ends, by the store's monotonic clock; never() elsewhere.
  instant expires = instant::never();
  job_counters counters{};
  /// What its put brought besides the body. It never changes.
  job_fields fields{};
  /// What has become of it: as the last release or bury that brought a history has left it, or as its put brought it.
  job_fields history{};

  friend bool operator==(const job&, const job&) = default;
};

/// What a job brings to its worker, or a put to its store, in bytes: the body, the fields and the history.
template <class Job>
[[nodiscard]] std::uint64_t content_bytes(const Job& it) noexcept {
  return it.body.size() + it.fields.bytes().size() + it.history.bytes().size();
}

/// A job that a worker has got, with what the worker needs to end it.
struct claimed_job {
  reservation token;
  jobs::job job;

  friend bool operator==(const claimed_job&, const claimed_job&) = default;
};

/// How many jobs of a tube, or of a store, are in each state.
struct job_counts {
  std::uint64_t urgent = 0;  ///< of the ready ones, those with a priority below urgent_below
  std::uint64_t ready = 0;
  std::uint64_t reserved = 0;
  std::uint64_t delayed = 0;
  std::uint64_t buried = 0;

  /// The jobs in all states.
  [[nodiscard]] constexpr std::uint64_t all() const noexcept { return ready + reserved + delayed + buried; }
  friend bool operator==(const job_counts&, const job_counts&) noexcept = default;
};

}  // namespace foliot::jobs
