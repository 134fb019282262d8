// What follows from a history with certainty, and what is possible after it, for each job: the words in which the
// rules of the checker are written.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "history.hpp"

namespace foliot::program::worlds {

inline constexpr std::uint64_t whole_history = std::numeric_limits<std::uint64_t>::max();

/// A time in which one connection, or over HTTP one token, certainly had a job.
struct hold {
  /// Whether a command comes from the one that has the job.
  [[nodiscard]] bool is_shown_by(const event& it) const {
    if (by->by == protocol_of::http) return it.token == by->token;
    return it.connection == by->connection;
  }

  const event* by = nullptr;  // the reserve
  std::uint64_t until = whole_history;
  instant until_time;
};

class facts {
 public:
  explicit facts(const history& of);

  [[nodiscard]] const history& all() const { return all_; }
  /// The puts that were answered, by the ids of their jobs.
  [[nodiscard]] const std::map<jobs::job_id, const event*>& puts() const { return puts_; }
  [[nodiscard]] const event* put_of(jobs::job_id id) const;
  /// The commands that name the job, or whose answers do; also by its key.
  [[nodiscard]] std::vector<const event*> about(jobs::job_id id) const;
  /// The reserves.
  [[nodiscard]] const std::vector<const event*>& reserves() const { return reserves_; }

  /// Whether the answer to a reserve came at the instant in which the server reserved the job, or would have come.
  [[nodiscard]] bool is_exact(const event& it) const { return it.prompt && it.once.empty() && !all_.has_stalls; }
  /// Whether `it` happened after `earlier` was answered, for certain.
  [[nodiscard]] bool is_after(const event& it, const event& earlier) const;
  /// Whether a reserve may have got a job of which its answer does not tell.
  [[nodiscard]] bool may_hide_a_job(const event& it) const { return !it.end || all_.has_outages; }
  /// Whether a reserve may have got its job, or may have been lost with a job, until this time.
  [[nodiscard]] bool may_have_reserved(const event& it, instant until) const;

  /// Whether a command that began before `order` may have ended the job.
  [[nodiscard]] bool may_have_ended(jobs::job_id id, std::uint64_t order = whole_history) const;
  /// The command that was first answered with the end of the job: also a clear that has left no job in its tube, if no
  /// worker may have had this one.
  [[nodiscard]] const event* end_of(jobs::job_id id) const;
  /// Whether a put of which nobody has seen the job has certainly brought none: nothing may have ended it unseen.
  [[nodiscard]] bool never_was(const event& put) const;
  /// Whether some client may have had the job before `order`.
  [[nodiscard]] bool may_have_been_held(jobs::job_id id, std::uint64_t order) const;
  [[nodiscard]] std::vector<hold> holds(jobs::job_id id) const;
  /// Whether the reservation of a reserve over HTTP has certainly ended when `it` begins, and why.
  [[nodiscard]] const char* why_ended(const event& reserve, const event& it) const;
  /// Whether the server may have ended between two moments.
  [[nodiscard]] bool may_have_restarted(std::uint64_t from, std::uint64_t to) const;
  /// Whether `it` may mean the job, if the answer does not tell.
  [[nodiscard]] bool names(const event& it, jobs::job_id id) const;
  /// Whether between the look and the beginning of `it` the job has certainly got another version.
  [[nodiscard]] const event* change_between(jobs::job_id id, const event& look, const event& it) const;
  /// Whether the job that a look has shown may have changed before the end of `it`.
  [[nodiscard]] bool may_have_changed(jobs::job_id id, const event& look, const event& it) const;
  /// Whether a pause of this tube began before `order`.
  [[nodiscard]] bool may_be_paused(const std::string& tube, std::uint64_t order) const;
  /// Whether between its put and `until` nothing may have happened to the job but that it became ready, if `but` is
  /// left aside.
  [[nodiscard]] bool is_untouched(jobs::job_id id, instant until, const event* but) const;

  /// Whether the job is delayed from its put on, until the page was answered, and due at a time that its put alone has
  /// given.
  [[nodiscard]] bool stays_delayed(const event& put, const event& page) const;

  /// The due time that a put, a release or a reschedule gave, at the earliest and at the latest.
  [[nodiscard]] jobs::utc_time earliest_due(const event& by) const;
  [[nodiscard]] jobs::utc_time latest_due(const event& by) const;

 private:
  [[nodiscard]] bool may_end(const event& it, jobs::job_id id) const;
  [[nodiscard]] bool ends(const event& it, jobs::job_id id) const;

  const history& all_;
  std::map<jobs::job_id, const event*> puts_;
  std::map<jobs::job_id, std::vector<const event*>> by_id_;
  std::map<std::pair<std::string, std::string>, std::vector<const event*>> by_key_;
  std::vector<const event*> reserves_;
  std::vector<const event*> pauses_;
  std::vector<const event*> kicks_;
  std::vector<const event*> clears_;
  std::map<std::string, std::vector<const event*>> by_token_;
};

}  // namespace foliot::program::worlds
