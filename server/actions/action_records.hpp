// The records of actions, as a client sees them by its rights: it makes actions, starts, stops and forgets them, and
// looks at them. The pieces of an action are done elsewhere (action_runner.hpp).
//
// An action exists for a client if the client's rights include all that it needs, and either the client has made it, or
// may administer. All others find nothing, as with an id that was never given.
//
// Thread safety: as the authorized_client, one task. Each call costs some operations; those that say so, one for each
// action besides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <foliot/jobs/job.hpp>
#include <foliot/runtime/task.hpp>

#include "action.hpp"
#include "server/access/authorized_client.hpp"

namespace foliot::program {

class action_records {
 public:
  /// The most actions of a store, and of one access token.
  static constexpr std::size_t most_actions = 100;
  static constexpr std::size_t most_of_owner = 20;
  /// How long a wish to stop waits for the turn that it stops.
  static constexpr jobs::milliseconds stop_waits = std::chrono::hours(1);

  explicit action_records(authorized_client& client) : client_(client) {}

  /// What came of a request.
  enum class result : std::uint8_t {
    done,
    none,          ///< there is no such action for the client
    too_many,      ///< there are most_actions
    too_many_own,  ///< the client has most_of_owner
    too_long,      ///< the plan has no room in a record
    wrong_state,   ///< it is in a state to which this does not apply
    wrong_count,   ///< it has counted another number of jobs
    busy,          ///< a turn of it, or another request, has its record
    no_space,      ///< the store has no room to write that down
  };
  struct answer {
    result what = result::done;
    std::optional<action> seen = {};  ///< the action, as far as it exists for the client
    bool is_stopping = false;         ///< it ends with the turn that is under way
    jobs::job_version version = 0;    ///< of its record, where find() has seen it
  };

  /// Makes an action by the client's rights, which must include what it needs. Reads the records of all actions before
  /// its put and again behind it. Requests that are made together while there is room for some of them may all be told
  /// that there are too many. If the store or the broker fails behind the put, the action is taken back.
  [[nodiscard]] task<answer> make(action_plan plan);
  [[nodiscard]] task<answer> find(jobs::job_id id);
  /// All actions that exist for the client, the oldest first. Looks at each.
  [[nodiscard]] task<std::vector<action>> list();
  /// Starts an action that has counted so many jobs.
  [[nodiscard]] task<answer> start(jobs::job_id id, std::uint64_t counted);
  /// Stops it; one that has ended stays as it is.
  [[nodiscard]] task<answer> stop(jobs::job_id id);
  /// Forgets one that neither counts nor runs.
  [[nodiscard]] task<answer> forget(jobs::job_id id);

 private:
  /// A record that this request has reserved.
  struct held_record {
    jobs::reservation token;
    action seen;
    jobs::utc_time now;
  };

  [[nodiscard]] bool may_see(const action& what) const;
  /// All actions of the store.
  task<std::vector<action>> all();
  /// Whether there would be too many actions with so many more: `too_many`, `too_many_own`, or `done`.
  task<result> find_excess(std::size_t more);
  /// Lets the turns of an action that was just put begin, unless there are too many now: then nothing has changed.
  task<answer> admit(jobs::job_id id);
  /// Reserves the record; nothing if a turn, or another request, has it.
  task<std::optional<held_record>> hold(jobs::job_id id);
  task<answer> give_back(held_record record, jobs::due_at due);
  task<answer> ask_to_stop(action what);

  authorized_client& client_;
};

}  // namespace foliot::program
