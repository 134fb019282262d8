// What the schedules of a store do: how many are active, paused, ended and refused, and when the next one has something
// to do.
//
//   schedule_survey survey;                                    // of the server
//   auto looking = survey.look(client, has_other_nodes);       // by the rights of a request: those to all tubes
//   const surveyed_schedules seen = co_await looking;
//
// No look costs in proportion to what is stored: what a schedule does is in its record, of which a look reads a bounded
// number (schedule_survey::alone), from where the look before has ended. So where there are no more the counts are of
// this moment; else they are those of the last round of looks through all records, and a schedule that had a turn
// meanwhile may be counted twice, or not. Until the first round has ended they are not known.
//
// Thread safety: any task; the looks of several tasks may read the same records.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/runtime/task.hpp>

#include "server/access/authorized_client.hpp"
#include "server/schedules/schedule_state.hpp"

namespace foliot::program {

/// How many schedules do what: by schedule_standing.
using schedule_standings = std::array<std::uint64_t, names_of_standings.size()>;

/// What a look has seen.
struct surveyed_schedules {
  std::optional<schedule_standings> standings = {};  ///< nothing: no round has ended yet
  std::optional<duration> next_due = {};             ///< until the next one has something to do; nothing: none has
  duration overdue{};  ///< the longest wait of those whose turn has come, of as many as a look reads
};

class schedule_survey {
 public:
  /// The most records that a look reads. Over a store that several nodes share each is a search in the database.
  static constexpr std::uint32_t alone = 250;
  static constexpr std::uint32_t with_nodes = 50;

  schedule_survey() = default;
  schedule_survey(const schedule_survey&) = delete;
  schedule_survey& operator=(const schedule_survey&) = delete;

  /// Looks at the records. Throws access_refused where the rights lack the scope of a look, and what an operation
  /// throws. Precondition: the rights are to all tubes.
  [[nodiscard]] task<surveyed_schedules> look(authorized_client& by, bool has_other_nodes);

 private:
  /// How far a round has come.
  struct round {
    std::size_t state = 0;    // of the records that are read next, among those in which they are
    jobs::job_place at = {};  // behind which
    schedule_standings counted = {};
  };

  /// Goes on with the round by so many records. Returns whether it has ended.
  static task<bool> go_on(jobs::client& to_store, std::uint32_t most, round& with);

  mutex lock_{lock_rank::object};
  round now_ FOLIOT_GUARDED_BY(lock_);
  std::optional<schedule_standings> last_ FOLIOT_GUARDED_BY(lock_);  // of the round before
};

}  // namespace foliot::program
