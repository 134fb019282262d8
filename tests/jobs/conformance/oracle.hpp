// The oracle of the conformance suite: a model of a job store that shares nothing with any store but the table of
// transitions. All jobs lie in one vector in the order of their ids, and every question is a scan of it.
//
// It can be copied: where a failed batch may have happened or not, the suite keeps a copy for either case.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/transitions.hpp>

namespace foliot::jobs::conformance {

class oracle {
 public:
  /// A job, and what a store may have forgotten of it.
  struct entry {
    jobs::job job;
    std::uint64_t attempts = 0;
    /// The opening that its present reservation belongs to.
    std::uint64_t opening = 0;
    /// When it was buried, in the order of all burials.
    std::uint64_t burial = 0;
    /// The counters at the last write that every store must make.
    job_counters written;
    /// How much lower a store may show each counter, since it was opened again.
    job_counters forgotten;
  };

  /// An operation that has happened once.
  struct memory {
    jobs::once what;
    /// From here on it is forgotten.
    utc_time end;
    std::string tube;  ///< of a put
    answer result;
  };

  /// As job_store::execute() at these times. Of ready_tubes it names those that a store must name.
  execution execute(std::span<const operation> batch, std::chrono::sys_time<std::chrono::nanoseconds> wall,
                    instant now);
  [[nodiscard]] next_change next() const;

  // Of a store that several nodes share: the simulated database (nodes/simulated_server.hpp).

  /// The same for a node of this opening: of the reservations whose time is over, it ends only these.
  execution execute_for(std::uint64_t opening, std::span<const reservation> over, std::span<const operation> batch,
                        std::chrono::sys_time<std::chrono::nanoseconds> wall, instant now);
  /// The next jobs get ids from `last` + `step` on, in these steps.
  void give_ids(job_id last, job_id step) {
    last_id_ = last;
    id_step_ = step;
  }
  /// The jobs of this tube go to another oracle.
  [[nodiscard]] std::vector<entry> take_out(const std::string& tube);
  void bring_in(std::vector<entry> jobs);
  /// The puts into this tube that have happened once.
  [[nodiscard]] std::vector<memory> memories_of(const std::string& tube) const;
  void bring_in(std::vector<memory> memories);
  /// Whether an operation with this key is remembered at this time.
  [[nodiscard]] bool remembers(const sha256& key, utc_time at) const;

  /// The store is opened again: reservations, pauses and the memory of claims are gone.
  void reopen();

  /// A store has shown these counters of a job. False: they are neither the oracle's, nor lower by no more than a
  /// store may have forgotten. From now on they are the oracle's.
  [[nodiscard]] bool learn(job_id id, const job_counters& shown);

  [[nodiscard]] entry* find(job_id id);
  [[nodiscard]] entry* find(const job_name& name);
  [[nodiscard]] const std::vector<entry>& entries() const { return jobs_; }
  [[nodiscard]] job_id last_id() const { return last_id_; }
  /// The latest due time of the ready and the reserved jobs.
  [[nodiscard]] utc_time latest_ready() const;

 private:
  /// What is answered to an operation that has happened once, if it is remembered.
  template <class Answer>
  [[nodiscard]] std::optional<Answer> replay(const jobs::once& what);
  void remember(const jobs::once& what, const std::string& tube, answer result);
  answer perform(const put& what);
  put_answer put_one(const put& what);
  answer perform(const claim& what);
  claim_answer claim_some(const claim& what);
  answer perform(const claim_job& what);
  answer perform(const finish& what);
  answer perform(const release& what);
  answer perform(const abandon& what);
  answer perform(const bury& what);
  answer perform(const touch& what);
  answer perform(const kick& what);
  answer perform(const kick_job& what);
  answer perform(const cancel& what);
  answer perform(const reschedule& what);
  answer perform(const fire_now& what);
  answer perform(const pause& what);
  answer perform(const peek& what);
  answer perform(const peek_first& what);
  answer perform(const count_tube& what);
  answer perform(const count_all& what);
  answer perform(const list_tubes& what);
  answer perform(const list_due& what);
  answer perform(const list_nodes& what);
  answer perform(const clear_tube& what);
  answer perform(const list_jobs& what);
  answer perform(const put_all& what);

  void advance();
  /// A digest of all that is seen of a job, except whether its due time has come.
  [[nodiscard]] static job_version version_of(const job& it);
  [[nodiscard]] static change_answer other_version(const entry& it) {
    return {change_answer::kind::other_version, it.job.id, version_of(it.job)};
  }
  [[nodiscard]] static bool is_expected(const entry& it, job_version expected) {
    return expected == 0 || expected == version_of(it.job);
  }
  execution execute(std::span<entry* const> over, std::span<const operation> batch);
  void begin(std::chrono::sys_time<std::chrono::nanoseconds> wall, instant now);
  [[nodiscard]] static reservation token_of(const entry& it) { return {it.job.id, it.opening, it.attempts}; }
  [[nodiscard]] entry* held(const reservation& token);
  /// The first job of a tube in a state: by priority, due time or burial, then by id.
  [[nodiscard]] entry* first(const std::string& tube, job_state state);
  /// Moves a job by the table. False: refused.
  bool move(entry& it, job_event event);
  void erase(job_id id);
  claimed_job take(entry& it, job_event event, std::uint64_t opening);
  void set_due(entry& it, const due_at& due) const;
  [[nodiscard]] bool paused(const std::string& tube) const;

  std::vector<entry> jobs_;
  std::vector<std::pair<std::string, instant>> pauses_;
  std::vector<memory> memories_;
  job_id last_id_ = 0;
  job_id id_step_ = 1;
  std::uint64_t opening_ = 1;
  bool is_shared_ = false;  // so that openings say which reservations last (claim::lasting)
  std::uint64_t burials_ = 0;
  // Of the batch that is being executed:
  utc_time utc_{};     // rounded down
  utc_time utc_up_{};  // rounded up
  instant now_;
  std::vector<job_id> made_ready_;
  std::vector<std::string> unpaused_;
  std::set<std::string> left_;  ///< tubes that have lost a job in this batch while they were paused
};

}  // namespace foliot::jobs::conformance
