// What a policy says of a job: the decisions of a policy_store, as functions of plain values.
//
// A worker must never get a job whose policy forbids it, also if this process ends at any moment. So a decision depends
// only on what the store keeps of the job, and it is written down before the next one is taken: a job goes to the dead
// letters only once its history says that its last try has failed.
//
// Thread safety: any. Complexity: O(bytes of the history).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <foliot/jobs/job.hpp>
#include <foliot/jobs/job_tries.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/tube_policy.hpp>

namespace foliot::jobs::detail {

/// A job's tries, with what its counters say of the time since they were written.
struct reckoned_tries {
  job_tries tries;
  /// Whether the history could be read. Else nothing is counted, and what it has stays as it is.
  bool is_readable = true;
  std::uint32_t new_timeouts = 0;  ///< in tries.seen_timeouts already, but not in tries.failed
};

/// The tries of a job as its history and its counters say. A store may have forgotten counters (job_counters), so they
/// may be below the seen ones.
[[nodiscard]] reckoned_tries reckon(const job& it);
/// The same where the tries at an earlier claim are known, behind which no history was written.
[[nodiscard]] reckoned_tries reckon(const job& it, job_tries known);

/// Whether a failed try changes anything by this policy.
[[nodiscard]] bool acts_on_failures(const tube_policy& by) noexcept;

/// Counts the new timeouts as the policy says, and notes them. Whether one of them counts.
bool count_timeouts(const tube_policy& by, reckoned_tries& it, utc_time now);

/// Whether the job's own expiry has come: tag_of_expiry.
[[nodiscard]] bool has_expired_by_itself(const job& it, utc_time now);
/// Since when a job waits, whose tries these are: its due time; or what they say, if it has waited for its group and no
/// client has postponed it meanwhile.
[[nodiscard]] utc_time waits_since(const job& it, const reckoned_tries& of) noexcept;
/// Whether a ready job that waits since then has done so for as long as the policy allows.
[[nodiscard]] bool has_waited_too_long(const tube_policy& by, utc_time since, utc_time now) noexcept;
/// The job's group; empty: none.
[[nodiscard]] std::string_view group_of(const job& it) noexcept;

/// What becomes of a claimed job.
enum class fate : std::uint8_t {
  handed_out,  ///< the client gets it
  expired,     ///< it ends
  retried,     ///< it is released until its next try: a try has failed
  marked,      ///< it is released at once with the history, which says that its last try has failed; then it is moved
  moved,       ///< it goes to the dead letters
  buried,
};
struct judgement {
  fate what = fate::handed_out;
  reckoned_tries of;
  milliseconds delay{};                              ///< of `retried`
  std::optional<job_fields> history = std::nullopt;  ///< the one to be written
};

/// Judges a job that was claimed, and has waited since then.
[[nodiscard]] judgement judge(const tube_policy& by, const job& it, reckoned_tries of, utc_time now, utc_time since);

/// What a policy makes of a worker's release or bury.
struct rewritten_end {
  operation what;
  /// What follows when it is done.
  fate follows = fate::handed_out;
};

/// What is known of a reserved job whose worker ends its reservation.
struct ended_job {
  job_id id = 0;
  const job_fields& history;
  reckoned_tries of;
};

/// Whether the history of a release or a bury says why, or by whose work.
[[nodiscard]] bool has_report(const std::optional<job_fields>& history) noexcept;
/// Whether it says why.
[[nodiscard]] bool has_reason(const std::optional<job_fields>& history) noexcept;
/// Whether it says by whose work, and nothing else: nothing that a tube without a policy keeps.
[[nodiscard]] bool has_worker_alone(const std::optional<job_fields>& history) noexcept;

/// Null: the tube has no policy.
[[nodiscard]] rewritten_end rewrite(release what, const tube_policy* by, const ended_job& it, utc_time now);
[[nodiscard]] rewritten_end rewrite(bury what, const tube_policy* by, const ended_job& it, utc_time now);

/// The put that moves a job to the dead letters, once: without its own expiry.
[[nodiscard]] put dead_letter_of(const job& it, const job_tries& tries, const tube_policy& by, utc_time now);

}  // namespace foliot::jobs::detail
