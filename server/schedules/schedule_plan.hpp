// The plan of a schedule: what somebody wants, as JSON says it. It is the body of the schedule's record, in one form
// for all that mean the same.
//
//   {"rules": ["0 9 * * MON-FRI", {"text": "0 0 12 * * ?", "dialect": "quartz"}], "zone": "Europe/Berlin",
//    "exclude": {"dates": ["2026-12-25"], "rules": ["* * 24 12 *"]}, "starts": "2026-12-01T00:00:00Z",
//    "ends": "2027-12-01T00:00:00Z", "count": 100, "jitter": "5m", "gap": "shift", "overlap": "first",
//    "missed": "all", "missed_limit": 10, "missed_window": "7d", "busy": "queue", "busy_limit": 5, "deadline": "1h",
//    "note": "why", "job": {"body": {"any": "JSON"}, "priority": 0, "ttr": "60s", "headers": {"name": "value"}}}
//
// Only `rules` and `job` are needed, and only `rules` if the job's body is empty. `text` or `base64` stand for `body`
// where it is not JSON, and `content_type` for the type that they have by themselves.
//
// `every` without `from` counts from an instant that is kept with the rule, as its `anchor`: settle_anchors().
//
// What is wrong is named by a JSON pointer, with what would be right; a member that there is not, with the nearest one.
//
// Thread safety: values and pure functions.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/jobs/fields.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/schedule/rule.hpp>
#include <foliot/schedule/timetable.hpp>
#include <foliot/schedule/zone.hpp>

#include "server/http/json.hpp"

namespace foliot::program {

/// The longest name of a schedule, in bytes. A name has characters that tubes may have (jobs::is_tube_character), and
/// does not begin with a hyphen.
inline constexpr std::size_t longest_schedule_name = 100;
/// Whether a schedule may have this name.
[[nodiscard]] bool is_schedule_name(std::string_view name) noexcept;
/// What such names are like, for messages: "1 to 100 of the characters …".
inline constexpr std::string_view form_of_schedule_names =
    "1 to 100 of the characters A-Z a-z 0-9 - + / ; . $ _ ( ) and not begin with -";

/// The key of a schedule's record: `TUBE:NAME`. No name of a tube has a colon, so what begins with `TUBE:` is the
/// schedules of that tube. It is longer than keys may be (jobs::longest_key) if tube and name together have more than
/// 199 bytes: who makes a schedule looks.
[[nodiscard]] std::string key_of_schedule(std::string_view tube, std::string_view name);
/// The tube and the name of this key, as parts of it; nothing if it is none.
[[nodiscard]] std::optional<std::pair<std::string_view, std::string_view>> schedule_of_key(
    std::string_view key) noexcept;

/// What becomes of occurrences whose time has passed for longer than `grace` when their turn comes.
enum class missed_policy : std::uint8_t { none, last, all };
inline constexpr std::array<std::string_view, 3> names_of_missed_policies{"none", "last", "all"};

/// What becomes of an occurrence that is due while an earlier one waits or is at work.
enum class busy_policy : std::uint8_t {
  allow,    ///< it is made
  skip,     ///< it is not made
  queue,    ///< it waits until the others have ended, if no more than busy_limit wait
  replace,  ///< it takes the place of the one that waits; of one at work alone, it is made
};
inline constexpr std::array<std::string_view, 4> names_of_busy_policies{"allow", "skip", "queue", "replace"};

/// So late an occurrence is still regular.
inline constexpr std::chrono::seconds grace{60};
inline constexpr std::uint32_t most_missed_limit = 1000;
inline constexpr std::uint32_t most_busy_limit = 64;
inline constexpr std::size_t longest_note = 1000;

/// What is wrong with a plan.
struct plan_error {
  std::string pointer = {};  ///< to the value, in the plan: `/rules/0`; empty: the plan as a whole
  std::string detail = {};   ///< what is wrong and what would be right, as a sentence without its full stop

  friend bool operator==(const plan_error&, const plan_error&) = default;
};

/// A rule as its author wrote it.
struct planned_rule {
  std::string text = {};
  schedule::dialect dialect = schedule::dialect::vixie;
  /// From when it counts, if the text does not say it.
  std::optional<std::chrono::sys_seconds> anchor = {};

  friend bool operator==(const planned_rule&, const planned_rule&) = default;
};

/// What each occurrence's job is like.
struct job_template {
  std::string body = {};
  /// `body`, `text` or `base64`: how the author gave the body. Empty: there was none.
  std::string form = {};
  jobs::priority priority = 0;
  jobs::milliseconds ttr = std::chrono::minutes(1);
  /// Its content type and headers, as any put has them.
  jobs::job_fields fields = {};

  friend bool operator==(const job_template&, const job_template&) = default;
};

/// The timetable of a plan by the clock of one zone, and what the planner asks beside it. A value; copying is
/// O(rules + dates).
struct schedule_table {
  schedule::timetable all;
  /// If there are both: the rules alone that go by elapsed time or mean the minutes that really happen, and those alone
  /// that name times of day.
  std::optional<schedule::timetable> elapsed = {};
  std::optional<schedule::timetable> fixed = {};
  bool has_fixed_times = false;  ///< whether a rule names times of day
  bool is_delay = false;         ///< whether the rule is `after`
  std::string name = {};         ///< of the schedule: its jitter goes by it

  [[nodiscard]] const schedule::zone& where() const noexcept { return all.options().where; }
  /// By how much the job of the occurrence at an instant is delayed.
  [[nodiscard]] std::chrono::milliseconds delay_of(std::chrono::sys_seconds at) const noexcept {
    return all.delay_of(name, at);
  }
};

/// What somebody wants.
struct schedule_plan {
  std::vector<planned_rule> rules = {};
  std::string zone = "UTC";
  std::vector<std::chrono::year_month_day> excluded_dates = {};
  std::vector<planned_rule> excluded_rules = {};
  std::optional<std::chrono::sys_seconds> starts = {};
  std::optional<std::chrono::sys_seconds> ends = {};
  /// So many occurrences are due in all, from the making on, whatever becomes of them; 0: no end. The planner counts
  /// them, and the timetable does not: it would count again from the start after each change of the rules.
  std::uint32_t count = 0;
  std::chrono::seconds jitter{};
  schedule::gap_policy gap = schedule::gap_policy::shift;
  schedule::overlap_policy overlap = schedule::overlap_policy::first;
  missed_policy missed = missed_policy::last;
  std::uint32_t missed_limit = 100;                             ///< of `all`: the latest so many of a stretch
  std::chrono::seconds missed_window = std::chrono::days(365);  ///< those that are older expire
  busy_policy busy = busy_policy::allow;
  std::uint32_t busy_limit = 1;                       ///< of `queue`: so many may wait
  std::optional<std::chrono::seconds> deadline = {};  ///< so late an occurrence may still be made; else it expires
  std::string note = {};
  job_template job = {};

  /// Reads a plan. `longest_body`: of a job, in bytes.
  [[nodiscard]] static std::expected<schedule_plan, plan_error> read(const http::json& from,
                                                                     std::size_t longest_body = std::size_t{64} << 20);
  /// Reads the body of a record.
  [[nodiscard]] static std::expected<schedule_plan, plan_error> read(std::string_view text);

  /// The plan as JSON, in the one form: members in the order above, defaults left out, times in UTC, lengths as
  /// `1h30m`. It reads as an equal plan.
  [[nodiscard]] http::ordered_json json() const;
  /// The same as a text: the body of the record.
  [[nodiscard]] std::string text() const;
  /// Why the plan cannot be kept, though it was read: its text has more values of JSON than are read, or leaves no room
  /// for a job beside it in the commit of a turn. O(bytes).
  [[nodiscard]] std::optional<plan_error> fault_as_record() const;
  /// A number that differs for plans that differ in when or what they make: all but the note counts. The same in each
  /// process.
  [[nodiscard]] std::uint64_t digest() const;

  /// Whether a rule lacks its anchor: settle_anchors() has not been called.
  [[nodiscard]] bool lacks_anchors() const;
  /// Gives an anchor to each rule that needs one: of the plan before, if that had a rule with the same text; else now.
  void settle_anchors(const schedule_plan* before, std::chrono::sys_seconds now);

  /// The timetable in this zone, for the schedule with this name of this tube. Bounded work: it asks a zone about the
  /// rules' texts, and looks for no occurrence.
  /// Precondition: `where` is the zone with the name `zone`.
  [[nodiscard]] std::expected<schedule_table, plan_error> table_in(schedule::zone where, std::string_view tube,
                                                                   std::string_view name) const;

  friend bool operator==(const schedule_plan&, const schedule_plan&) = default;
};

}  // namespace foliot::program
