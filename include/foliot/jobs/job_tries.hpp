// What has become of a job's tries, as its history (fields.hpp) keeps it: how many have failed, and of the last ones
// when, how, why, and at which worker.
//
//   const auto tries = job_tries::in(claimed.job.history);   // nothing: they cannot be read
//   tries->note({.when = now, .how = failed_try::kind::released, .why = "the mailbox is full"});
//   if (!tries->write(history)) …                            // it has no room
//
// A worker says why it gives a job back, and who it is, by the fields tag_of_reason and tag_of_worker in the history of
// its release or bury. A policy_store takes them from there into the tries.
//
// Thread safety: as a std::vector.
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <foliot/core/export.h>
#include <foliot/jobs/fields.hpp>
#include <foliot/jobs/job.hpp>

namespace foliot::jobs {

/// Of a put's fields: the group of the job, 1 to most_group_bytes (tube_policy::most_reserved_of_group); and its own
/// expiry, as 8 bytes, big-endian, of milliseconds since 1970: from then on no worker gets it.
inline constexpr field_tag tag_of_group = 0x0006;
inline constexpr field_tag tag_of_expiry = 0x0005;
inline constexpr std::size_t most_group_bytes = 200;

/// Of a history: the tries; and, only in a release or a bury, the reason and the worker.
inline constexpr field_tag tag_of_tries = 0x0100;
inline constexpr field_tag tag_of_reason = 0x0101;
inline constexpr field_tag tag_of_worker = 0x0102;

/// The most bytes that are kept of a reason and of a worker's name. A longer text is cut between two characters of
/// UTF-8.
inline constexpr std::size_t most_reason_bytes = 300;
inline constexpr std::size_t most_worker_bytes = 100;
/// How many of the last tries are kept. All of them need less than half of most_field_bytes.
inline constexpr std::size_t most_kept_tries = 8;

/// A try that has ended without a finish.
struct failed_try {
  /// How it has ended.
  enum class kind : std::uint8_t {
    released,   ///< its worker has given it back
    timed_out,  ///< its TTR has ended
    buried,     ///< its worker has set it aside
    /// Not a try: the job came from another tube, `why`, as one of its dead letters. `worker` has its id there, and
    /// behind a space its key, if it had one.
    moved,
  };
  utc_time when{};
  kind how = kind::released;
  std::string why = {};     ///< empty: not known
  std::string worker = {};  ///< empty: not known

  friend bool operator==(const failed_try&, const failed_try&) = default;
};

/// The tries of a job.
struct FOLIOT_EXPORT job_tries {
  /// How many have failed since the last kick or move, as the tube's policy counts.
  std::uint32_t failed = 0;
  /// Which of job_counters are in `failed` or have been left out, so that none counts twice.
  std::uint32_t seen_timeouts = 0;
  std::uint32_t seen_kicks = 0;
  /// Of a job that waits for its group (tube_policy::most_reserved_of_group): since when it has waited in all, which
  /// its due time does not say; and the due time that it was given. Both are zero for any other job.
  utc_time waits_since{};
  utc_time parked_until{};
  /// The last ones, the oldest first: up to most_kept_tries.
  std::vector<failed_try> last = {};

  friend bool operator==(const job_tries&, const job_tries&) = default;

  /// Adds a try to the last ones, cut to the bounds; does not count it.
  void note(failed_try one);
  /// The tries in a history: none if it has no such field; nothing if that cannot be read, as a later version wrote it.
  [[nodiscard]] static std::optional<job_tries> in(const job_fields& history);
  /// Writes them into a history. If there is no room, drops the oldest ones. False: there is none for the numbers; the
  /// history is as before. O(bytes).
  [[nodiscard]] bool write(job_fields& history) const;
};

}  // namespace foliot::jobs
