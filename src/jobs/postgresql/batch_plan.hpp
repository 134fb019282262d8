// The statements that execute a batch, and how their replies answer its operations.
//
// Operations of one kind that follow each other share a call. Puts without keys and finishes share two calls also where
// they alternate, as they do in a busy server: neither can tell whether the other came first, unless two of the
// finishes are for one job.
//
// Lifetime: the operations must stay as they are while the plan lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <foliot/jobs/job.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/operations.hpp>

#include "call.hpp"
#include "sql_constants.hpp"

namespace foliot::jobs::detail {

/// What a batch needs besides its operations.
struct batch_frame {
  /// The number of the node's registration in the database (the column `session` of foliot.node).
  std::int64_t registration = 0;
  /// Of the tokens that this batch gives: see lasting.hpp.
  std::int64_t opening = 0;
  std::int64_t number = 0;
  /// The time that foliot.time_of() takes; none: the server's.
  std::optional<std::vector<std::int64_t>> time;
  /// Reservations of this node whose time is over.
  std::vector<reservation> over;
  /// Reservations that the node has made and nobody has: their jobs are given back.
  std::vector<reservation> unwanted;
  /// What a batch with keys does about turns (sql/keys.sql). The numbers are those of foliot.begin_batch().
  enum class turn_taking : std::uint8_t { if_taken, begin, ignore, end };
  turn_taking turns = turn_taking::if_taken;
  /// Whether operations that do not get their locks are passed over (sql/patient.sql). Else the batch fails.
  bool passes_over = false;
  /// Whether operations for which the database has no room are refused, each by itself; and jobs that cannot be made
  /// ready stay as they are. Then `passes_over` is set, too, and there are no `unwanted` reservations. Else the batch
  /// fails.
  bool lacks_room = false;
  /// Whether the batch has a heartbeat, which says that the node is alive. Then the numbers of its batches from
  /// `forget_from` on and below `forget_below` are forgotten: nobody asks for them any more.
  bool sends_heartbeat = false;
  std::int64_t forget_from = 0;
  std::int64_t forget_below = 0;
};

/// The times of a batch, by the server; and how to turn them into those of this node.
struct batch_time {
  std::int64_t now_ms = 0;
  std::int64_t now_ns = 0;
  /// This node's clocks when the batch begins.
  utc_time local_utc{};
  instant local;

  /// The end of a reservation or a pause, by this node's clock.
  [[nodiscard]] instant to_local(std::int64_t ns) const noexcept;
  /// A due time, by this node's clock: never before it has come by the server's.
  [[nodiscard]] utc_time to_local_due(std::int64_t ms) const noexcept { return local_utc + milliseconds(ms - now_ms); }
};

/// What a batch has shown of the map of databases (sql/map.sql).
struct map_state {
  /// Rises with each change of what this database knows of the map.
  std::int64_t version = 0;
  /// Whether jobs leave this database, or have left it lately: one that was not found may have come to another one.
  bool sends = false;
  /// The puts that were refused because their tubes are in other databases, by their places in the batch, ascending.
  /// They are answered as operations that were passed over. So is a put_all, if all of its tubes are in others; if some
  /// are, it is passed over alone.
  std::vector<std::size_t> elsewhere = {};
};

class batch_plan {
 public:
  batch_plan(std::span<const operation> batch, const batch_frame& frame);

  [[nodiscard]] std::span<const call> calls() const noexcept { return calls_; }

  /// What the replies say. `time` gets the server's times; its local ones must be set. `still` gets the reservations of
  /// batch_frame::over that are not over by the server's clock, with their ends.
  struct outcome {
    execution done;
    /// The place of the first put_all of which some jobs were put, though it is refused, or passed over. Then the
    /// transaction must not be committed.
    std::optional<std::size_t> undone;
    std::vector<std::pair<job_id, instant>> still;
    /// The reservations in the answers that belong to other registrations, which end them: a claim that happens once
    /// has been sent again to this node. None, unless the functions of the schema are those of an earlier program: else
    /// the repeat has taken them over.
    std::vector<reservation> of_others;
    next_change next;
    /// Whether the next batch should have a heartbeat, whenever it comes: the database has more of dead nodes to end.
    bool wants_heartbeat = false;
    map_state map;
    /// The partition of foliot.batch that has the number of the batch, or no_partition; none: the batch has changed
    /// nothing.
    std::optional<std::int64_t> partition;
    /// There was no room for the number, so nobody can find out whether the batch was committed.
    static constexpr std::int64_t no_partition = sql_constants::no_partition;
  };
  /// Throws database_failure if the fields of a job are damaged.
  [[nodiscard]] outcome read(std::span<const reply> replies, batch_time& time) const;

 private:
  /// Where the answer of an operation is: in this call, at this place.
  struct place {
    std::size_t call = 0;
    std::size_t index = 0;
  };
  class builder;

  std::span<const operation> batch_;
  std::vector<call> calls_;
  std::vector<place> places_;  // by operation
  std::int64_t registration_ = 0;
  std::int64_t opening_ = 0;
  bool has_heartbeat_ = false;  // by the call behind the first one
};

}  // namespace foliot::jobs::detail
