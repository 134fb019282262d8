// One turn of an action: a bounded piece of its count or of its run, from the claim of its record to the release.
//
//   action_turn turn(how, std::move(claimed), latest);
//   co_await turn.take();
//
// A turn of a count reads a page of jobs; one of a run reads a shorter page, changes the jobs of it that the filter
// fits, each with the version that the page has shown, and looks again at those that have changed meanwhile. So it
// costs most_of_count_turn or most_of_run_turn jobs at most, and other clients wait for no longer than for a batch of
// these.
//
// Where the store does not answer, or has no room, the turn waits and tries again, as long as it holds the record. One
// that has lost the record stores nothing: another node has it.
//
// Invariants, whatever a node does that has lost the record and does not know it yet:
//   1. A job is changed from a version that it had before the piece was stored, or from one that was read while this
//      node had the record: the store has answered a touch, sent behind the read, that the record is held. So it is
//      never changed from a version that another node's turn has made of it, and of several changes from one version
//      the store executes one.
//   2. A job that may have been changed from its version already, by a try whose answer is lost or by the node that
//      has begun a piece, is not looked at again. If it has that version no more, it is `unknown`.
//
// The rights that the action needs are held from the beginning of the turn to its end, and looked at before each
// change. When they end the action is stopped.
//
// Thread safety: one task.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/task.hpp>

#include "action.hpp"
#include "server/access/authority.hpp"
#include "server/access/authorized_client.hpp"

namespace foliot::program {

class action_turn {
 public:
  static constexpr std::uint32_t most_of_count_turn = 1000;
  /// The same of a count that searches in bodies.
  static constexpr std::uint32_t most_of_text_turn = 100;
  static constexpr std::uint32_t most_of_run_turn = 100;
  /// The time between two tries.
  static constexpr duration between_tries = duration::nanoseconds(500'000'000);
  /// If the record is held for less than this, it is touched before changes begin.
  static constexpr duration least_time_left = duration::nanoseconds(10'000'000'000);
  /// The record of a later version of the program comes again after so long, for a node of that version. At a multiple
  /// of the time between two looks of this node, this one would come first each time.
  static constexpr jobs::milliseconds record_of_others_waits{10'500};

  /// What all turns share. All must outlive the turns.
  struct surroundings {
    jobs::broker& by;
    authority* who;           ///< null: there are no access tokens
    std::size_t largest_job;  ///< the most bytes of a body
    /// Whether the server ends: then a turn that waits does not try again.
    std::function<bool()> ends;
  };

  /// `record`: as it was claimed from tube_of_actions. `latest`: the greatest priority of the records that this node
  /// has taken. The action comes behind all of them then: else new actions would keep the older ones from their turns.
  action_turn(const surroundings& on, jobs::claimed_job record, jobs::priority latest);
  action_turn(const action_turn&) = delete;
  action_turn& operator=(const action_turn&) = delete;

  /// Takes the turn. Throws broker_closed, broker_full, store_failure.
  [[nodiscard]] task<> take();

 private:
  /// A job of the page that the filter fits.
  struct found_job {
    jobs::job_id id = 0;
    jobs::job_version version = 0;
    bool may_be_done = false;  ///< it may have been changed from this version already
  };
  /// A change on its way through the broker.
  struct change;

  task<> take_by_rights(const rights_holder& holder);
  task<> count();
  task<> run(const rights_holder& holder);
  /// Gives the record back as it was claimed: one of a later version of this program to the nodes that go on with it,
  /// one that is at work for its next turn.
  task<> leave_unchanged();
  /// The same of an action that is not at work, for the time that is left to it; ends its record when that is over.
  task<> keep();

  /// Reads the next page, and which jobs of it the filter fits. False: the store did not answer, and the turn is over.
  task<bool> read_page(std::uint32_t count);
  /// The same with the jobs of the piece that was cut off, as far as they are as they were before it.
  task<bool> read_cut_piece();
  /// Searches the bodies of those that were found, and leaves the others out.
  task<> search_bodies();
  [[nodiscard]] bool existed_before(const jobs::job& what) const noexcept;
  /// Changes the jobs that were found.
  task<> change_found(authorized_client& client);
  /// Ends the action in the middle of a piece, whose other jobs are told already.
  void stop_piece(const std::vector<found_job>& left, const char* reason);
  /// Queues the changes of these jobs; those that it cannot queue are to be tried `again`. None if the record is lost.
  /// False: the rights have ended.
  task<bool> begin_changes(authorized_client& client, const std::vector<found_job>& of, std::deque<change>& under_way,
                           std::vector<found_job>& again);
  /// What has become of a job whose change is under way; none if it must be tried again. Throws access_refused, and has
  /// changed nothing.
  task<std::optional<action_outcome>> end_change(authorized_client& client, change& one);
  /// The same with a job that has another version than `what`: looks at it, and changes it if the filter still fits.
  task<std::optional<action_outcome>> look_again(authorized_client& client, found_job& what);
  /// Waits before it is tried again. False: the turn is over, because the record is lost, or the server ends.
  task<bool> wait_to_try();
  /// Whether the record is held, and for long enough: a node that was stalled has lost it without a word. Touches it if
  /// little time is left.
  task<bool> holds_record();
  /// Holds the record for its TTR from now on, or learns that it is lost. True: the store has answered that it is held.
  task<bool> touch_record();

  /// Stores the progress in the record, and has it still. Between the two others may have it: false if they did, or if
  /// it is lost.
  task<bool> save_and_hold();
  /// Stores the progress in the record, and gives it back.
  task<> save_and_leave();
  /// Releases the record with the progress. False: it is lost.
  task<bool> release(jobs::due_at due);
  void end(action_state how, std::string reason = {}) { action_->progress.end(how, std::move(reason), now_); }
  /// Whether somebody has asked the action to stop.
  task<bool> is_asked_to_stop();
  task<> forget_stop();
  /// Stops an action that has just been counted, if somebody has asked for it meanwhile.
  task<bool> stop_counted();

  const surroundings& on_;
  jobs::claimed_job record_;
  instant held_until_;            // as far as the store has told
  const jobs::priority urgency_;  // of the record, while the action is at work
  std::optional<action> action_;
  bool is_lost_ = false;  // the record
  // Of the page that was read.
  std::vector<found_job> found_;
  jobs::job_id page_end_ = 0;
  jobs::job_id last_listed_ = 0;
  bool is_last_page_ = false;
  jobs::utc_time now_{};
};

}  // namespace foliot::program
