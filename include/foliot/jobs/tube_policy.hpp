// The policy of a tube: how often its jobs are tried, when the next try is, what follows the last one, how long a job
// may wait, and how many are worked on. Plain values; a policy_store (policy_store.hpp) acts by them.
//
//   policy_table policies;
//   policies["mail"] = {.tries = 5, .delay = {.first = 10s, .factor = 2, .most = 1h}, .dead_letters = "mail-dead"};
//
// A tube without a policy has the default one, which changes nothing: no last try, no expiry, no limits.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/export.h>
#include <foliot/jobs/job.hpp>

namespace foliot::jobs {

/// When a job that has failed is tried again: behind the n-th failed try after `listed[n - 1]`, the last of these for
/// all that follow; with an empty list after `first` * `factor` ^ (n - 1), and at most after `most`. By default at
/// once.
struct retry_delay {
  std::vector<milliseconds> listed = {};       ///< up to most_listed_delays, each from 0 to longest_retry_delay
  milliseconds first{};                        ///< 0 to longest_retry_delay
  double factor = 1;                           ///< 1 to 100
  milliseconds most = std::chrono::hours(24);  ///< 0 to longest_retry_delay
  /// Each delay is longer by a part of itself, which is from 0 to this: 0 to 1. The part depends on the job and the try
  /// alone, so that it is the same at each node.
  double jitter = 0;

  friend bool operator==(const retry_delay&, const retry_delay&) = default;
};

inline constexpr std::size_t most_listed_delays = 100;
inline constexpr milliseconds longest_retry_delay = std::chrono::hours(24 * 365);
/// The greatest bound of a policy: of tries, of jobs that are worked on, and of jobs a second.
inline constexpr std::uint32_t greatest_policy_bound = 1'000'000;

/// What a tube does with its jobs.
struct tube_policy {
  /// After so many failed tries a job is tried no more; 0: there is no last try. A try has failed when its worker has
  /// released the job (`counts_releases`), and when its reservation's TTR has ended (`counts_timeouts`). The death of a
  /// node, a drain and a lost connection are no failed tries. A kick, and a move to the dead letters, begin the count
  /// anew.
  std::uint32_t tries = 0;
  bool counts_releases = true;
  bool counts_timeouts = true;
  /// Before the next try. A release that asks for a later due time has that.
  retry_delay delay = {};
  /// Where a job goes behind its last try, with its history: a tube other than its own. Empty: it is buried in its own.
  std::string dead_letters = {};
  /// A job that has waited so long since its due time, without being reserved, is of no use any more: it ends as
  /// expired, and no worker gets it. Zero: it waits for ever. A release, a kick and a new due time begin the wait anew.
  milliseconds expires{};
  /// How many of the tube's jobs are reserved at most; 0: any number.
  std::uint32_t most_reserved = 0;
  /// How many of those with the same group (tag_of_group) are; 0: any number. Jobs without a group have no such limit.
  std::uint32_t most_reserved_of_group = 0;
  /// How many are reserved within a second, in the mean, and how many at once if none was for long; 0: any number.
  std::uint32_t most_per_second = 0;
  std::uint32_t burst = 1;  ///< 1 to greatest_policy_bound; only where `most_per_second` is not 0

  friend bool operator==(const tube_policy&, const tube_policy&) = default;
};

/// The policies of tubes by name. A tube that is missing has none.
using policy_table = std::map<std::string, tube_policy, std::less<>>;

/// What is wrong with the policy of this tube: a sentence that names the member, what it has and what it may have;
/// nothing if it is right.
[[nodiscard]] FOLIOT_EXPORT std::optional<std::string> mistake_in(std::string_view tube, const tube_policy& it);

/// How long the job waits behind its failed try of this number, from 1 on. Never negative, never longer than
/// longest_retry_delay * 2. O(1).
[[nodiscard]] FOLIOT_EXPORT milliseconds delay_behind(const retry_delay& by, job_id id, std::uint32_t failed) noexcept;

}  // namespace foliot::jobs
