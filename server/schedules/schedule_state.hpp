// The state of a schedule: how far it has come. It is a field of the history of the schedule's record, which each turn
// replaces in the commit that makes the turn's jobs.
//
// An occurrence is named by its *nominal instant*, in whole seconds of UTC, and an *ordinal*: 0 of those that the
// timetable names, and 1, 2, … of runs by hand, which may fall upon the same second. Its job has a key of that and of
// the schedule's incarnation, so that a schedule that was deleted and made anew never meets jobs of the old one.
//
// Invariants:
//   1. The cursor never goes back, and each instant of the timetable up to it has been decided: it has one outcome, or
//      waits in `queue`.
//   2. `holes` are stretches up to the cursor in which nothing has been made. What is not in them may have been made,
//      and is never made again. They ascend and do not touch.
//   3. All lists are bounded, and so the encoding is: at most longest_state bytes, whatever happens. The oldest entry
//      leaves a full list, and its outcome has been counted before.
//   4. decided == made[regular] + made[late] + skipped[…] + expired[…] + queue.size(), over all times.
//
// The encoding: a byte for its version; then numbers in 7 bits a byte, the lowest first, of which signed ones are
// folded (0, -1, 1, …); lists with their length in front, texts as well. Nothing may follow.
//
// Thread safety: a value.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/jobs/fields.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/schedule/timetable.hpp>

namespace foliot::program {

/// Of the history of a record: the state.
inline constexpr jobs::field_tag tag_of_schedule_state = 0x01f1;
/// The encoding is never longer: a history has room for it and its tag.
inline constexpr std::size_t longest_state = jobs::most_field_bytes - 4;
/// Of the encoding; a later version of the program may have a greater one.
inline constexpr std::uint8_t state_format = 1;

/// Why an occurrence was made.
enum class occurrence_reason : std::uint8_t { regular, late, backfill, by_hand };
inline constexpr std::array<std::string_view, 4> names_of_reasons{"regular", "late", "backfill", "by_hand"};

/// What has become of an occurrence.
enum class occurrence_outcome : std::uint8_t {
  queued,               ///< it waits until others have ended
  made,                 ///< its job was put; that it has ended is not known yet
  ended,                ///< its job is gone: done, or cancelled. A store cannot tell
  failed,               ///< its job was buried
  replaced,             ///< its job waited, and a later occurrence took its place
  skipped_busy,         ///< another one was not at its end, or as many waited as may
  skipped_paused,       ///< the schedule was paused at its instant
  skipped_missed,       ///< it was late, and the plan does not want it
  skipped_limit,        ///< it was late, and more were than the plan wants
  skipped_by_request,   ///< somebody asked to skip it
  skipped_changed,      ///< it was planned and due, when another hand than the server's changed the plan
  expired_by_deadline,  ///< it was later than the plan's deadline
  expired_by_window,    ///< it was missed for longer than the plan's window
};
inline constexpr std::array<std::string_view, 13> names_of_occurrence_outcomes{"queued",
                                                                               "made",
                                                                               "ended",
                                                                               "failed",
                                                                               "replaced",
                                                                               "skipped_busy",
                                                                               "skipped_paused",
                                                                               "skipped_missed",
                                                                               "skipped_limit",
                                                                               "skipped_by_request",
                                                                               "skipped_changed",
                                                                               "expired_by_deadline",
                                                                               "expired_by_window"};

/// Why a schedule has nothing to come.
enum class end_reason : std::uint8_t {
  count,  ///< as many occurrences were due as the plan has
  ends,   ///< the plan's end has passed
  never,  ///< no rule has a further time
};
inline constexpr std::array<std::string_view, 3> names_of_ends{"count", "ends", "never"};

/// Names an occurrence among those of its schedule's incarnation.
struct occurrence_name {
  std::chrono::sys_seconds at{};
  std::uint32_t ordinal = 0;  ///< 0: of the timetable; else by hand

  friend auto operator<=>(const occurrence_name&, const occurrence_name&) = default;
};
/// The key of its job: `NAME@2026-11-30T09:00:00Z.0000000000001234`, and `NAME@2026-11-30T09:00:00Z+3.…` by hand.
[[nodiscard]] std::string key_of_occurrence(std::string_view schedule, const occurrence_name& which,
                                            std::uint64_t incarnation);
/// With what the keys of all occurrences of a schedule begin, whatever the incarnation: `NAME@`.
[[nodiscard]] std::string key_prefix_of_occurrences(std::string_view schedule);

/// A stretch of instants, both ends within it.
struct instant_stretch {
  std::chrono::sys_seconds from{};
  std::chrono::sys_seconds to{};

  friend bool operator==(const instant_stretch&, const instant_stretch&) = default;
};

/// A stretch of time in which the schedule is paused: from an instant on, up to another or until somebody resumes it.
/// An occurrence at `since` was due before the pause, and one at `until` is due again.
struct schedule_pause {
  std::chrono::sys_seconds since{};
  std::optional<std::chrono::sys_seconds> until = {};

  friend bool operator==(const schedule_pause&, const schedule_pause&) = default;
};

/// An occurrence whose job was put, and was there when somebody last looked.
struct living_occurrence {
  occurrence_name name = {};
  /// The name that its job's key has: another one if it has taken the place of one that waited.
  occurrence_name key = {};
  occurrence_reason reason = occurrence_reason::regular;

  friend bool operator==(const living_occurrence&, const living_occurrence&) = default;
};

/// An occurrence that waits until others have ended.
struct queued_occurrence {
  std::chrono::sys_seconds at{};
  std::chrono::local_seconds nominal{};
  schedule::overlap_pass pass = schedule::overlap_pass::only;
  bool is_shifted = false;
  occurrence_reason reason = occurrence_reason::regular;

  friend bool operator==(const queued_occurrence&, const queued_occurrence&) = default;
};

/// An occurrence as it is told: the latest ones are kept.
struct recent_occurrence {
  occurrence_name name = {};
  occurrence_reason reason = occurrence_reason::regular;
  occurrence_outcome outcome = occurrence_outcome::made;
  jobs::utc_time when{};  ///< of the outcome

  friend bool operator==(const recent_occurrence&, const recent_occurrence&) = default;
};

/// An instant that somebody asked to skip. Its local time finds it again if new data of its zone move it.
struct skip_request {
  std::chrono::sys_seconds at{};
  std::chrono::local_seconds nominal{};

  friend bool operator==(const skip_request&, const skip_request&) = default;
};

/// A stretch of the past that somebody asked for: what was not made in it is made.
struct backfill_request {
  instant_stretch left = {};  ///< what has not had its turn
  std::uint32_t made = 0;

  friend bool operator==(const backfill_request&, const backfill_request&) = default;
};

/// The occurrence that comes next, as it was last computed.
struct next_occurrence {
  std::chrono::sys_seconds at{};
  std::chrono::local_seconds nominal{};
  std::chrono::seconds offset{};

  friend bool operator==(const next_occurrence&, const next_occurrence&) = default;
};

/// How many there were, over all times.
struct schedule_counters {
  std::uint64_t decided = 0;                                  ///< of the timetable
  std::array<std::uint64_t, names_of_reasons.size()> made{};  ///< by reason
  /// By outcome. Those of `queued` and `made` stay 0.
  std::array<std::uint64_t, names_of_occurrence_outcomes.size()> outcomes{};
  std::uint64_t not_followed = 0;  ///< made, and left `living` because that was full: what became of them is not known
  std::uint64_t uncounted = 0;     ///< stretches in which too much is excluded to count what was due

  [[nodiscard]] std::uint64_t of(occurrence_outcome what) const noexcept {
    return outcomes[static_cast<std::size_t>(what)];
  }
  [[nodiscard]] std::uint64_t of(occurrence_reason why) const noexcept { return made[static_cast<std::size_t>(why)]; }
  friend bool operator==(const schedule_counters&, const schedule_counters&) = default;
};

/// New data of the zone have changed what its clock shows at the cursor. Up to `until`, occurrences are told apart: of
/// rules that go by elapsed time those up to `elapsed_to` have been decided, of fixed times those up to the local time
/// that the old clock showed then.
struct zone_refit {
  std::chrono::sys_seconds place{};  ///< so far the timetable has been gone over again
  std::chrono::sys_seconds until{};
  std::chrono::sys_seconds elapsed_to{};
  std::chrono::seconds old_offset{};
  bool will_repeat = false;  ///< the old clock would have shown that local time again

  /// The fixed times up to this one have been decided.
  [[nodiscard]] std::chrono::local_seconds fixed_to() const noexcept {
    return std::chrono::local_seconds((elapsed_to + old_offset).time_since_epoch());
  }
  friend bool operator==(const zone_refit&, const zone_refit&) = default;
};

/// What a schedule does at present, in a word.
enum class schedule_standing : std::uint8_t {
  active,
  paused,
  ended,
  refused,  ///< its plan cannot be followed
};
inline constexpr std::array<std::string_view, 4> names_of_standings{"active", "paused", "ended", "refused"};

/// Why a state cannot be read.
enum class state_error : std::uint8_t {
  malformed,      ///< no program has written it
  later_version,  ///< a later version of the program has written it: leave it to that
};

/// How far a schedule has come.
struct schedule_state {
  static constexpr std::size_t most_living = 64;
  static constexpr std::size_t most_queued = 64;
  static constexpr std::size_t most_recent = 10;
  static constexpr std::size_t most_skips = 32;
  static constexpr std::size_t most_by_hand = 32;
  static constexpr std::size_t most_backfills = 8;
  static constexpr std::size_t most_holes = 32;
  static constexpr std::size_t most_pauses = 8;
  static constexpr std::size_t longest_text = 400;  ///< of each: a note, a name, a fault

  std::uint64_t incarnation = 0;  ///< a random number; another one if the schedule is deleted and made anew
  std::uint32_t version = 1;      ///< one more with each change of the plan
  std::uint64_t plan_digest = 0;  ///< of the plan that the state belongs to
  jobs::utc_time made{};          ///< when the schedule was
  jobs::utc_time changed{};       ///< when its plan was, or its pause

  std::chrono::sys_seconds cursor{};  ///< the last instant that is decided
  /// What the zone's clock added to UTC at the cursor, by the data with which the cursor was computed.
  std::chrono::seconds cursor_offset{};
  /// Whether the clock will show its time at the cursor again, by the same data.
  bool will_repeat = false;
  std::string zone_data = {};  ///< the version of the data; "" of UTC
  std::optional<zone_refit> refit = {};
  std::optional<next_occurrence> next = {};  ///< nothing: none comes, or that depends on one that lives
  /// Of a rule `after`: when the last run has ended, or the schedule was made, changed or resumed. Nothing: one lives.
  std::optional<std::chrono::sys_seconds> delay_from = {};
  /// The late ones that are being gone through: those from its beginning on are made. Kept while one turn is not
  /// enough.
  std::optional<instant_stretch> wanted = {};
  std::uint32_t counted = 0;  ///< of the plan's count

  std::vector<schedule_pause> pauses = {};  ///< in order; only the last may be without an end
  std::string pause_note = {};
  std::string paused_by = {};

  std::vector<skip_request> skips = {};       ///< in order
  std::vector<queued_occurrence> queue = {};  ///< the earliest first
  std::vector<occurrence_name> by_hand = {};  ///< runs that wait
  std::uint32_t last_ordinal = 0;             ///< of runs by hand
  std::vector<backfill_request> backfills = {};
  std::vector<instant_stretch> holes = {};
  /// The latest instant that was made, or queued; nothing: there was none.
  std::optional<std::chrono::sys_seconds> made_to = {};
  std::vector<living_occurrence> living = {};  ///< in the order of their makings
  std::uint32_t look_after = 0;                ///< seconds between the last look at those and the next; 0: none
  std::vector<recent_occurrence> recent = {};  ///< the latest last
  schedule_counters counters = {};
  std::optional<recent_occurrence> last_success = {};  ///< the last that ended
  std::optional<recent_occurrence> last_failure = {};  ///< the last that was buried
  std::optional<end_reason> ended = {};
  std::string refused = {};  ///< why the plan cannot be followed: a sentence; empty: it can

  /// What the schedule does at this time.
  [[nodiscard]] schedule_standing standing_at(std::chrono::sys_seconds time) const noexcept;
  /// The pause that holds at this time, or is to come; null: there is none.
  [[nodiscard]] const schedule_pause* pause_from(std::chrono::sys_seconds time) const noexcept;
  /// Whether it is paused at this instant.
  [[nodiscard]] bool is_paused_at(std::chrono::sys_seconds time) const noexcept;
  /// Notes an outcome of an occurrence: in its entry if it is among the recent ones, else in a new one. Counts nothing.
  void tell(const recent_occurrence& what);

  /// The encoding; at most longest_state bytes. Texts that are too long are cut. Precondition: the lists are bounded.
  [[nodiscard]] std::string encoding() const;
  /// The state with this encoding. Bounded work, whatever the bytes are.
  [[nodiscard]] static std::expected<schedule_state, state_error> parse(std::string_view encoding);

  /// A history of the record.
  [[nodiscard]] jobs::job_fields history() const;
  /// The state in this history; nothing in it if the record has none yet: it was made by SQL.
  [[nodiscard]] static std::expected<std::optional<schedule_state>, state_error> in(const jobs::job_fields& history);

  friend bool operator==(const schedule_state&, const schedule_state&) = default;
};

}  // namespace foliot::program
