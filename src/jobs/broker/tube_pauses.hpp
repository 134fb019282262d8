// Pauses end with their tube, which lives while it has a job, a user or a watcher. A store keeps a pause until its time
// is over; so the broker ends the pauses of tubes that have gone.
//
// The store names a paused tube that loses its last job. A batch counts the jobs of a paused tube without clients when
// the tube may have none for another reason: it has just been paused, its last client has gone, or its pause may have
// ended. If it has none, the next batch begins with the end of the pause.
//
// Over a store that other nodes share none of this happens: no node knows whether another one has a client there.
//
// Thread safety: the lock of the broker guards everything. O(log n) for n paused tubes, except as noted.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/intrusive_list.hpp>
#include <foliot/jobs/operations.hpp>

#include "tube_registry.hpp"

namespace foliot::jobs::detail {

class tube_pauses {
 public:
  /// `tubes`: those with a client, or whose jobs are being claimed.
  explicit tube_pauses(const tube_registry& tubes) : tubes_(tubes) {}

  /// Whether a batch has pauses to end, or tubes to count.
  [[nodiscard]] bool has_work() const noexcept { return !to_check_.empty() || !to_end_.empty(); }

  /// Looks at a request before it becomes part of the batch.
  void note(const operation& of);
  /// The tube may have no job and no client any more. Does nothing if it is not paused.
  void want_check(std::string_view tube) noexcept;
  /// The store has ended the last job of a paused tube.
  void note_emptied(std::string& tube);

  /// Adds the ends of pauses to the batch, in front of its requests. O(pauses to end).
  void gather_ends(std::vector<operation>& batch);
  /// Adds counts of tubes to the batch, behind the requests, whose effects they have. O(tubes to check).
  void gather_checks(std::vector<operation>& batch);
  /// How many counts the batch has.
  [[nodiscard]] std::size_t checks() const noexcept { return checked_.size(); }
  /// Applies the answers to the counts.
  void conclude_checks(std::span<const answer> brought);

 private:
  /// A tube that a request has paused.
  struct paused_tube {
    explicit paused_tube(std::string_view named) : name(named) {}

    const std::string name;
    bool to_check = false;  // in to_check_
    list_links<paused_tube> check_links;
  };

  /// Returns whether the tube was known as a paused one.
  bool forget(const std::string& tube) noexcept;

  const tube_registry& tubes_;
  std::map<std::string, paused_tube, std::less<>> paused_;  // until a check shows that the pause has ended
  intrusive_list<paused_tube, &paused_tube::check_links> to_check_;
  std::vector<std::string> to_end_;
  std::vector<std::string> checked_;  // the tubes that the present batch counts
};

}  // namespace foliot::jobs::detail
