// An action: a change of many jobs, which a filter names. What it is and how far it has come is kept in a job of the
// server's own tube, its *record*, so that every store keeps it, every node can go on with it, and a restart ends none.
//
//   counting ──all have been counted──► counted ──run──► running ──all have had their turn──► done
//      │                                   │                │
//      └───────────────────────────── stop, or its rights have ended ────────────────────────► stopped
//
// The record's id is the action's. Its fields have the plan, which never changes, and its history the progress, which
// each turn replaces as it gives the record back. While the action counts or runs, the record is ready, or reserved by
// the node that does the next piece; else it is delayed until it is forgotten.
//
// Invariants:
//   1. A job that was put after the record is never touched. Ids are given in ascending order, so it has a greater id.
//   2. The progress is stored before a piece of the run begins, with the number of its jobs (`doing`), and after it. So
//      of a piece that was cut off it is known that it was, and how many jobs it had.
//
// Thread safety: values.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/jobs/fields.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>

#include "server/access/digest.hpp"
#include "server/access/rights.hpp"

namespace foliot::program {

/// A text is searched in so many bytes of a body, from its beginning.
inline constexpr std::size_t searched_of_body = 65'536;
/// The longest text, in bytes.
inline constexpr std::size_t longest_searched_text = 1000;

/// Which jobs an action is about: those of a tube, or of the tubes with a prefix, that are in a state, whose keys begin
/// with a text, and whose bodies have a text in them. What is left out is no condition. A value.
struct job_filter {
  std::string tube = {};                      ///< empty: those with the prefix
  std::string prefix = {};                    ///< of the names of tubes, as the client has asked
  std::vector<std::string> within = {};       ///< the prefixes of those tubes that the client's rights include
  std::optional<jobs::job_state> state = {};  ///< none: any
  std::string key_prefix = {};
  std::string text = {};

  /// Whether a job meets all conditions but the text. False for jobs of the server itself.
  [[nodiscard]] bool matches(const jobs::job& what) const noexcept;
  /// Whether the body has the text.
  [[nodiscard]] bool matches_body(std::string_view body) const noexcept {
    return body.substr(0, searched_of_body).contains(text);
  }
  [[nodiscard]] bool needs_body() const noexcept { return !text.empty(); }
  /// A page of the jobs of these tubes, by id, behind this one.
  [[nodiscard]] jobs::list_jobs page_behind(jobs::job_id id, std::uint32_t count) const;

  friend bool operator==(const job_filter&, const job_filter&) = default;
};

/// What an action does to each job.
enum class action_kind : std::uint8_t { cancel, kick, fire, reschedule };
inline constexpr std::array<std::string_view, 4> names_of_kinds{"cancel", "kick", "fire", "reschedule"};

enum class action_state : std::uint8_t { counting, counted, running, done, stopped };
inline constexpr std::array<std::string_view, 5> names_of_action_states{"counting", "counted", "running", "done",
                                                                        "stopped"};

/// How long an action that has been counted waits to be run, and how long one that has ended is kept.
inline constexpr jobs::milliseconds kept_when_counted = std::chrono::hours(1);
inline constexpr jobs::milliseconds kept_when_ended = std::chrono::hours(24);
/// The TTR of a record: how long a node that dies in a turn keeps the others from it, at the most.
inline constexpr jobs::milliseconds longest_turn = std::chrono::seconds(30);

/// What has become of a job at its turn.
enum class action_outcome : std::uint8_t {
  done,
  gone,      ///< it has ended meanwhile
  reserved,  ///< a worker has it
  refused,   ///< it is in a state to which the change does not apply
  changed,   ///< it has changed meanwhile, and the filter does not fit any more
  unknown,   ///< a piece was cut off, or an answer lost: it is done, or has changed by another hand
};
inline constexpr std::array<std::string_view, 6> names_of_outcomes{"done",    "gone",    "reserved",
                                                                   "refused", "changed", "unknown"};

/// What an action shall do, and by whose rights.
struct action_plan {
  action_kind what = action_kind::cancel;
  job_filter filter = {};
  /// Of a reschedule: a time, or a delay from the beginning of the run.
  std::optional<jobs::due_at> due = {};
  std::string owner = {};    ///< the id of the access token; empty: there were none
  sha256_digest proof = {};  ///< of that token, as the file of tokens has it

  /// The rights that it needs of its owner's.
  [[nodiscard]] std::shared_ptr<const rights> needs() const;
  /// The fields of its record; nothing if they are too long.
  [[nodiscard]] std::optional<jobs::job_fields> fields() const;
  /// The plan in these fields; nothing if they have none.
  [[nodiscard]] static std::optional<action_plan> in(const jobs::job_fields& fields);

  friend bool operator==(const action_plan&, const action_plan&) = default;
};

/// How far an action has come.
struct action_progress {
  /// The most jobs that are named one by one.
  static constexpr std::size_t most_named = 20;

  action_state state = action_state::counting;
  std::string reason = {};  ///< of one that was stopped: a sentence
  std::uint32_t turns = 0;
  jobs::job_id place = 0;  ///< the jobs up to this id have had their turn in this state
  std::uint64_t counted = 0;
  jobs::job_id counted_to = 0;  ///< the last job that the count has seen: the run goes no further
  std::uint64_t partly = 0;     ///< of the bodies in which a text was searched, those that are longer than that
  std::uint64_t matched = 0;    ///< at their turns in the run; those that are missing in a cut piece count
  std::array<std::uint64_t, names_of_outcomes.size()> outcomes{};
  std::vector<std::pair<jobs::job_id, action_outcome>> named = {};  ///< jobs that were not done
  std::uint64_t doing = 0;                                          ///< jobs of the piece that is under way
  jobs::job_id doing_to = 0;                                        ///< its last place
  std::vector<jobs::job_version> doing_versions = {};               ///< those that its jobs had before it
  std::optional<jobs::utc_time> due = {};  ///< of a reschedule, from the beginning of the run on
  std::optional<jobs::utc_time> started = {};
  std::optional<jobs::utc_time> ended = {};
  std::optional<jobs::utc_time> kept_until = {};  ///< of one that neither counts nor runs

  [[nodiscard]] bool is_at_work() const noexcept {
    return state == action_state::counting || state == action_state::running;
  }
  void note(jobs::job_id id, action_outcome what);
  /// From now on it is done or stopped. What has become of a piece that was cut off is unknown then.
  void end(action_state how, std::string why, jobs::utc_time now);
  /// A history of the record.
  [[nodiscard]] jobs::job_fields history() const;
  /// The progress in this history; that of a new action if there is none; nothing if it cannot be read.
  [[nodiscard]] static std::optional<action_progress> in(const jobs::job_fields& history);

  friend bool operator==(const action_progress&, const action_progress&) = default;
};

/// An action as its record shows it.
struct action {
  jobs::job_id id = 0;
  jobs::utc_time made{};
  action_plan plan = {};
  action_progress progress = {};

  /// Nothing if the job is no record, or one that this program cannot read.
  [[nodiscard]] static std::optional<action> in(const jobs::job& record);
};

}  // namespace foliot::program
