// The version of a job, for the stores that keep jobs in this process (docs/decisions/0020-versions-of-jobs.md).
//
// It is a digest of what changes in a job, and of its id. The other parts need not be read: the tube, the key, the
// body, the fields, the TTR and the time of the put never change, and a new history comes with a release or a bury,
// which a counter counts. Whether a waiting job is ready is no part, because its due time may come without any change.
#pragma once

#include <cstdint>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>

namespace foliot::jobs::detail {

/// What the digest is made of.
struct version_parts {
  job_id id = 0;
  jobs::priority priority = 0;
  std::int64_t due = 0;    ///< in milliseconds since 1970
  std::int64_t delay = 0;  ///< in milliseconds
  job_counters counters;
  job_state state = job_state::ready;
  instant expires = instant::never();  ///< of a reserved job
};

/// The version of a job with these parts. Other parts have the same one with a probability of 2^-63.
[[nodiscard]] inline job_version version_of(const version_parts& it) noexcept {
  std::uint64_t digest = 0;
  // One step of SplitMix64, which is a bijection: http://dx.doi.org/10.1145/2714064.2660195
  const auto add = [&digest](std::uint64_t number) {
    digest = (digest ^ number) + 0x9e3779b97f4a7c15U;
    digest = (digest ^ (digest >> 30U)) * 0xbf58476d1ce4e5b9U;
    digest = (digest ^ (digest >> 27U)) * 0x94d049bb133111ebU;
    digest ^= digest >> 31U;
  };
  const auto pair = [](std::uint64_t high, std::uint32_t low) { return (high << 32U) | low; };
  add(it.id);
  add(static_cast<std::uint64_t>(it.due));
  add(static_cast<std::uint64_t>(it.delay));
  add(pair(it.priority, it.counters.reserves));
  add(pair(it.counters.timeouts, it.counters.releases));
  add(pair(it.counters.buries, it.counters.kicks));
  if (it.state == job_state::buried) add(1);
  if (it.state == job_state::reserved) add(static_cast<std::uint64_t>(it.expires.nanoseconds()));
  constexpr std::uint64_t bits = (std::uint64_t{1} << 63U) - 1;  // a signed number of a database has no more
  return (digest & bits) == 0 ? 1 : digest & bits;
}

[[nodiscard]] inline job_version version_of(const job& it) noexcept {
  return version_of({.id = it.id,
                     .priority = it.priority,
                     .due = it.due.time_since_epoch().count(),
                     .delay = it.delay.count(),
                     .counters = it.counters,
                     .state = it.state,
                     .expires = it.expires});
}

}  // namespace foliot::jobs::detail
