// What an embedded store does: operations on jobs, as changes of the database and of what lies in memory.
//
// A batch is executed in steps: what time has brought, then each operation. The steps gather writes, which are written
// together at the end of the batch, synced if an answer depends on them: so a crash keeps a batch as a whole or not at
// all.
//
// Its parts:
//   job_records        records, bodies and keys of jobs, as the batch has left them
//   job_indexes        which jobs are due, ready and buried: entries on disk, windows, counts and timers
//   reservation_table  the reservations, in memory alone
//   tube_table         the tubes, and which of their rows are to be written
//   once_records       the operations that happen once
//   folder_format      the version of the folder's format
//   disk, disk_space   the database with its gathered writes, and whether it has room
//   store_check        the comparison of all that
//
// Invariants:
//   1. Every job has one record, and one entry in one of the indexes due, ready and buried; every job with a key has
//      one entry in keys. check() proves it.
//   2. On disk a reserved job is ready. So a claim and the end of a reservation change no index, unless the job was
//      claimed while it was delayed or buried.
//   3. No id is given that the stored limit does not cover.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/embedded_store.hpp>
#include <foliot/jobs/transitions.hpp>
#include <foliot/queue/quad_heap.hpp>

#include "disk.hpp"
#include "disk_space.hpp"
#include "folder_format.hpp"
#include "job_indexes.hpp"
#include "job_records.hpp"
#include "once_records.hpp"
#include "record.hpp"
#include "reservations.hpp"
#include "tubes.hpp"

namespace foliot::jobs::detail {

class listed_page;

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
  [[nodiscard]] store_figures figures() const;
  /// Any thread.
  void back_up(const std::string& to);

 private:
  void open();
  /// Tells an operator if other users can enter or lock the folder, or if this store could not lock it.
  void warn_of_open_folder() const;
  /// Checks a store that was salvaged. Throws store_failure if it cannot be.
  void end_salvage();
  /// Tells an operator.
  void warn(const std::string& sentence) const;
  /// Marks what has been synced, if it is time to.
  void mark(instant now);

  // ---- the batch

  execution execute_steps(std::span<operation> batch);
  /// What time has brought: ends the reservations and pauses that are over, and makes due jobs ready.
  void advance();
  void commit();

  // ---- reservations

  /// The live reservation of a job, or null. A reservation whose time is over ends here, if advance() has not ended it
  /// yet.
  held_job* holder(job_id id);
  held_job* holder(const reservation& token);
  /// Reserves a job that is in the index `ready`, and not in the window.
  claimed_job reserve(record&& it, tube& home);
  /// Ends a reservation. Its job must have been removed from the index `ready` before.
  void end_reservation(held_job& it);
  /// Ends a reserved job, with its reservation. `erase` erases its record, and its key unless the batch gives that
  /// away.
  void end(held_job& it, void (job_records::*erase)(const record&));
  /// A reserved job becomes ready. Its record is written, for its counters; its index entry stays as it is.
  void give_back(held_job& it);
  void expire(held_job& it);

  // ---- operations

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
  nodes_answer step(list_nodes& what);
  due_answer step(list_due& what);
  bulk_answer step(clear_tube& what);
  jobs_answer step(list_jobs& what);
  put_all_answer step(put_all& what);

  /// Whether the disk has what the operation needs, by its row in the table of operations.
  template <class Operation>
  [[nodiscard]] bool has_room_for(const Operation& /*what*/) const noexcept {
    return space_.has(facts_of<Operation>().room);
  }
  /// How an operation that happens once is answered, if its result is of this type.
  template <class Result>
  [[nodiscard]] once_answer<Result> known(const once& what) {
    return answer_by<Result>(once_.find(what.key(), utc_), what);
  }
  /// Behind known(), which has found nothing.
  void remember(const once& what, once_result result);
  claim_answer claim_ready(const claim& what);
  /// The reservations of an earlier claim that have not ended, with their jobs.
  claim_answer claim_again(const std::vector<reservation>& tokens, bool is_bounded);
  /// The job that has the key of this put, or 0.
  [[nodiscard]] job_id holder_of_key(const put& what);
  /// What becomes of a put where this job has its key, or none has; the id of a new job is yet to be given. The store
  /// has so many jobs before it.
  [[nodiscard]] put_answer outcome_of(const put& what, job_id old, std::uint64_t jobs_before);
  /// Executes a put that is not refused. Returns the id of the new job.
  job_id make(put& what, job_id old);
  job_id new_id();
  job_id find_name(const job_name& name);
  tube& home_of(const record& it);
  job shown(record&& it, tube& home, job_state state, instant expires, bool with_body);
  /// Adds a job to a page.
  void list(record&& it, tube& home, job_state state, instant expires, listed_page& page);
  /// Lists the jobs of all tubes by their ids.
  void list_by_id(listed_page& page);
  /// An answer with this job.
  peek_answer look(record&& it, tube& home, job_state state, instant expires, bool with_body);
  /// The version of a job; 0: there is no such job. Its reservation ends here if its time is over.
  job_version present_version(job_id id);
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
  folder_format format_;
  job_records records_;
  job_indexes indexes_;
  once_records once_;
  quad_heap pause_timers_;  ///< by the monotonic clock
  std::uint64_t opening_ = 0;
  job_id next_id_ = 1;
  job_id first_id_ = 1;    ///< no job has a lower id: a list that begins there reads no remains of ended jobs
  job_id id_limit_ = 1;    ///< ids below it may be given: the stored limit is not below it
  bool is_usable_ = true;  ///< false: no batch may be executed any more, nothing may be written
  std::string failure_;    ///< why it is not usable; empty if there was no memory for the text
  store_failure::remedies remedy_ = store_failure::remedies::open_again;  ///< and what helps

  // What has been written, but not synced, and must be.
  bool unsynced_ = false;
  instant sync_at_ = instant::never();
  time_histogram syncs_;  // of the thread that executes batches

  instant next_mark_warning_ = instant::earliest();

  // The batch.
  bool ids_raised_ = false;
  utc_time utc_{};     ///< the wall clock's time, rounded down
  utc_time utc_up_{};  ///< and rounded up: from here a delay and a lifetime count, so that none is a fraction too short
  instant now_;
  bool must_sync_ = false;           ///< an answer of this batch depends on what was written
  std::uint64_t claimed_bytes_ = 0;  ///< of the jobs that its claims have brought
  std::vector<reservation> expired_;
};

}  // namespace foliot::jobs::detail
