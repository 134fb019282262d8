// How a node executes its next batches after something was in the way of one: a lock that is held for long, a turn that
// did not come, a disk without room, or an operation that the database refuses. Each mode lasts for `lasts`, and begins
// again with each failure of its kind.
//
// No connection, no clock. One thread at a time.
#pragma once

#include <chrono>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

#include "batch_plan.hpp"
#include "database_connection.hpp"

namespace foliot::jobs::detail {

class execution_modes {
 public:
  using turn_taking = batch_frame::turn_taking;

  /// For how long batches pass over locked jobs after a batch has waited too long for a lock, do not take turns after
  /// one has waited too long for its turn, or execute each operation by itself after the database had no room for one,
  /// or has refused one.
  static constexpr duration lasts = std::chrono::seconds(5);
  /// The time between two warnings of the same lack of room, or of the same failure.
  static constexpr duration warns_every = std::chrono::minutes(1);
  /// The minimum duration of a batch that times out on two locks: on one before its turn, and on one in it. See
  /// lock_timeout.
  static constexpr duration two_waits = std::chrono::milliseconds(600);

  /// Whether operations that do not get their locks are passed over.
  [[nodiscard]] bool passes_over(instant now) const noexcept { return is_alone(now) || now < passes_over_until_; }
  /// Whether each operation is executed by itself, because the database has had no room for one lately, or has refused
  /// one.
  [[nodiscard]] bool is_alone(instant now) const noexcept { return now < alone_until_; }
  /// How a batch begins to take turns.
  [[nodiscard]] turn_taking turns(instant now) const noexcept {
    return now < ignores_turns_until_ ? turn_taking::ignore : turn_taking::if_taken;
  }

  /// How the next attempt of a batch takes turns after this failure, if it took them like this. The batch gives up at
  /// `until`.
  [[nodiscard]] turn_taking turns_after(const database_failure& error, turn_taking turns, bool has_keys, instant now,
                                        instant until) noexcept {
    if (error.is_state("FL005")) {
      ignores_turns_until_ = now + lasts;
      return turn_taking::ignore;
    }
    if (!error.is_state("55P03")) return turns;
    if (has_keys && turns == turn_taking::if_taken && now + two_waits < until) return turn_taking::begin;
    note_lock(now);
    return turns == turn_taking::begin ? turn_taking::end : turns;
  }
  /// A lock is held for long.
  void note_lock(instant now) noexcept { passes_over_until_ = now + lasts; }
  /// The database had no room for an operation. Returns whether an operator should be told.
  [[nodiscard]] bool note_want_of_room(instant now) noexcept { return begin_alone(warns_of_room_at_, now); }
  /// The database has refused an operation. Returns whether an operator should be told.
  [[nodiscard]] bool note_refusal(instant now) noexcept { return begin_alone(warns_of_refusal_at_, now); }
  /// The schema lacks the function of an operation. No mode makes up for that, and nothing else is in the way of the
  /// next batches. Returns whether an operator should be told.
  [[nodiscard]] bool note_missing_function(instant now) noexcept { return begins_to_warn(warns_of_refusal_at_, now); }

 private:
  bool begin_alone(instant& warns_at, instant now) noexcept {
    alone_until_ = now + lasts;
    return begins_to_warn(warns_at, now);
  }
  static bool begins_to_warn(instant& warns_at, instant now) noexcept {
    if (now < warns_at) return false;
    warns_at = now + warns_every;
    return true;
  }

  instant passes_over_until_ = instant::earliest();
  instant ignores_turns_until_ = instant::earliest();
  instant alone_until_ = instant::earliest();
  instant warns_of_room_at_ = instant::earliest();
  instant warns_of_refusal_at_ = instant::earliest();
};

}  // namespace foliot::jobs::detail
