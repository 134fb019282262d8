// A naive model of what clients of a policy_store may see. It knows nothing of the steps inside: of each job it keeps
// what the answers, the clocks and the policies allow, and it says when an answer, or a job at rest, is none of that.
//
// Where more than one thing may have happened - an operation is in doubt, a kick has chosen its jobs, a moment is not
// known exactly - the model keeps each as a life of the job. What is seen later leaves those lives that agree with it;
// if none does, the store is wrong. Jobs are known by their bodies, no two of which are equal: so a dead letter is the
// same job as the one that it was.
//
// Rules, each with a canary (canary_test.cpp):
//   - a claim hands a job out only behind its due time, never early, with tries left, and before its expiry;
//   - no two hand-outs of a job at once, and none behind its end;
//   - the limits of its tube hold at each hand-out;
//   - at rest each job is where its policy puts it: ready, delayed until exactly its next try, buried, or once among
//   the
//     dead letters, with its body, its fields, its history, and its tries in that;
//   - no job is missing, but those that were ended and those that may have waited too long.
//
// Thread safety: none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/job_tries.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/store_clocks.hpp>
#include <foliot/jobs/tube_policy.hpp>

namespace foliot::jobs::policies_model {

/// A time by both clocks.
struct moment {
  std::chrono::sys_time<std::chrono::nanoseconds> wall{};
  instant monotonic{};

  [[nodiscard]] static moment of(const store_clocks& clocks) { return {clocks.wall_time(), clocks.monotonic->now()}; }
  [[nodiscard]] utc_time down() const { return std::chrono::floor<milliseconds>(wall); }
  [[nodiscard]] utc_time up() const { return std::chrono::ceil<milliseconds>(wall); }
};

/// A try that must be among the last ones of a job.
struct expected_try {
  failed_try::kind how = failed_try::kind::released;
  std::string why = {};
  std::string worker = {};
  utc_time from{};
  utc_time until = utc_time::max();
  bool may_be_missing = false;

  friend bool operator==(const expected_try&, const expected_try&) = default;
};

/// What may have become of a job.
struct life {
  enum class place : std::uint8_t {
    absent,     ///< its put is in doubt, and has not happened
    waiting,    ///< ready, or delayed
    held,       ///< a client has it
    condemned,  ///< it has had its last try: it goes to the buried, or to the dead letters
    buried,
    gone,
  };
  place where = place::waiting;
  std::string tube = {};
  job_id id = 0;          ///< 0: not seen yet
  bool is_moved = false;  ///< it is one of the dead letters
  std::uint32_t failed = 0;
  std::uint32_t kicks = 0;
  std::uint32_t timeouts = 0;  ///< of the reservations that clients had
  std::uint32_t unwritten =
      0;  ///< of these, those behind which no operation has written the job: a crash may lose them
  std::uint32_t unwritten_failed = 0;  ///< of these, those that are in `failed`
  /// Of the reservations of the store itself, and of unknown ones, that may be in `failed` or not. Only if it is loose.
  std::uint32_t phantoms = 0;
  /// When it becomes ready: within these.
  utc_time due_from{};
  utc_time due_until{};
  bool is_ripe = false;  ///< the store has seen that time: it stays ready when the clock is set back
  /// When its wait has begun: within these. Only for `expires`.
  utc_time wait_from{};
  utc_time wait_until{};
  bool may_be_expired = false;
  utc_time seen_parked{};    ///< its due time, as it waits for its group
  utc_time parked{};         ///< the same, when the policies changed
  bool is_unjudged = false;  ///< the store was opened again, or the policies changed, behind the end of its TTR
  reservation token{};
  instant ends{};               ///< of its reservation
  milliseconds open_delay{-1};  ///< not negative: due_until is so long behind the next rest
  std::vector<expected_try> tries = {};
  std::string others = {};  ///< the encoding of its history without what is of policies

  friend bool operator==(const life&, const life&) = default;
};

/// What never changes of a job, and what may have become of it.
struct known_job {
  jobs::priority priority = 0;  ///< of its put: the walks change it nowhere else
  milliseconds ttr{};
  std::string key = {};
  std::string fields = {};
  std::string fields_of_dead_letter = {};  ///< which has no expiry of its own
  std::string group = {};
  std::optional<utc_time> own_expiry = std::nullopt;
  bool has_expired = false;  ///< for the figures
  std::vector<life> lives = {};
};

class judge {
 public:
  /// How exactly the steps of the store follow the clock.
  enum class rigour : std::uint8_t {
    strict,  ///< the store is asked whenever next() says so, and nothing fails
    /// It is asked late, or refuses: its own reservations may end by their TTR, and count as timeouts.
    loose,
  };
  explicit judge(rigour how) : rigour_(how) {}

  void set_policies(policy_table policies);
  /// The first thing that was wrong.
  [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }
  void fail(const std::string& why) {
    if (!failure_) failure_ = why;
  }

  /// The store is asked now: what time has brought.
  void time_is(const moment& now);
  /// What an operation was answered. Of the claims those that were handed out.
  void answered(const operation& what, const answer& got, const moment& now);
  /// It may have been executed, or not.
  void in_doubt(const operation& what, const moment& now);
  /// The store has been opened again. `forgets`: a crash, so that what is not known to be written may be lost.
  void reopened(const moment& now, bool forgets);
  /// Nothing is left to be done at this time, and these are all jobs.
  void at_rest(const std::vector<job>& all, const moment& now);
  /// Time has passed at rest, and next() was followed: what has waited too long is gone since.
  void nothing_overdue(const moment& now);

  /// Whether a claim of this tube must bring a job, if it is not paused: for the end of a walk. Says which.
  [[nodiscard]] std::optional<std::string> owed_by(const std::string& tube, const moment& now) const;
  /// The bodies of the jobs that a client surely has.
  [[nodiscard]] std::set<std::string> held_bodies(const moment& now) const;
  [[nodiscard]] const std::map<std::string, known_job>& known() const { return jobs_; }
  /// How often what has come to pass: so that a test knows that its walks come to it.
  struct figures {
    std::uint64_t handed_out = 0;
    std::uint64_t condemned = 0;
    std::uint64_t moved = 0;
    std::uint64_t expired = 0;
    std::uint64_t retried = 0;
    std::uint64_t timed_out = 0;
    std::uint64_t kicked = 0;
    std::uint64_t in_doubt = 0;
    std::uint64_t full = 0;  ///< hand-outs behind which a limit was reached
  };
  [[nodiscard]] const figures& seen() const { return seen_; }

 private:
  using lives = std::vector<life>;
  enum class way : std::uint8_t { claim, claim_job, replay };

  [[nodiscard]] const tube_policy* policy_of(const std::string& tube) const;
  [[nodiscard]] known_job* holder_of(const reservation& token);

  void put_one(const put& what, const put_answer& got, const moment& now);
  void claimed(const operation& what, const claim_answer& got, way how, const moment& now);
  void hand_out(const claimed_job& got, way how, const moment& now);
  void count_hand_out(const std::string& body, const std::string& tube, const moment& now);
  template <class Operation>
  void ended(const Operation& what, const holder_answer& got, const moment& now);
  template <class Operation>
  void changed(const Operation& what, const change_answer& got, job_id id, const moment& now);
  void kick_some(const std::string& tube, const moment& now);

  // What becomes of a life by an operation that is executed.
  void apply(life& it, const release& what, const known_job& of, const moment& now);
  void apply(life& it, const bury& what, const known_job& of, const moment& now);
  void apply(life& it, const finish& what, const known_job& of, const moment& now);
  void apply(life& it, const abandon& what, const known_job& of, const moment& now);
  void apply(life& it, const touch& what, const known_job& of, const moment& now);
  void apply(life& it, const kick_job& what, const known_job& of, const moment& now);
  void apply(life& it, const cancel& what, const known_job& of, const moment& now);
  void apply(life& it, const reschedule& what, const known_job& of, const moment& now);
  void apply(life& it, const fire_now& what, const known_job& of, const moment& now);
  void time_out(life& it, const moment& now);
  /// Whether its TTR has just ended as its policy counts.
  void end_try(life& it, bool counts, utc_time asked, const moment& now);
  /// The same as one of the dead letters in this tube, if it may be one by now.
  [[nodiscard]] std::optional<life> moved_to(const std::string& tube, const known_job& of, const life& it,
                                             const moment& now) const;

  [[nodiscard]] bool is_exhausted(const life& it) const;
  /// Why it must not be handed out.
  [[nodiscard]] std::optional<std::string> forbids(const known_job& of, const life& it, way how,
                                                   const moment& now) const;
  [[nodiscard]] std::optional<std::string> differs(const known_job& of, const job& got) const;
  /// Why the job that is at rest is not this life; else what is now known of it is in it.
  [[nodiscard]] std::optional<std::string> refutes(const known_job& of, life& it, const job& got,
                                                   const moment& now) const;
  [[nodiscard]] std::optional<std::string> refutes_place(const known_job& of, life& it, const job& got,
                                                         const moment& now) const;
  [[nodiscard]] std::optional<std::string> refutes_tries(life& it, const job& got) const;
  [[nodiscard]] bool is_group_full(const known_job& of, const std::string& tube, const moment& now) const;
  [[nodiscard]] std::size_t held_of(const std::string& tube, const std::string* group, const moment& now) const;
  [[nodiscard]] static std::optional<utc_time> own_expiry_of(const known_job& of, const life& it);
  [[nodiscard]] bool may_be_left(const job& one, const job& other) const;
  [[nodiscard]] bool may_count_phantoms(const tube_policy& by) const;
  [[nodiscard]] utc_time must_have_expired(const known_job& of, const life& it) const;

  rigour rigour_;
  policy_table policies_;
  std::map<std::string, known_job> jobs_;  // by their bodies
  std::map<reservation, std::string> tokens_;
  std::map<std::string, std::vector<instant>> hand_outs_;  // by tubes, of those with a rate
  std::set<std::string> letters_;                          // the tubes that have had dead letters
  utc_time latest_ = utc_time::min();                      ///< that the wall clock has shown
  std::optional<std::string> failure_;
  figures seen_;
};

}  // namespace foliot::jobs::policies_model
