// The indexes of an embedded store's jobs (due, ready and buried): their entries on disk, the windows in memory, the
// counts of the tubes, and the timers that tell when delayed jobs are due.
//
// On disk a reserved job is ready. So a claim and the end of a reservation change no index: the entry only leaves the
// window, and comes back.
//
// Invariants:
//   1. `stored` of a tube counts the entries of its indexes. It is written with them.
//   2. The windows of a tube have what window.hpp says; the window of due jobs is empty only if no job is delayed.
//   3. A tube has a timer for the first job of that window, unless there is none, or the tube is overdue. A change
//      during a step sets the timer at the end of the step.
//   4. A tube with delayed jobs is among the tubes by what is due first, with the first job of that window. A change
//   during
//      a step puts it there at the end of the step.
//   5. Nothing in an index sorts below the floor in its tube's row: the row is written with what lowers the floor.
//
// Thread safety: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/queue/quad_heap.hpp>

#include "disk.hpp"
#include "job_records.hpp"
#include "record.hpp"
#include "reservations.hpp"
#include "tubes.hpp"

namespace foliot::jobs::detail {

class due_page;

class job_indexes {
 public:
  job_indexes(disk& on, tube_table& tubes, const reservation_table& held, const job_records& records)
      : disk_(on), tubes_(tubes), held_(held), records_(records) {}
  job_indexes(const job_indexes&) = delete;
  job_indexes& operator=(const job_indexes&) = delete;
  ~job_indexes();

  /// Sets the timers of all tubes, which have been read.
  void open();

  /// Enters a job into the index of `state` and counts it; sets its place in the record, which the caller saves.
  void add(record& it, tube& home, job_state state);
  /// The inverse.
  void remove(const record& it, tube& home, job_state state);
  /// The state of a job that nobody has reserved.
  [[nodiscard]] job_state waiting_state_of(const record& it, tube& home);

  /// The first ready job, or a ready job, leaves the window, because it is to be reserved.
  static void take_first_ready(tube& home) { home.ready.pop_front(); }
  static void take_ready(const ready_entry& entry, tube& home) { home.ready.erase(entry); }
  /// A job that has left the window is reserved.
  static void reserve(const ready_entry& entry, tube& home) { home.reserve(entry); }
  /// Its reservation has ended with the job, or with its place in the index.
  static void end_reservation(const ready_entry& entry, tube& home) { home.unreserve(entry); }
  /// Its reservation has ended, and the job is ready again.
  void give_back(const ready_entry& entry, tube& home);

  /// Makes due jobs ready, by the wall clock's time. A batch makes a bounded number of them ready, some 6 ms of work:
  /// the tubes that have more are overdue, and take turns in the next batches.
  void promote(utc_time now);
  /// When promote() has something to do: never if no job is delayed.
  [[nodiscard]] instant next_due() const noexcept { return due_timers_.next_deadline(); }
  /// The tubes with delayed jobs, in the order of the first of these.
  [[nodiscard]] const std::set<std::pair<due_entry, tube*>>& tubes_by_due() const noexcept { return tubes_by_due_; }
  /// Whether a tube had more due jobs than promote() has made ready.
  [[nodiscard]] bool has_overdue() const noexcept { return !overdue_.empty(); }

  /// Jobs of this tube may be claimed that could not be claimed before.
  void note_ready(tube& home);
  /// Ends a step that changed something: sets the due timers of its tubes.
  void end_step();
  /// Tells which tubes have got ready jobs, and which paused tubes have become empty, since the last call.
  void tell_of_tubes(execution& done);

  /// The first ready job that nobody has, or none.
  [[nodiscard]] std::optional<ready_entry> first_ready(tube& home);
  /// The first `count` jobs of an index, from its floor on: ready ones that nobody has, delayed ones, buried ones by
  /// the sequences of their burials.
  [[nodiscard]] std::vector<ready_entry> first_ready(tube& home, std::uint64_t count);
  [[nodiscard]] std::vector<due_entry> first_delayed(tube& home, std::uint64_t count);
  [[nodiscard]] std::vector<std::pair<std::uint64_t, job_id>> first_buried(tube& home, std::uint64_t count);
  /// Adds the delayed jobs of a tube from `begin` on to a page. Reads the disk only if the page goes on behind the
  /// window.
  void add_due(tube& home, const due_entry& begin, due_page& page);
  /// Calls `visit` with the places of the jobs of an index from `begin` on, in order, until it returns false: ready,
  /// delayed or buried ones. The disk has reserved ones among the ready ones: for these it says so. Nothing may be
  /// gathered meanwhile.
  void visit_from(tube& home, job_state state, const job_place& begin,
                  const std::function<bool(job_place, bool is_held)>& visit);

 private:
  /// Makes up to `count` due jobs of a tube ready.
  void promote(tube& home, std::size_t count, std::int64_t now_ms);
  /// Sets the due timer of a tube, and its place by what is due first, by its window, which reads on if it has been
  /// used up. An overdue tube has no timer. O(log tubes).
  void set_due_timer(tube& home);
  void set_place_by_due(tube& home);
  void note_due_change(tube& home);
  void refill(tube& home, index_window<due_entry>& window);
  void refill(tube& home, index_window<ready_entry>& window);
  template <class Entry, class LeftOut>
  void read_on(tube& home, index_window<Entry>& window, LeftOut left_out);
  template <class Entry>
  std::vector<Entry> first_of(tube& home, const Entry& from, std::uint64_t count);

  disk& disk_;
  tube_table& tubes_;
  const reservation_table& held_;
  const job_records& records_;
  quad_heap due_timers_;  ///< by the wall clock
  std::set<std::pair<due_entry, tube*>> tubes_by_due_;
  std::deque<tube*> overdue_;  ///< the tubes that had due jobs when promote() looked, in the order of their turns
  std::vector<tube*> due_changed_;
  std::vector<tube*> ready_tubes_;
  std::vector<const tube*> emptied_tubes_;  ///< paused ones; they may have got a job again since
};

}  // namespace foliot::jobs::detail
