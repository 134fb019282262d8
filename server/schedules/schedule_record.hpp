// The record of a schedule, which is a job of the server's own tube `tube_of_schedules`: what is read from it, and what
// is stored with a turn. The schedule_runner and the schedule_records use it in the same way, so that a turn and a
// request of a client cannot differ in what they store.
//
//   key        key_of_schedule(): the tube and the name
//   body       schedule_plan::text()
//   history    schedule_state, nothing yet if the record was made by SQL
//   due        when the schedule has something to do
//
// Thread safety: values and pure functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>

#include "schedule_plan.hpp"
#include "schedule_planner.hpp"
#include "schedule_state.hpp"

namespace foliot::program {

/// The TTR of a record: how long a node that dies in a turn keeps the others from it, at the most.
inline constexpr jobs::milliseconds longest_turn_of_schedule = std::chrono::seconds(30);

/// Why a schedule of a tube cannot be: its turns would be in two databases.
inline constexpr std::string_view sentence_of_other_database =
    "the tube lies in another database than the schedules, so its occurrences cannot be made once: move the tube to "
    "the "
    "first database, or choose another one";

/// Why a schedule whose state cannot be read makes nothing.
inline constexpr std::string_view sentence_of_damaged_state =
    "the state of the schedule is damaged, so that nobody can tell what it has made: delete the schedule, or put its "
    "plan to begin anew";

/// What a record says.
struct schedule_record {
  std::string key;
  std::string tube;
  std::string name;
  std::optional<schedule_plan> plan = {};    ///< nothing if it cannot be read
  std::optional<schedule_state> state = {};  ///< nothing if it has none yet, or none that can be read
  /// Why there is no plan, or no schedule with this key: a sentence; else empty.
  std::string fault = {};
  /// A later version of the program has written the state: nothing must be done with it.
  bool is_of_later_version = false;
  /// The state cannot be read (`fault`): what was paused, skipped or made is not known, so that nothing may be made.
  /// Its bytes must stay until somebody removes the schedule, or puts it.
  bool is_damaged = false;
  jobs::job_fields fields = {};   ///< of the record
  jobs::job_fields history = {};  ///< as it was: fields that this program does not know stay in it

  /// Whether it has all that a schedule needs.
  [[nodiscard]] bool is_sound() const noexcept { return plan && state && !is_of_later_version; }
  /// The history with this state.
  [[nodiscard]] jobs::job_fields history_with(const schedule_state& next) const;
  /// O(bytes).
  [[nodiscard]] static schedule_record in(const jobs::job& record);
};

/// A sentence on what is wrong with a plan: "/zone: there is no …".
[[nodiscard]] std::string sentence_of(const plan_error& wrong);

/// The record with this plan and state, due at this time; nothing: never, unless somebody changes it. `holder`: of the
/// record that it replaces; nothing: it is new, and is refused if there is one.
[[nodiscard]] jobs::put put_of_record(std::string key, const schedule_plan& plan, const schedule_state& state,
                                      std::optional<jobs::utc_time> due, std::optional<jobs::reservation> holder);

/// Whether the jobs of this plan have room for the note on the occurrence beside their headers.
[[nodiscard]] bool has_room_for_note(std::string_view name, const schedule_plan& plan);

/// Looks at the jobs of the living occurrences of a state: which ones, and what the answers mean.
///
/// A plan that makes its occurrences whatever the others do needs the outcomes alone: of its living ones a turn looks
/// at a few, others each time.
class living_look {
 public:
  /// Of a schedule that allows any number, so many are looked at in a turn.
  static constexpr std::size_t most_if_allowed = 4;

  living_look() = default;
  living_look(const schedule_record& of, const schedule_plan& plan);

  /// The names of the jobs to look at, in some order.
  [[nodiscard]] const std::vector<jobs::job_key>& names() const noexcept { return names_; }
  /// The look at names()[place] has this answer.
  void note(std::size_t place, const jobs::peek_answer& seen);
  /// What is known, in the order of schedule_state::living.
  [[nodiscard]] std::span<const living_fact> facts() const noexcept { return facts_; }
  /// The version of the job with the key of this occurrence at the look; 0: it was not seen.
  [[nodiscard]] jobs::job_version version_of(const occurrence_name& key) const noexcept;

 private:
  std::vector<occurrence_name> keys_;        // of all living ones
  std::vector<jobs::job_version> versions_;  // the same
  std::vector<jobs::job_key> names_;
  std::vector<std::size_t> places_;  // of each name, among the facts
  std::vector<living_fact> facts_;
};

/// The commit of a turn: the record, which comes first, with this plan, and the jobs of the occurrences, which that
/// plan makes. `seen`: by which the turn was planned. A job that waited then is replaced only if it has not changed
/// since; else nothing is put, and the answer names that job.
[[nodiscard]] jobs::put_all commit_of_turn(const schedule_record& of, const schedule_plan& plan,
                                           const schedule_turn& turn, const living_look& seen,
                                           const jobs::reservation& holder);

}  // namespace foliot::program
