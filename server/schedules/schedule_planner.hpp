// What a schedule does next: from its plan, its state, the time, and what has become of its jobs. Nothing here looks at
// a clock or at a store: who calls commits the new state together with the jobs, all or nothing.
//
//   schedule_turn turn = plan_turn(plan, table, *state, now, facts);
//   // one put_all: a job for each of turn.make, and the record with turn.state, due at turn.due
//
// A turn goes over the instants of the timetable behind the cursor, up to now, in their order. The first of these that
// holds decides about an instant:
//
//   asked to skip                               skipped_by_request
//   the schedule was paused at the instant      skipped_paused
//   later than the deadline                     expired_by_deadline
//   missed (later than `grace`):
//     for longer than the window                expired_by_window
//     not wanted (`none`, or not the last)      skipped_missed; skipped_limit of `all` beyond its limit
//   another one waits or is at work             by `busy`: made, queued, skipped_busy, or it replaces the one that
//   waits else                                        made
//
// A *stretch* of missed ones is those that are late at its first turn; `last` makes the last of them, and `all` the
// last `missed_limit`, also where that takes several turns. Instants that become late meanwhile are the next stretch.
//
// Jitter: an instant is decided when it comes, and its job is put with a later due time. So decisions keep the order of
// the instants, whatever the jitter is, and an instant stays the identity.
//
// Each instant is made at most once in an incarnation, whatever comes together. A backfill makes what is in
// `schedule_state::holes` alone: instants up to the cursor of which it is known that they were not made. Runs by hand
// have ordinals, and are no instants of the timetable. Where the clock goes back, the cursor does not: nothing is due
// until the clock passes it again.
//
// Runs by hand and backfills are asked for, so they are never skipped, and a pause does not hold them: unless `busy` is
// `allow`, they wait until nothing waits or is at work, one by one: first runs by hand, then what is queued, and last
// backfills.
//
// Bounds: a turn makes at most most_made occurrences, which have at most most_bytes unless it is one alone, and decides
// about at most most_steps instants. It asks the rules at most most_questions for what comes, and some as many for what
// is missed and for backfills. What one turn does not come to is for the next; where a turn's questions do not find
// a single occurrence, it is known from when on there may be one, and the schedule is due then.
//
// Thread safety: pure functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/jobs/job.hpp>
#include <foliot/schedule/timetable.hpp>

#include "schedule_plan.hpp"
#include "schedule_state.hpp"

namespace foliot::program {

/// What has become of the job of a living occurrence.
enum class living_fact : std::uint8_t {
  unknown,  ///< nobody has looked: taken for `at_work`
  gone,     ///< there is no job with its key: it was done or cancelled
  waiting,  ///< delayed or ready
  at_work,  ///< reserved
  buried,
};

/// A job to be put.
struct planned_occurrence {
  occurrence_name name = {};
  /// Its job's key is key_of_occurrence() of this one.
  occurrence_name key = {};
  occurrence_reason reason = occurrence_reason::regular;
  /// The local time that the rule names, and what the clock shows. By hand: the instant of the request.
  schedule::occurrence when = {};
  /// Of the job: with the jitter of a regular one, and never before now.
  jobs::utc_time due{};
  /// Whether it takes the place of a job that waits and has this key: that one is replaced. If a worker has got it
  /// meanwhile, nothing of the turn may be put: plan again, with new facts.
  bool replaces = false;

  friend bool operator==(const planned_occurrence& a, const planned_occurrence& b) {
    return a.name == b.name && a.key == b.key && a.reason == b.reason && a.when.at == b.when.at && a.due == b.due &&
           a.replaces == b.replaces;
  }
};

/// What a turn does.
struct schedule_turn {
  schedule_state state = {};
  std::vector<planned_occurrence> make = {};
  /// When the record has its next turn; nothing: never, unless somebody changes it.
  std::optional<jobs::utc_time> due = {};
  /// False: there is more to do now, and `due` is now.
  bool is_complete = true;
  /// Of change_plan(): whether the state is that of the new plan.
  bool is_changed = false;
};

/// How much one turn does. With fewer steps than 60 a plan with many rules would never come further.
struct turn_bounds {
  std::size_t most_made = 100;
  std::size_t most_steps = 10'000;
  /// Of the jobs: two turns and a record are one put_all (jobs::most_bytes_put_together). One job may have more.
  std::size_t most_bytes = std::size_t{4} << 20;
  /// To the rules of the timetable: some tenths of a second.
  std::size_t most_questions = 600'000;
};

/// While something waits for living occurrences to end, they are looked at after 1 s, 2 s, 4 s, … of this at most.
inline constexpr std::chrono::seconds longest_look{60};
/// A paused schedule has a turn so often, which counts what the pause has skipped.
inline constexpr std::chrono::seconds between_looks_at_paused{std::chrono::days(1)};
/// Runners look so often at a plan that cannot be followed, and at one of which not even the past is known.
inline constexpr std::chrono::seconds between_looks_at_refused{std::chrono::hours(1)};

/// What is wrong with the times of a plan that somebody asks for: none is to come, or too much is excluded to find one.
/// Nothing if there is one. A question to the timetable, which may take a second or two where much is excluded.
[[nodiscard]] std::optional<plan_error> fault_of_times(const schedule_plan& plan, const schedule_table& table,
                                                       jobs::utc_time now);

/// The state of a new schedule, whose instants are those after `now`. `incarnation`: a random number.
[[nodiscard]] schedule_state begin_schedule(const schedule_plan& plan, const schedule_table& table,
                                            std::uint64_t incarnation, jobs::utc_time now);

/// One turn. `facts`: of state.living, in its order; those that are missing are `unknown`.
///
/// A plan whose digest is not that of the state was changed by another hand, with SQL: it begins now, as by
/// change_plan(), and if the occurrence that was planned next is due, it is skipped_changed: nobody can tell whether it
/// was due before the change. Who changes a plan by SQL makes the record due at once.
///
/// New data of the zone: what was planned is planned again, and so is what the new data have moved across the cursor: a
/// fixed time that they move before the cursor is late, and one that was decided is not decided again.
[[nodiscard]] schedule_turn plan_turn(const schedule_plan& plan, const schedule_table& table, schedule_state state,
                                      jobs::utc_time now, std::span<const living_fact> facts,
                                      const turn_bounds& bounds = {});

/// Changes the plan. First the old plan decides about all that is due; if one turn is not enough for that, or its jobs
/// are large, the turn is not complete, and `is_changed` is false: commit it, and call again. Then the new plan begins:
/// its first instant is after now. Skips, pauses, runs by hand, backfills, what is queued and what lives stay as they
/// are. The count goes on, unless `count` or `starts` differ: then it begins again. A plan with the same digest changes
/// nothing but the text. Precondition: settle_anchors() of `after` was called with `before`.
[[nodiscard]] schedule_turn change_plan(const schedule_plan& before, const schedule_table& table_before,
                                        const schedule_plan& after, const schedule_table& table_after,
                                        schedule_state state, jobs::utc_time now, std::span<const living_fact> facts,
                                        const turn_bounds& bounds = {});

/// The same where the plan before cannot be followed any more, as its zone is not there: what was due by it since the
/// cursor is not known, and is not made. All else stays.
[[nodiscard]] schedule_turn change_lost_plan(const schedule_plan& before, const schedule_plan& after,
                                             const schedule_table& table_after, schedule_state state,
                                             jobs::utc_time now, std::span<const living_fact> facts,
                                             const turn_bounds& bounds = {});

/// The plan cannot be followed: `why`, a sentence. Its next turn clears that.
void refuse_schedule(schedule_state& state, std::string_view why, jobs::utc_time now);

// The changes that somebody asks for. Each returns what is wrong with the request, with the pointer to its member, or
// with none if the state does not allow it. A turn has to follow: plan_turn(), in the same commit or soon.

/// From now on it is paused, until `until`, or until somebody resumes it. If it is, this replaces the note and the end.
[[nodiscard]] std::expected<void, plan_error> pause_schedule(schedule_state& state, jobs::utc_time now,
                                                             std::string_view by, std::string_view note,
                                                             std::optional<jobs::utc_time> until);
/// Ends the pause. What was due in it has been skipped. False: it was not paused.
[[nodiscard]] bool resume_schedule(schedule_state& state, jobs::utc_time now);

/// Skips exactly one occurrence: the one at `at`, which must be one that is to come, or the next one that is not
/// skipped yet. Returns it.
[[nodiscard]] std::expected<schedule::occurrence, plan_error> skip_occurrence(const schedule_plan& plan,
                                                                              const schedule_table& table,
                                                                              schedule_state& state, jobs::utc_time now,
                                                                              std::optional<jobs::utc_time> at);

/// Runs it once, now. Returns the name of the occurrence, which the next turns make.
[[nodiscard]] std::expected<occurrence_name, plan_error> run_by_hand(schedule_state& state, jobs::utc_time now);

/// A count, or a look at what comes, asks the rules no more than that: about a second.
inline constexpr std::size_t most_questions_of_look = 1'000'000;
/// The most occurrences of one backfill.
inline constexpr std::size_t most_backfilled = 10'000;
/// So many of a backfill's occurrences are told one by one.
inline constexpr std::size_t most_shown_of_backfill = 50;
/// What a backfill would make.
struct backfill_count {
  std::size_t to_make = 0;
  std::size_t left_out = 0;  ///< occurrences of the stretch that may have been made, or are not decided yet
  std::optional<std::chrono::sys_seconds> first = {};
  std::optional<std::chrono::sys_seconds> last = {};
  std::vector<schedule::occurrence> soonest = {};  ///< the first most_shown_of_backfill of those to make
};
/// Counts, exactly. `from` and `to` belong to the stretch. Refused: more than most_backfilled, a stretch that ends
/// before it begins, a rule `after`, and one of which too much is excluded to count within most_questions_of_look.
[[nodiscard]] std::expected<backfill_count, plan_error> count_backfill(const schedule_plan& plan,
                                                                       const schedule_table& table,
                                                                       const schedule_state& state, jobs::utc_time from,
                                                                       jobs::utc_time to);
/// Asks for a backfill, and returns what it counts at the moment.
[[nodiscard]] std::expected<backfill_count, plan_error> request_backfill(const schedule_plan& plan,
                                                                         const schedule_table& table,
                                                                         schedule_state& state, jobs::utc_time from,
                                                                         jobs::utc_time to);

/// An occurrence that is to come.
struct upcoming_occurrence {
  schedule::occurrence when = {};
  jobs::utc_time due{};     ///< of its job, with its jitter
  bool is_skipped = false;  ///< by request
  bool is_paused = false;   ///< the schedule is paused then, as far as is known
};
/// Those that come, the first first, as far as the plan's count reaches, and as most_questions_of_look find them. Those
/// of a rule `after` depend on runs: at most one, and none while one lives.
[[nodiscard]] std::vector<upcoming_occurrence> upcoming_occurrences(const schedule_plan& plan,
                                                                    const schedule_table& table,
                                                                    const schedule_state& state, jobs::utc_time now,
                                                                    std::size_t most);

}  // namespace foliot::program
