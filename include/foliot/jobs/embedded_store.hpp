// A job store on disk, in a folder of its own, over RocksDB.
//
//   foliot::jobs::embedded_store store({.folder = "jobs"});
//   const auto put = execute_one(store, foliot::jobs::put{.tube = "mail", .body = "hello", .due = 30min});
//
// What a batch reports has been synced to the disk when execute() returns, in one sync for the whole batch; batches
// that only claim, touch and look write nothing, but for the removal of what has ended (once.hpp). After a crash the
// store has every batch that was reported, and the batch that was under way as a whole or not at all. Jobs that were
// reserved are ready again; pauses are over.
//
// In memory are the next jobs of each tube and the reserved ones. All others are on disk, and so are all long bodies;
// opening the store reads only the next jobs.
//
// Limits: at most 2,048 jobs become ready in one batch, so that a great number of jobs that are due at one instant
// delays no other tube; next() then names a time that has come.
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <foliot/core/export.h>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/store_clocks.hpp>

namespace foliot::jobs {
namespace detail {
class embedded_core;
}  // namespace detail

/// How an embedded store is opened.
struct embedded_options {
  /// The folder; it is made if it does not exist, inside a folder that does. Nothing else may be in it. What the store
  /// makes is for this user alone, whatever the umask: folders have the mode 0700, files 0600. The mode of a folder
  /// that exists stays as it is. The store locks the folder, and RocksDB the file LOCK in it. After a fork() that does
  /// not call exec the child holds the folder, too, if the process then ends without destroying the store. The folder
  /// must not be moved meanwhile: the store then fails when it needs a new file, and changes nothing in a folder that
  /// has got the name.
  std::string folder;
  /// None: every batch is synced before it is reported. Otherwise at most this long after it, so that a crash of the
  /// machine, not one of the process, loses what was reported meanwhile. next() names the time of the next sync.
  std::optional<milliseconds> sync_every = std::nullopt;
  /// While the file system has less free space than this, puts are answered with `no_space`; with less than half of it,
  /// also all other operations that store anything but the end of a job; with less than a quarter of it, due jobs stay
  /// delayed. In bytes.
  std::uint64_t disk_reserve = std::uint64_t{256} << 20;
  /// A put beyond so many jobs is answered with `no_space`.
  std::uint64_t most_jobs = std::numeric_limits<std::uint64_t>::max();
  /// How much memory the claims that happen once (once.hpp) may take, in bytes: about 300 for each, and 24 for each of
  /// its reservations, until its lifetime is over. Beyond it such a claim is answered with `no_space`. The last one may
  /// exceed it. Puts that happen once are remembered on disk, and need room there as a new job does.
  std::uint64_t once_bytes = std::uint64_t{64} << 20;
  store_clocks clocks = {};
  /// Opens the store also if its write-ahead log is damaged, missing, or shorter than it is known to have been: the
  /// damaged change and all behind it are lost, and `warn` gets where the damage begins. Otherwise the opening refuses
  /// such a store, until a salvage has begun: if that is interrupted, the next opening goes on with it, with this
  /// option or without. (A crash may leave a torn end behind the synced part of a log: that is no damage.) A store is
  /// refused in any case if its list of tables (the manifest) is damaged or shorter than it is known to have been, if
  /// CURRENT names an older one, or if a part of the log is missing in front of later changes.
  bool salvage = false;
  /// Opens the store for check() alone: refuses a folder without a store, instead of making one, and a store with an
  /// interrupted salvage, instead of going on with it.
  bool for_check = false;
  /// Gets a sentence for each thing that an operator should know: the disk is nearly full, or has room again; a damaged
  /// store was salvaged; the mark of the synced lengths cannot be written (at most once in 10 s); other users can enter
  /// or read the folder, or the file system cannot lock it, which is told at the opening. Called by the thread that
  /// uses the store; must not use the store, and must not throw.
  std::function<void(std::string_view)> warn = {};
};

/// The job store on disk. One thread at a time may use it, but for back_up().
class FOLIOT_EXPORT embedded_store final : public job_store {
 public:
  /// Opens the store, or makes it. Throws store_failure, which says what is wrong and what to do: the folder is in use
  /// by another process, belongs to another program, has another version of the format, is damaged, or cannot be
  /// written.
  explicit embedded_store(const embedded_options& options);
  /// Closes the store, and drops a failure of that.
  ~embedded_store() override;

  /// As job_store says. After a failed write, sync or read it throws store_failure for ever: what became of the batch
  /// is known when the store has been opened again. Where it lacks memory it throws std::bad_alloc, and from then on
  /// store_failure. O(log n) for each job that an operation touches.
  execution execute(std::span<operation> batch) override;
  /// As job_store says. Also names the time at which the store notes what it has synced, a millisecond after a batch at
  /// the latest: by this note an opening finds that the end of a log is lost. O(1).
  [[nodiscard]] next_change next() const noexcept override;
  /// Reads the whole store.
  [[nodiscard]] check_result check() override;
  /// As job_store says; the next opening is quick then, and execute() throws store_failure. Only with `sync_every` can
  /// a batch be reported that is not durable, so only then can this throw.
  void close() override;

  /// The syncs, the disk, and the bound of jobs. Asks the file system for the free space.
  [[nodiscard]] store_figures figures() const override;

  /// Makes the new folder `to`, and the folder around it if that is missing, with a copy of the store: every batch that
  /// was reported before the call is in it, and each later one as a whole or not at all. The copy is a store of its
  /// own, durable when this returns. On the same file system it shares the tables with this store by hard links, which
  /// take no space until the store changes. Any thread may call this while another one uses the store. Throws
  /// store_failure if the copy cannot be made; this store goes on.
  void back_up(const std::string& to);

 private:
  friend class detail::embedded_core;
  explicit embedded_store(std::unique_ptr<detail::embedded_core> core) noexcept;

  std::unique_ptr<detail::embedded_core> core_;
};

}  // namespace foliot::jobs
