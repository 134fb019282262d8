// How a node executes its next batches after something that may last was in the way of one:
//   passing over     another transaction holds a lock for long: operations that need such a lock are passed over, the
//                    others are executed (sql/patient.sql)
//   ignoring turns   the turn of a batch with keys did not come: batches with keys take no turns (sql/keys.sql)
//   one by one       the database had no room for an operation, or has refused one: each operation is executed by
//                    itself, so that the others succeed; includes passing over
// Each mode has the length `lasts`, and begins again with each failure of its kind.
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

  /// How long a mode lasts after the failure that has begun it.
  static constexpr duration lasts = std::chrono::seconds(5);
  /// The time between two warnings of the same lack of room, or of the same failure.
  static constexpr duration warns_every = std::chrono::minutes(1);
  /// The minimum duration of a batch that times out on two locks: on one before its turn, and on one after its turn has
  /// come. Twice the lock_timeout of a connection (sql_connection.cpp), and something for the round trips.
  static constexpr duration two_waits = std::chrono::milliseconds(600);

  /// Whether operations that do not get their locks are passed over.
  [[nodiscard]] bool passes_over(instant now) const noexcept {
    return executes_one_by_one(now) || now < passes_over_until_;
  }
  /// Whether each operation is executed by itself.
  [[nodiscard]] bool executes_one_by_one(instant now) const noexcept { return now < one_by_one_until_; }
  /// What the first attempt of a batch with keys does about turns.
  [[nodiscard]] turn_taking turns(instant now) const noexcept {
    return now < ignores_turns_until_ ? turn_taking::ignore : turn_taking::if_taken;
  }

  /// What the next attempt of a batch does about turns, if this one did `turns` and has failed with `error`. The batch
  /// gives up at `until`.
  [[nodiscard]] turn_taking turns_after(const database_failure& error, turn_taking turns, bool has_keys, instant now,
                                        instant until) noexcept {
    if (error.is_state(turn_did_not_come)) {
      ignores_turns_until_ = now + lasts;
      return turn_taking::ignore;
    }
    if (!error.is_state(lock_not_available)) return turns;
    if (has_keys && turns == turn_taking::if_taken && now + two_waits < until) return turn_taking::begin;
    note_lock(now);
    return turns == turn_taking::begin ? turn_taking::end : turns;
  }
  /// Another transaction holds a lock for long.
  void note_lock(instant now) noexcept { passes_over_until_ = now + lasts; }
  /// The database had no room for an operation. Returns whether an operator should be told.
  [[nodiscard]] bool note_lack_of_room(instant now) noexcept { return begin_one_by_one(warns_of_room_at_, now); }
  /// The database has refused an operation. Returns whether an operator should be told.
  [[nodiscard]] bool note_refusal(instant now) noexcept { return begin_one_by_one(warns_of_refusal_at_, now); }
  /// The schema lacks the function of an operation. That begins no mode: it would not help this operation, and the
  /// others need none. Returns whether an operator should be told.
  [[nodiscard]] bool note_missing_function(instant now) noexcept { return begins_to_warn(warns_of_refusal_at_, now); }

 private:
  bool begin_one_by_one(instant& warns_at, instant now) noexcept {
    one_by_one_until_ = now + lasts;
    return begins_to_warn(warns_at, now);
  }
  static bool begins_to_warn(instant& warns_at, instant now) noexcept {
    if (now < warns_at) return false;
    warns_at = now + warns_every;
    return true;
  }

  instant passes_over_until_ = instant::earliest();
  instant ignores_turns_until_ = instant::earliest();
  instant one_by_one_until_ = instant::earliest();
  instant warns_of_room_at_ = instant::earliest();
  instant warns_of_refusal_at_ = instant::earliest();
};

}  // namespace foliot::jobs::detail
