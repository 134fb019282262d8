// What an embedded store does: operations on jobs, as changes of the database and of what lies in memory.
//
// A batch is executed in steps: what time has brought, then each operation. The steps gather writes, which are written
// together at the end of the batch, synced if an answer depends on them: so a crash keeps a batch as a whole or not at
// all.
//
// On disk a reserved job is ready. So a claim and the end of a reservation change no index, unless the job was claimed
// while it was delayed or buried.
//
// Invariants:
//   1. Every job has one record, and one entry in one of the indexes due, ready and buried; every job with a key has
//      one entry in keys. check() proves it.
//   2. `stored` of a tube counts the entries of its indexes. It is written with them.
//   3. The windows of a tube have what window.hpp says; the window of due jobs is empty only if no job is delayed.
//   4. Nothing in an index sorts below the floor in its tube's row: the row is written with what lowers the floor.
//   5. If a record has fields or a history, the folder has the version of the format that goes with them: it is written
//      with the first such record.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/embedded_store.hpp>
#include <foliot/jobs/transitions.hpp>
#include <foliot/queue/quad_heap.hpp>

#include "disk.hpp"
#include "disk_space.hpp"
#include "record.hpp"
#include "record_cache.hpp"
#include "reservations.hpp"
#include "tubes.hpp"

namespace foliot::jobs::detail {

class due_page;

class embedded_core {
 public:
  /// `files`: the file system, null for the system's. `widest_window`: see tube_table. Throws store_failure.
  embedded_core(const embedded_options& options, std::shared_ptr<rocksdb::FileSystem> files,
                std::size_t widest_window = std::size_t{1} << 14);
  ~embedded_core();

  /// The store of a core, for tests.
  [[nodiscard]] static std::unique_ptr<embedded_store> as_store(std::unique_ptr<embedded_core> core) {
    return std::unique_ptr<embedded_store>(new embedded_store(std::move(core)));
  }
  /// A store on this file system, for tests.
  [[nodiscard]] static std::unique_ptr<embedded_store> open_on(const embedded_options& options,
                                                               std::shared_ptr<rocksdb::FileSystem> files) {
    return as_store(std::make_unique<embedded_core>(options, std::move(files)));
  }

  execution execute(std::span<operation> batch);
  [[nodiscard]] next_change next() const noexcept;
  [[nodiscard]] check_result check();
  void close();
  /// Any thread.
  void back_up(const std::string& to);

 private:
  // ---- the batch: core.cpp
  void open();
  /// Tells an operator if other users can enter or lock the folder, or if this store could not lock it.
  void warn_of_open_folder() const;
  /// Checks a store that was salvaged. Throws store_failure if it cannot be.
  void end_salvage();
  void stop_timers() noexcept;
  execution execute_steps(std::span<operation> batch);
  void commit();
  /// Marks what has been synced, if it is time to.
  void mark(instant now);
  /// Tells an operator.
  void warn(const std::string& sentence) const;
  /// Ends a step that changed something: sets the due timers of its tubes.
  void end_step();

  // ---- what time brings: advance.cpp
  void advance();
  void expire(held_job& it);
  /// The live reservation of a job, or null. A reservation whose time is over ends here, if advance() has not ended it
  /// yet.
  held_job* holder(job_id id);
  held_job* holder(const reservation& token);
  void promote(tube& it, std::size_t count);
  /// Sets the due timer of a tube by its window, which reads on if it has been used up. An overdue tube has no timer.
  void set_due_timer(tube& it);
  void refill(tube& it, index_window<due_entry>& window);
  void refill(tube& it, index_window<ready_entry>& window);
  template <class Entry, class LeftOut>
  void read_on(tube& it, index_window<Entry>& window, LeftOut left_out);

  // ---- jobs and their indexes: jobs.cpp
  /// Fills in a record. `with_body`: the inline body, too. False: there is no such job.
  bool load(job_id id, record& it, bool with_body);
  /// As load(); that the job exists is known.
  void load_known(job_id id, record& it, bool with_body);
  void save(const record& it);
  std::string body_of(record& it);
  /// The job of this key, or 0.
  job_id find_key(const tube& in, std::string_view key);
  job_id find_name(const job_name& name);
  /// The state of a job that nobody has reserved.
  job_state waiting_state_of(const record& it, tube& home);
  tube& home_of(const record& it);
  /// Enters a job into the index of `state` and counts it; sets `place`.
  void link(record& it, tube& home, job_state state);
  /// The inverse.
  void unlink(const record& it, tube& home, job_state state);
  /// Takes a job, which is in no index, out of the store.
  void erase(const record& it, const tube& home);
  void became_ready(tube& home);
  /// Writes a new job: its record, body, key and index entry.
  void insert(record& it, std::string body, tube& home, job_state state);
  /// Ends a reservation in memory. The job's entry in the index `ready` stays.
  void leave(held_job& it);
  /// A reserved job becomes ready. Its record is written, for its counters; its index entry stays as it is.
  void give_back(held_job& it);
  /// Reserves a job that is in the index `ready`, and not in the window.
  claimed_job reserve(record it, tube& home);
  job shown(record it, tube& home, job_state state, instant expires, bool with_body);

  // ---- the check: check.cpp
  struct found_jobs;
  check_result check_all();
  /// Walks over the jobs and their bodies, and adds up the entries that they should have in the indexes. `one_by_one`:
  /// also looks up each of these entries.
  check_result check_jobs(std::map<tube_number, found_jobs>& found, bool one_by_one);
  /// Compares the sums of an index with those that its jobs should have.
  check_result check_entries(std::map<tube_number, found_jobs>& found, family where);
  /// Adds a job to the sums of its tube, and compares it with the floor and the window of its index.
  check_result check_index(const record& it, tube& home, found_jobs& sum, bool one_by_one);
  /// The timer and the window of a tube's delayed jobs.
  static check_result check_tube(const tube& it);

  // ---- operations: operations_*.cpp
  put_answer step(put& what);
  claim_answer step(claim& what);
  claim_answer step(claim_job& what);
  holder_answer step(finish& what);
  holder_answer step(release& what);
  holder_answer step(abandon& what);
  holder_answer step(bury& what);
  holder_answer step(touch& what);
  bulk_answer step(kick& what);
  change_answer step(kick_job& what);
  change_answer step(cancel& what);
  change_answer step(reschedule& what);
  change_answer step(fire_now& what);
  pause_answer step(pause& what);
  peek_answer step(peek& what);
  peek_answer step(peek_first& what);
  count_answer step(count_tube& what);
  count_answer step(count_all& what);
  tubes_answer step(list_tubes& what);
  due_answer step(list_due& what);
  bulk_answer step(clear_tube& what);

  /// Whether the disk has what the operation needs, by its row in the table of operations.
  template <class Operation>
  [[nodiscard]] bool has_room_for(const Operation& /*what*/) const noexcept {
    return space_.has(facts_of<Operation>().room);
  }
  job_id new_id();
  /// The first ready job that nobody has, or none.
  [[nodiscard]] std::optional<ready_entry> first_ready(tube& it);
  /// The first `count` jobs of an index, from `from` on.
  template <class Entry>
  std::vector<Entry> first_of(tube& it, const Entry& from, std::uint64_t count);
  /// Adds the delayed jobs of a tube from `begin` on to a page. Reads the disk only if the page goes on behind the
  /// window.
  void add_due(tube& it, const due_entry& begin, due_page& page);
  std::vector<std::pair<std::uint64_t, job_id>> first_buried(tube& it, std::uint64_t count);
  /// Sets the due time and the delay that an operation asks for.
  void set_due(record& it, const due_at& due) const;
  /// Makes a job that nobody has ready, as a kick does.
  void kick_one(record& it, tube& home, job_state state);
  template <class Operation, class Change>
  change_answer change_waiting(const Operation& what, const job_name& name, job_event event, Change change);
  void end_pause(tube& it);

  /// The millisecond at which the batch happens, since 1970.
  [[nodiscard]] std::int64_t now_ms() const noexcept { return utc_.time_since_epoch().count(); }

  const embedded_options options_;
  disk disk_;
  disk_space space_;
  tube_table tubes_;
  reservation_table held_;
  quad_heap due_timers_;       ///< by the wall clock
  std::deque<tube*> overdue_;  ///< the tubes that had due jobs when advance() looked, in the order of their turns
  quad_heap pause_timers_;     ///< by the monotonic clock
  std::uint64_t opening_ = 0;
  std::uint64_t format_version_ = 0;  ///< the folder's: see opening.hpp
  job_id next_id_ = 1;
  job_id id_limit_ = 1;    ///< ids below it may be given: the stored limit is not below it
  bool is_usable_ = true;  ///< false: no batch may be executed any more, nothing may be written
  std::string failure_;    ///< why it is not usable; empty if there was no memory for the text
  store_failure::remedies remedy_ = store_failure::remedies::open_again;  ///< and what helps

  // What has been written, but not synced, and must be.
  bool unsynced_ = false;
  instant sync_at_ = instant::never();

  instant next_mark_warning_ = instant::earliest();

  // The batch.
  bool ids_raised_ = false;
  utc_time utc_{};     ///< the wall clock's time, rounded down
  utc_time utc_up_{};  ///< and rounded up: from here a delay counts, so that it is not a fraction too short
  instant now_;
  bool must_sync_ = false;           ///< an answer of this batch depends on what was written
  std::uint64_t claimed_bytes_ = 0;  ///< of the jobs that its claims have brought
  std::vector<tube*> ready_tubes_;
  std::vector<tube*> due_changed_;
  std::vector<const tube*> emptied_tubes_;  ///< paused ones; they may have got a job again since
  std::vector<reservation> expired_;
  std::string value_;  ///< room for a record
  record_cache records_;
  /// What has been gathered since the last write, because reads of the disk do not see it: the jobs of keys, 0 if there
  /// is none, and bodies.
  std::unordered_map<std::string, job_id> fresh_keys_;
  std::unordered_map<job_id, std::string> fresh_bodies_;
};

template <class Operation, class Change>
change_answer embedded_core::change_waiting(const Operation& what, const job_name& name, job_event event,
                                            Change change) {
  using enum change_answer::kind;
  const job_id id = find_name(name);
  if (id != 0 && holder(id) != nullptr) return {reserved, id};
  record it;
  if (id == 0 || !load(id, it, event != job_event::cancel)) return {gone, 0};
  tube& home = home_of(it);
  const job_state state = waiting_state_of(it, home);
  if (transition_of(state, event) == transition::refused) return {refused, id};
  if (!has_room_for(what)) return {no_space, id};
  change(it, home, state);
  must_sync_ = must_sync_ || disk_.has_gathered();
  return {done, id};
}

}  // namespace foliot::jobs::detail
