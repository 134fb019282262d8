// A store and the oracle, which do the same steps. After each step the answers are compared, and so are the jobs that
// became ready, the reservations that ended, the time of the next change and the store's own invariants.
//
// A store may choose its ids, the openings of its tokens and the versions of its jobs. The twin keeps which id of the
// store belongs to which id of the oracle, and the same for tokens and versions: ids must ascend, no token may come
// twice but in the answer to a claim that is sent again, and a job has two versions of the store where it has two of
// the oracle, and one where it has one.
//
// A batch whose call to the disk fails has happened as a whole or not at all. The twin then keeps an oracle for either
// case, opens the store again, and looks at everything in it: at least one of the two must agree.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "conformance.hpp"
#include "oracle.hpp"
#include "request.hpp"

namespace foliot::jobs::conformance {

class twin {
 public:
  explicit twin(const store_kind& kind) : store_(kind) {}

  /// Does nothing after a failure.
  void perform(const step& it);
  /// The first difference.
  [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }
  /// How many batches failed because of a failing call.
  [[nodiscard]] int failed_batches() const { return failed_batches_; }
  /// How often puts have met holders.
  struct holders {
    int replaced = 0;  ///< puts that have replaced the job that their holder had
    int refused = 0;   ///< puts with a holder that were refused
    // Of these, those of a put_all of several puts.
    int replaced_in_all = 0;
    int refused_in_all = 0;
    int refused_behind = 0;  ///< put_alls that were refused at a later put than one with the holder of its job
  };
  [[nodiscard]] const holders& met_holders() const { return met_holders_; }

 private:
  struct pair_of_operations {
    operation oracles;
    operation stores;
  };

  using difference = std::optional<std::string>;

  void fail(std::string why);
  void reopen(ending how);
  void perform(const std::vector<request>& batch);
  /// Counts what a put with a holder has come to.
  void note_holders(const operation& what, const answer& got);
  void note_holders(const put_all& what, const put_all_answer& got);
  /// After a failed batch: opens the store again, and decides whether the batch has happened.
  void recover(const std::vector<operation>& failed);

  [[nodiscard]] pair_of_operations address(const request& it) const;
  [[nodiscard]] pair_of_operations address_put(const request& it) const;
  /// The same put by the holder of a job: of the key that it has, or of another one.
  [[nodiscard]] pair_of_operations address_to_held(const request& it, put both) const;
  /// What makes the operation happen once. A store may forget claims when it is opened again, or not, and what has
  /// ended by a clock that was then set back: so such keys are not used again.
  [[nodiscard]] once once_of(const request& it) const;
  /// Some puts, none of them with the key of another. The third one may meet a job with its key, and be refused.
  [[nodiscard]] pair_of_operations address_all(const request& it) const;
  /// A page of what is due next.
  [[nodiscard]] pair_of_operations due_behind(const request& it, job_id recent) const;
  /// A list of tubes, or a page of them.
  [[nodiscard]] static list_tubes tubes_behind(const request& it);
  /// A list of jobs, behind a recent one in most cases.
  [[nodiscard]] pair_of_operations list_behind(const request& it, job_id recent) const;
  /// The versions that the operation expects: the oracle's and the store's.
  struct pair_of_versions {
    job_version oracles = 0;
    job_version stores = 0;
  };
  [[nodiscard]] pair_of_versions expected_by(const request& it) const;
  /// Looks at the jobs whose present versions are expected by the batch.
  difference look_at_versions(const std::vector<request>& batch);
  [[nodiscard]] job_id recent_job(unsigned back) const;
  [[nodiscard]] job_id store_id(job_id oracles) const;
  [[nodiscard]] std::pair<reservation, reservation> recent_token(const request& it) const;
  [[nodiscard]] due_at due(const request& it) const;
  /// Those of this kind, of which no two puts have the same: 1 has one field, 2 some, 3 as much as there may be, 4
  /// none.
  [[nodiscard]] job_fields fields_of(unsigned kind) const;

  // Each compares what the oracle and the store say, and returns the difference, if there is one.
  difference compare(const execution& expected, const execution& got);
  difference compare_next();
  difference compare_answers(const answer& expected, const answer& got);
  difference compare_one(const put_answer& expected, const put_answer& got);
  difference compare_one(const put_all_answer& expected, const put_all_answer& got);
  difference compare_one(const claim_answer& expected, const claim_answer& got);
  difference compare_one(const change_answer& expected, const change_answer& got);
  difference compare_one(const peek_answer& expected, const peek_answer& got);
  difference compare_one(const due_answer& expected, const due_answer& got);
  difference compare_one(const jobs_answer& expected, const jobs_answer& got);
  template <class Answer>
  difference compare_one(const Answer& expected, const Answer& got);
  difference compare_job(const job& expected, const job& got);
  /// Whether the store's version of a job may belong to the oracle's. From now on it does.
  bool same_version(job_id oracles_id, job_version oracles, job_version stores);
  /// Whether the store's id may belong to the oracle's. From now on it does.
  bool same_job(job_id oracles, job_id stores);
  /// Compares all jobs, tubes and counts.
  difference audit();
  /// Binds the ids of jobs whose put was not acknowledged.
  void look_for_unacknowledged();

  open_store store_;
  oracle oracle_;
  std::map<job_id, job_id> store_ids_;   // by the oracle's
  std::map<job_id, job_id> oracle_ids_;  // by the store's
  job_id highest_id_ = 0;
  std::map<job_id, std::vector<pair_of_versions>>
      versions_;                                             // by the oracle's id, in the order in which they were seen
  std::vector<std::pair<reservation, reservation>> tokens_;  // the oracle's and the store's
  std::set<reservation> given_;                              // the store's
  int bodies_ = 0;
  unsigned openings_ = 1;
  unsigned wall_steps_ = 0;  ///< back
  int failed_batches_ = 0;
  holders met_holders_;
  std::optional<std::string> failure_;
};

}  // namespace foliot::jobs::conformance
