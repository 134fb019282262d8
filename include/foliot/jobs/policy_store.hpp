// A job store over another one, which acts by the policies of tubes (tube_policy.hpp): so each store has them, and none
// knows of them.
//
//   memory_store inner;
//   policy_store store(inner);
//   store.set_policies(std::make_shared<const policy_table>(policies));
//   broker broker(store);
//
// It looks at each job that a claim brings, and at each job whose TTR has ended, before a client gets it. A job that
// must not be worked on now is taken out of the answer, and what its policy says is done with the next batch, which
// next() asks for at once: it is released until its next try, buried, moved to the dead letters, or ended as expired.
// Until then its reservation is held here. So what a policy forbids is never handed out, at whatever node and after
// whatever crash; only the moment at which a job leaves the ready ones depends on when somebody looks.
//
//   released by its worker   with the due time of the next try, and the try in its history, in the same operation
//   TTR ended                claimed here, judged, and released or buried; or judged when a client's claim is first
//   last try failed          buried with its tries in the history; or, once its history says so, put into the dead
//                            letters, which happens once (once.hpp), and finished: a crash in between leaves it where
//                            it is, and nothing twice. A dead letter has the job's fields but for its own expiry
//   waited too long          finished here, and counted as expired; ready jobs that nobody claims are looked at, too: a
//                            hundred of one tube at a time, up to eight times a second, the tubes in turn
//   limits                   a tube that is full is left out of claims, and what a claim brings too much is abandoned;
//                            a job whose group is full is released for parking_time, longer if more than a thousand of
//                            its group wait (up to an hour), or until it expires, and made ready when one of its group
//                            ends. Its history keeps since when it has waited, if its tube has an expiry
//
// A job's own expiry (tag_of_expiry) holds in each tube. A client that names a job (claim_job) gets it whatever its
// tries and the limits, unless it has expired, or has been ready or delayed for too long, or its history says that it
// goes to the dead letters: then it may be there already.
//
// A release or a bury whose history has tag_of_reason or tag_of_worker adds its fields to the job's history, and these
// two to the tries: in a tube without a policy only if there is a reason, and a worker alone is dropped. Any other
// history replaces that of the job, and keeps its tries. A history without room for the numbers of the tries stays as
// it is: then timeouts alone count. Tries that a later version wrote stay, and nothing counts.
//
// Limits count the reservations that were made here, and those that count_tube shows for others. Several stores of one
// process that share the jobs, as the sessions of a server, count together if they are made so: their limits are exact,
// whichever of them makes and ends a reservation. Where several nodes share the jobs, most_reserved may be exceeded by
// what they claim at the same moment, most_reserved_of_group counts at each of them by itself, and most_per_second is
// divided by share(). A reservation that was made here and ended or was touched at another node is found by the counts;
// and where a group is full of it, or its TTR is over by what is known here, by a look at its job: within seconds, of
// up to 256 at a time.
//
// The steps that wait are bounded: while a tube has 1,024 of them, or 8 MiB, or all tubes have 64 MiB, nothing is
// claimed from that tube. So its ready jobs wait, too, while the database of its dead letters is away.
//
// Rare cases. The end of a TTR counts by the policy that is in force when this store looks at the job. If the answer to
// a claim is lost, the end of that reservation counts as a failed try, although no worker had the job. If the policy
// changes between the put of a dead letter and the end of its original, the original may be tried again, too.
//
// Invariants:
//   1. A reservation that was handed out while there were policies is in `held_` until it has ended.
//   2. A reservation that was made and not handed out has a step in `steps_`.
//   3. Each step that a store has refused for a moment is tried again, or its reservation has ended.
//   4. The slots that are taken are those of the reservations in `held_` whose tubes have limits, which check() proves;
//      with stores that count together, the slots of this one are among these.
//
// Thread safety: as job_store; set_policies(), share(), sweeps() and counters() by any thread. Stores that count
// together may be used by a thread each.
// Failures: those of the inner store. A step that the inner store refuses, or cannot execute, is tried again.
// Complexity: without policies a lock for each batch, and a look at the fields of each job that is claimed. Else O(log
// n) for each job, and O(n) for the n tubes that are full while somebody waits; O(reservations) when the policies
// change. A batch before, in which the store below shows the jobs that are named: for releases and buries by
// reservations that were made elsewhere or before there were policies; for those with a new history in a tube without
// a policy; for claim_job where some policy has an expiry. One for each claim with a `once` of which some tubes are
// full. Memory: about 300 bytes for each job that is reserved here, the history of those whose tube has a policy, and
// 100 bytes for each of up to 100,000 that wait for their groups.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <foliot/core/duration.hpp>
#include <foliot/core/export.h>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/store_clocks.hpp>
#include <foliot/jobs/tube_policy.hpp>

namespace foliot::jobs {

/// How long a job whose group is full waits before it is looked at again, for each thousand that wait: an hour at the
/// most.
inline constexpr milliseconds parking_time = std::chrono::minutes(1);

/// What policies have done to jobs.
struct policy_counters {
  std::uint64_t retried = 0;       ///< failed tries behind which another one follows
  std::uint64_t buried = 0;        ///< jobs that have had their last try
  std::uint64_t dead_letters = 0;  ///< jobs that were moved to the dead letters
  std::uint64_t expired = 0;       ///< jobs that have waited too long
  std::uint64_t parked = 0;        ///< jobs that waited for others of their group

  friend bool operator==(const policy_counters&, const policy_counters&) = default;
};

/// A store with policies.
class FOLIOT_EXPORT policy_store final : public job_store {
 public:
  /// Over this store, which must outlive it and whose clocks these must be. Without policies.
  explicit policy_store(job_store& inner, store_clocks clocks = {});
  /// The same, and counts together with another one, below which are the same jobs, and whose monotonic clock must be
  /// this one's. Each may be destroyed first.
  policy_store(job_store& inner, const policy_store& counts_with, store_clocks clocks = {});
  ~policy_store() override;

  /// From the next batch on, these are the policies; null: none. A job that is reserved ends by those of that time.
  void set_policies(std::shared_ptr<const policy_table> policies) noexcept;
  /// How many stores like this one share the jobs, at least 1; those that count together are one. For all of these.
  void share(std::uint32_t among) noexcept;
  /// Whether this store searches for ready jobs that have waited too long; by default it does. Where several stores
  /// share the jobs, one of them is enough.
  void sweeps(bool does) noexcept;
  /// What has been done so far.
  [[nodiscard]] policy_counters counters() const noexcept;

  execution execute(std::span<operation> batch) override;
  [[nodiscard]] next_change next() const noexcept override;
  [[nodiscard]] check_result check() override;
  void close() override;
  [[nodiscard]] store_figures figures() const override;
  [[nodiscard]] other_nodes* others() noexcept override;

 private:
  class state;

  job_store& inner_;
  std::unique_ptr<state> state_;
};

}  // namespace foliot::jobs
