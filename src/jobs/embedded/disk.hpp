// The RocksDB database of an embedded store: one batch of writes that is being gathered, reads, and failures as
// store_failure. It knows nothing of jobs.
//
// Scans see the gathered writes, single reads do not: the store keeps what it has to read again before they are
// written.
//
// Thread safety: one thread at a time, but for back_up(). RocksDB flushes and compacts on threads of its own.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <rocksdb/db.h>
#include <rocksdb/file_system.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/job_store.hpp>

#include "keys.hpp"
#include "locked_folder.hpp"
#include "synced_files.hpp"
#include "synced_mark.hpp"

namespace foliot::jobs::detail {

class background_errors;

/// The least time between two writes of the mark of what has been synced.
inline constexpr milliseconds between_marks{10};

/// Throws store_failure: RocksDB could not do `what` in the store of this folder.
[[noreturn]] void throw_failure(const std::string& what, const std::string& folder, const rocksdb::Status& status);
/// Throws store_failure: what a failed opening of the database in `folder` means for the user.
[[noreturn]] void throw_opening_failure(const std::string& folder, const rocksdb::Status& status);

class disk {
 public:
  /// Opens the database, which is made if the folder has none. The folder stays locked as long as this lives. `files`
  /// is the file system, null for the system's. With `salvage` a damaged write-ahead log is accepted: the changes
  /// behind the damage are lost. `for_check`: see embedded_options. Throws store_failure.
  disk(locked_folder folder, std::shared_ptr<rocksdb::FileSystem> files, bool salvage = false, bool for_check = false);
  disk(const disk&) = delete;
  disk& operator=(const disk&) = delete;
  /// Writes nothing: what was written without a sync may be lost with the machine, but not with the process.
  ~disk();

  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  /// Why the file system cannot lock the folder; empty if it is locked.
  [[nodiscard]] const std::string& lock_failure() const noexcept { return locked_.lock_failure(); }
  /// The damage that the opening has met, or an earlier one that was to salvage the store and got no further than this:
  /// a sentence without its end. Empty if there was none.
  [[nodiscard]] const std::string& damage() const noexcept { return damage_; }
  /// The store is whole and has durably skipped what it may have given: later openings know nothing of the damage. If
  /// they would still find it by the mark, because that cannot be written, they salvage the store again.
  void forget_salvage();

  /// Adds to the gathered writes.
  void put(family where, std::string_view key, std::string_view value);
  void erase(family where, std::string_view key);
  [[nodiscard]] bool has_gathered() { return gathered_.Count() != 0 || indexed() != 0; }

  /// Writes what was gathered, as a whole or not at all. `synced`: it is durable when this returns, with all that was
  /// written before.
  void write(bool synced);
  /// Makes durable what was written.
  void sync();
  /// Moves the write-ahead log into the tables, so that the next opening has nothing to replay.
  void flush();
  /// Writes the mark of what has been synced, if there were syncs since it was last written, and at least between_marks
  /// have passed. So it costs next to nothing under load. Returns false if it could not be written.
  bool mark(instant now) noexcept;
  /// When mark() has something to write; never if it has not.
  [[nodiscard]] instant mark_due() const noexcept { return is_mark_behind_ ? next_mark_ : instant::never(); }
  /// Writes the mark at once. Returns false if that was not possible.
  bool write_mark() noexcept;
  /// Why the mark could not be written the last time; empty if it was written, or if memory was lacking.
  [[nodiscard]] const std::string& mark_failure() const noexcept { return mark_failure_; }
  /// Throws if a flush or a compaction has failed in the background.
  void check_background() const;

  /// The value of a key, valid until the next read().
  [[nodiscard]] std::optional<std::string_view> read(family where, std::string_view key);

  /// The entries of a family from `from` on and below `to`, in order. Nothing may be gathered while it lives.
  class scan {
   public:
    /// An empty `to`: to the end of the family.
    scan(disk& of, family where, std::string_view from, std::string_view to);
    scan(const scan&) = delete;
    scan& operator=(const scan&) = delete;
    /// False: there are no more.
    [[nodiscard]] bool valid();
    [[nodiscard]] std::string_view key() const;
    [[nodiscard]] std::string_view value() const;
    void next() { at_->Next(); }

   private:
    disk* disk_;
    std::string from_, to_;
    rocksdb::Slice lower_, upper_;  // must outlive the iterator
    std::unique_ptr<rocksdb::Iterator> at_;
  };

  /// Copies the database into the new folder `to`, durably. Any thread.
  void back_up(const std::string& to);
  /// The bytes that are free on the folder's file system; nothing where it cannot tell.
  [[nodiscard]] std::optional<std::uint64_t> free_space() const;
  /// Reads all tables and compares their checksums.
  [[nodiscard]] rocksdb::Status verify_checksums();

 private:
  friend class scan;
  [[nodiscard]] rocksdb::ColumnFamilyHandle* handle(family where) const noexcept {
    return handles_[static_cast<std::size_t>(where)];
  }
  void close() noexcept;
  /// Makes a mark of the manifest, durably, in a folder with a copy of the database.
  rocksdb::IOStatus mark_backup(const std::string& folder);
  /// Moves the gathered writes into indexed_.
  void index_gathered();
  [[nodiscard]] std::uint32_t indexed() { return indexed_.GetWriteBatch()->Count(); }

  const locked_folder locked_;  ///< unlocked when all else is closed
  const std::string& folder_ = locked_.name();
  std::string damage_;
  std::shared_ptr<synced_files> files_;
  std::unique_ptr<rocksdb::Env> env_;  ///< over a locked_folder_files: changes nothing in another folder of this name
  std::optional<synced_mark> mark_;    ///< in the file system of env_
  std::string mark_failure_;
  bool is_mark_behind_ = false;
  instant next_mark_ = instant::earliest();
  std::shared_ptr<background_errors> errors_;
  std::unique_ptr<rocksdb::DB> db_;
  std::array<rocksdb::ColumnFamilyHandle*, families> handles_{};
  // The gathered writes: first those that a scan has had to see, then the others.
  rocksdb::WriteBatchWithIndex indexed_{rocksdb::BytewiseComparator(), 0, true};
  rocksdb::WriteBatch gathered_;
  rocksdb::PinnableSlice value_;
};

}  // namespace foliot::jobs::detail
