// One batch on a memory_store: the time at which it happens, the changes of jobs between the indexes, and the tubes
// that have become ready meanwhile.
#pragma once

#include <foliot/jobs/memory_store.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "jobs/once_table.hpp"
#include "jobs/version.hpp"

namespace foliot::jobs {

/// What a job, or the put that makes it, counts for memory_bounds.
template <class Texts>
[[nodiscard]] std::uint64_t memory_bytes_of(const Texts& what) noexcept {
  return memory_store::job_overhead + what.tube.size() + what.key.size() + content_bytes(what);
}

/// Adds `step`, which is 1 or -1, to what a job counts for.
inline void add_to(job_counts& counts, const job& it, int step) {
  const auto add = [step](std::uint64_t& count) { step > 0 ? ++count : --count; };
  switch (it.state) {
    case job_state::delayed: return add(counts.delayed);
    case job_state::reserved: return add(counts.reserved);
    case job_state::buried: return add(counts.buried);
    case job_state::ready: break;
  }
  add(counts.ready);
  if (it.priority < urgent_below) add(counts.urgent);
}

/// Executes one batch. Lives as long as it does.
class memory_store::executor {
 public:
  explicit executor(memory_store& store)
      : store_(store), wall_(store.clocks_.wall_time()), now_(store.clocks_.monotonic->now()) {}

  /// Ends the reservations and pauses whose time is over, then makes the due jobs ready. Forgets operations whose
  /// lifetime is over.
  void advance();

  put_answer operator()(put& what);
  claim_answer operator()(claim& what);
  claim_answer operator()(claim_job& what);
  holder_answer operator()(finish& what);
  holder_answer operator()(release& what);
  holder_answer operator()(abandon& what);
  holder_answer operator()(bury& what);
  holder_answer operator()(touch& what);
  bulk_answer operator()(kick& what);
  change_answer operator()(kick_job& what);
  change_answer operator()(cancel& what);
  change_answer operator()(reschedule& what);
  change_answer operator()(fire_now& what);
  pause_answer operator()(pause& what);
  peek_answer operator()(peek& what);
  peek_answer operator()(peek_first& what);
  count_answer operator()(count_tube& what);
  count_answer operator()(count_all& what);
  tubes_answer operator()(list_tubes& what);
  nodes_answer operator()(list_nodes& what);
  due_answer operator()(list_due& what);
  bulk_answer operator()(clear_tube& what);
  jobs_answer operator()(list_jobs& what);
  put_all_answer operator()(put_all& what);

  [[nodiscard]] std::vector<std::string> ready_tubes() const { return {ready_tubes_.begin(), ready_tubes_.end()}; }
  [[nodiscard]] std::vector<std::string> emptied_tubes();
  [[nodiscard]] std::vector<reservation> expired() && { return std::move(expired_); }

 private:
  /// What the store would have after some puts: the first of a put_all.
  struct expected_content {
    std::uint64_t jobs = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] expected_content content() const noexcept {
    return {store_.jobs_.size(), store_.bytes_ + store_.once_->bytes()};
  }
  /// How an operation that happens once is answered, if its result is of this type.
  template <class Result>
  [[nodiscard]] detail::once_answer<Result> known(const once& what) const noexcept {
    return detail::answer_by<Result>(store_.once_->find(what.key(), utc_), what);
  }
  /// Whether there is room to remember this beside so many bytes.
  [[nodiscard]] bool has_room_for(const detail::once_result& result, std::uint64_t bytes) const noexcept {
    return bytes <= store_.bounds_.bytes && detail::once_table::bytes_of(result) <= store_.bounds_.bytes - bytes;
  }
  /// Whether there is room to remember another claim. What claims and their ends remove is what a full store gets its
  /// room from, so their records may exceed the bound by a sixteenth.
  [[nodiscard]] bool has_room_for_claim() const noexcept {
    const std::uint64_t bytes = content().bytes;
    const std::uint64_t bound = store_.bounds_.bytes;
    return bytes <= bound || bytes - bound < bound / 16;
  }
  void remember(const once& what, detail::once_result result);
  claim_answer claim_ready(const claim& what);
  /// The reservations of an earlier claim that have not ended, with their jobs.
  claim_answer claim_again(const std::vector<reservation>& tokens, bool is_bounded);
  /// The job that has the key of this put, or null.
  [[nodiscard]] record* holder_of_key(const put& what);
  /// What becomes of a put where this job has its key, or none has; the id of a new job is yet to be given. `before` is
  /// what the store has then; the put is added to it.
  [[nodiscard]] put_answer outcome_of(const put& what, const record* old, expected_content& before) const;
  /// Executes a put that is not refused. Returns the id of the new job.
  job_id make(put& what, record* old);
  /// Whether there is room for this history in place of that of the job.
  [[nodiscard]] bool has_room(const std::optional<job_fields>& history, const record& it) const noexcept;
  /// Replaces the history of a job, unless there is none to replace it by.
  void set_history(record& it, std::optional<job_fields>& history);
  [[nodiscard]] static reservation token_of(const record& it);
  /// Whether the job, or null for none, does not have the version that an operation expects; 0: it expects none.
  [[nodiscard]] static bool has_other_version(const record* it, job_version expected) noexcept {
    return expected != 0 && (it == nullptr || detail::version_of(it->job) != expected);
  }
  /// Ends a reservation whose time is over.
  void expire(record& it);
  /// The job, or null. Its reservation ends here if its time is over and advance() has not ended it yet.
  [[nodiscard]] record* find(job_id id);
  [[nodiscard]] record* find(const job_name& name);
  /// The job that this reservation is for, if the reservation is alive.
  [[nodiscard]] record* held(const reservation& token);
  [[nodiscard]] tube* find_tube(const std::string& name);
  /// Calls `visit` with the places and ids of the jobs of a tube in a state, which is not reserved, from a place on and
  /// in order, until it returns false.
  template <class Visit>
  void visit_from(const tube& in, job_state state, const job_place& begin, Visit visit);
  /// The tube of this name, which is made if it is not known.
  tube& known_tube(const std::string& name);
  /// Forgets the tube if it has neither a job nor a pause.
  void forget_if_idle(const std::string& name);

  /// Puts a job into the indexes of its state, and counts it.
  void enter_indexes(record& it);
  /// The inverse of enter_indexes().
  void leave_indexes(record& it);
  /// Adds to the counts of the job's state, in its tube and in the store; `step` is 1 or -1.
  void count(const record& it, int step);

  /// Applies the event by the table. `change` alters the job while it is in no index. False: the event does not apply.
  template <class Change>
  bool apply(record& it, job_event event, Change change);
  bool apply(record& it, job_event event) {
    return apply(it, event, [](record&) {});
  }
  /// Takes a job that is in no index out of the store.
  void end(job_id id);
  claimed_job reserve(record& it, job_event event);
  /// Sets the due time and the delay that an operation asks for.
  void set_due(jobs::job& it, const due_at& due) const;
  /// For operations on jobs that no worker has.
  template <class Change>
  change_answer change_waiting(record* it, job_version expected, job_event event, Change change);
  template <class Change>
  holder_answer change_held(const reservation& token, job_event event, Change change);
  void end_pause(const std::string& name, tube& it);

  memory_store& store_;
  const std::chrono::sys_time<std::chrono::nanoseconds> wall_;
  const utc_time utc_ = std::chrono::floor<milliseconds>(wall_);
  const instant now_;
  std::uint64_t claimed_bytes_ = 0;  ///< of the jobs that the claims of the batch have brought
  std::set<std::string> ready_tubes_;
  std::set<std::string> emptied_tubes_;  ///< they may have got a job again since
  std::vector<reservation> expired_;
};

template <class Change>
bool memory_store::executor::apply(record& it, job_event event, Change change) {
  const transition after = transition_of(it.job.state, event);
  if (after == transition::refused) return false;
  leave_indexes(it);
  change(it);
  switch (after) {
    case transition::refused: break;
    case transition::delayed: it.job.state = job_state::delayed; break;
    case transition::ready: it.job.state = job_state::ready; break;
    case transition::by_delay: it.job.state = waiting_state(it.job.due, utc_); break;
    case transition::reserved: it.job.state = job_state::reserved; break;
    case transition::buried: it.job.state = job_state::buried; break;
    case transition::gone: end(it.job.id); return true;
  }
  enter_indexes(it);
  return true;
}

template <class Change>
change_answer memory_store::executor::change_waiting(record* it, job_version expected, job_event event, Change change) {
  using enum change_answer::kind;
  if (it == nullptr) return {gone, 0};
  const job_id id = it->job.id;
  if (has_other_version(it, expected)) return {other_version, id, detail::version_of(it->job)};
  if (it->job.state == job_state::reserved) return {reserved, id};
  return {apply(*it, event, change) ? done : refused, id};
}

template <class Change>
holder_answer memory_store::executor::change_held(const reservation& token, job_event event, Change change) {
  record* it = held(token);
  if (it == nullptr) return {holder_answer::kind::not_held};
  apply(*it, event, change);
  return {holder_answer::kind::done};
}

}  // namespace foliot::jobs
