#include "disk.hpp"

#include <algorithm>
#include <filesystem>
#include <new>
#include <utility>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/utilities/checkpoint.h>

#include <foliot/core/seam/sync.hpp>

#include "damage.hpp"
#include "disk_options.hpp"
#include "locked_folder_files.hpp"
#include "opening.hpp"
#include "overwritten_logs.hpp"
#include "private_files.hpp"
#include "salvage_note.hpp"

namespace foliot::jobs::detail {

namespace {

rocksdb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view bytes(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

/// Refuses the database of another program before anything is changed in it. A database without our families is either
/// one of those or a store whose first opening was interrupted, which has nothing in it.
void refuse_foreign(const std::string& folder, const rocksdb::DBOptions& options) {
  std::vector<std::string> names;
  if (!rocksdb::DB::ListColumnFamilies(options, folder, &names).ok()) return;  // there is no database yet
  if (std::ranges::find(names, "jobs") != names.end()) return;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::OpenForReadOnly(rocksdb::Options(options, {}), folder, &opened);
  if (!status.ok()) throw_opening_failure(folder, status);
  const std::unique_ptr<rocksdb::DB> database(opened);
  const std::unique_ptr<rocksdb::Iterator> entries(database->NewIterator(rocksdb::ReadOptions{}));
  entries->SeekToFirst();
  if (entries->Valid() || names.size() > 1) {
    throw store_failure("cannot open the job store " + folder +
                        ": it is the database of another program: name another folder");
  }
}

/// Holds the database's lock, which RocksDB takes again when it opens the database: it keeps programs out that do not
/// lock the folder.
class database_lock {
 public:
  database_lock(const std::string& folder, rocksdb::FileSystem& files) : files_(files) {
    const rocksdb::IOStatus taken = files_.LockFile(folder + "/LOCK", rocksdb::IOOptions{}, &lock_, nullptr);
    if (!taken.ok()) throw_opening_failure(folder, taken);
  }
  database_lock(const database_lock&) = delete;
  database_lock& operator=(const database_lock&) = delete;
  ~database_lock() { files_.UnlockFile(lock_, rocksdb::IOOptions{}, nullptr).PermitUncheckedError(); }

 private:
  rocksdb::FileSystem& files_;
  rocksdb::FileLock* lock_ = nullptr;
};

}  // namespace

/// Remembers the first error that RocksDB had on a thread of its own.
class background_errors final : public rocksdb::EventListener {
 public:
  void OnBackgroundError(rocksdb::BackgroundErrorReason /*reason*/, rocksdb::Status* error) override {
    if (error->ok() || claimed_.exchange(true, seam::relaxed)) return;
    first_ = *error;
    any_.store(true, seam::release);
  }
  [[nodiscard]] bool any() const noexcept { return any_.load(seam::acquire); }
  /// Only where any() is true.
  [[nodiscard]] const rocksdb::Status& first() const noexcept { return first_; }

 private:
  // Exchanged by RocksDB's threads; the one that gets false writes first_. Relaxed, as it publishes nothing.
  seam::atomic<bool> claimed_{false};
  // Set with release by that thread, read with acquire by the store's thread, which then may read first_.
  seam::atomic<bool> any_{false};
  rocksdb::Status first_;
};

// RocksDB tells what has failed by its texts alone.
void throw_opening_failure(const std::string& folder, const rocksdb::Status& status) {
  const std::string text = status.ToString();
  const auto says = [&text](std::string_view part) { return text.find(part) != std::string::npos; };
  std::string why;
  auto remedy = store_failure::remedies::open_again;
  if (says("Permission denied") || says("Read-only file system")) {
    why = "it cannot be written (" + text + "): make the folder writable for this user";
  } else if (says("No space left on device")) {
    why = "the disk is full (" + text + "): free some space";
  } else if (says("While lock file") || says("lock hold by current process")) {
    why = "it is in use by another process, or opened twice in this one (" + text + "): end the other user first";
  } else if (status.IsCorruption()) {
    why = "it is damaged (" + text + "): restore a backup";
    remedy = store_failure::remedies::restore_backup;
  } else if (says("/MANIFEST-") && says("No such file or directory")) {
    why = "a file is missing (" + text + "): restore a backup";
    remedy = store_failure::remedies::restore_backup;
  } else if (says("Column family")) {
    why = "it is the database of another program (" + text + "): name another folder";
  } else {
    why = text;
  }
  throw store_failure("cannot open the job store " + folder + ": " + why, remedy);
}

void throw_failure(const std::string& what, const std::string& folder, const rocksdb::Status& status) {
  const std::string advice = status.IsCorruption() ? ": it is damaged: restore a backup"
                             : status.IsNoSpace()  ? ": the disk is full: free some space"
                                                   : "";
  using remedies = store_failure::remedies;
  throw store_failure("cannot " + what + " in the job store " + folder + ": " + status.ToString() + advice,
                      status.IsCorruption() ? remedies::restore_backup : remedies::open_again);
}

disk::disk(locked_folder folder, std::shared_ptr<rocksdb::FileSystem> files, bool salvage, bool for_check)
    : locked_(std::move(folder)), errors_(std::make_shared<background_errors>()) {
  rocksdb::DBOptions options = database_options();
  if (files == nullptr) files = rocksdb::FileSystem::Default();
  const auto logs = std::make_shared<overwritten_logs>(std::make_shared<private_files>(files));
  files_ = std::make_shared<synced_files>(logs);
  env_ = rocksdb::NewCompositeEnv(std::make_shared<locked_folder_files>(files_, locked_));
  mark_.emplace(folder_, *env_->GetFileSystem());
  options.env = env_.get();
  {
    const database_lock held(folder_, *files_);
    damage_ = read_salvage_note(folder_, *files_);
    if (!damage_.empty() && for_check) {
      throw store_failure("the salvage of the job store " + folder_ + " has not ended (" + damage_ +
                          "): start a server on it, which ends it");
    }
    // A manifest that ends too soon may name no families, as if it were that of another program.
    if (const auto lost = manifest_loss(folder_, *files_)) refuse_damage(folder_, *lost);
    refuse_foreign(folder_, options);
    if (const auto lost = log_loss(folder_, options, *logs, !damage_.empty())) {
      // A salvage that was interrupted goes on, but only with the damage for which it was begun.
      const bool is_known = !damage_.empty() && lost->what.starts_with(damage_);
      if ((!salvage && !is_known) || !lost->can_be_salvaged) refuse_damage(folder_, *lost);
      damage_ = lost->what;
      if (const rocksdb::IOStatus noted = write_salvage_note(folder_, damage_, *files_); !noted.ok()) {
        throw_opening_failure(folder_, noted);
      }
    }
  }
  options.listeners = {errors_};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, folder_, family_options(), &handles, &opened);
  if (!status.ok()) throw_opening_failure(folder_, status);
  db_.reset(opened);
  for (std::size_t each = 0; each < families; ++each) handles_[each] = handles[each];
}

disk::~disk() { close(); }

void disk::close() noexcept {
  value_.Reset();
  for (rocksdb::ColumnFamilyHandle* handle : handles_) db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  db_->Close().PermitUncheckedError();
  db_.reset();
}

void disk::put(family where, std::string_view key, std::string_view value) {
  const rocksdb::Status status = gathered_.Put(handle(where), slice(key), slice(value));
  if (!status.ok()) throw_failure("gather a write", folder_, status);
}

void disk::erase(family where, std::string_view key) {
  const rocksdb::Status status = gathered_.Delete(handle(where), slice(key));
  if (!status.ok()) throw_failure("gather a write", folder_, status);
}

void disk::write(bool synced) {
  rocksdb::WriteOptions options;
  options.sync = synced;
  if (indexed() != 0) index_gathered();
  const bool is_indexed = indexed() != 0;
  // If memory is lacking in the middle of a write, RocksDB keeps its locks, and the next call hangs. So the lambda is
  // noexcept: the exception ends the process.
  const rocksdb::Status status = [&]() noexcept {
    return db_->Write(options, is_indexed ? indexed_.GetWriteBatch() : &gathered_);
  }();
  if (!status.ok()) throw_failure("write", folder_, status);
  if (synced) is_mark_behind_ = true;
  gathered_.Clear();
  if (is_indexed) indexed_.Clear();
}

void disk::index_gathered() {
  class copier final : public rocksdb::WriteBatch::Handler {
   public:
    copier(disk& from, rocksdb::WriteBatchWithIndex& to) : from_(from), to_(to) {}
    rocksdb::Status PutCF(std::uint32_t family, const rocksdb::Slice& key, const rocksdb::Slice& value) override {
      return to_.Put(from_.handles_[family], key, value);
    }
    rocksdb::Status DeleteCF(std::uint32_t family, const rocksdb::Slice& key) override {
      return to_.Delete(from_.handles_[family], key);
    }

   private:
    disk& from_;
    rocksdb::WriteBatchWithIndex& to_;
  };
  copier copy(*this, indexed_);
  const rocksdb::Status status = gathered_.Iterate(&copy);
  if (!status.ok()) throw_failure("gather a write", folder_, status);
  gathered_.Clear();
}

void disk::sync() {
  const rocksdb::Status status = db_->SyncWAL();
  if (!status.ok()) throw_failure("sync the write-ahead log", folder_, status);
  is_mark_behind_ = true;
}

void disk::flush() {
  const std::vector<rocksdb::ColumnFamilyHandle*> all(handles_.begin(), handles_.end());
  const rocksdb::Status status = db_->Flush(rocksdb::FlushOptions{}, all);
  if (!status.ok()) throw_failure("flush the tables", folder_, status);
}

bool disk::mark(instant now) noexcept {
  if (!is_mark_behind_ || now < next_mark_) return true;
  next_mark_ = now + between_marks;
  return write_mark();
}

bool disk::write_mark() noexcept {
  is_mark_behind_ = false;
  mark_failure_.clear();
  try {
    const rocksdb::IOStatus written = mark_->write(files_->in(folder_));
    if (!written.ok()) mark_failure_ = written.ToString();
    return written.ok();
  } catch (const std::bad_alloc&) {
    // As after a failed write: nothing is lost, but damage of the latest changes would not be found.
    return false;
  }
}

void disk::check_background() const {
  if (errors_->any()) throw_failure("flush or compact", folder_, errors_->first());
}

std::optional<std::string_view> disk::read(family where, std::string_view key) {
  value_.Reset();
  const rocksdb::Status status = db_->Get(rocksdb::ReadOptions{}, handle(where), slice(key), &value_);
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) throw_failure("read", folder_, status);
  return bytes(value_);
}

disk::scan::scan(disk& of, family where, std::string_view from, std::string_view to)
    : disk_(&of), from_(from), to_(to), lower_(from_), upper_(to_) {
  rocksdb::ReadOptions options;
  options.iterate_lower_bound = &lower_;
  if (!to_.empty()) options.iterate_upper_bound = &upper_;
  at_.reset(of.db_->NewIterator(options, of.handle(where)));
  if (of.has_gathered()) {
    of.index_gathered();
    at_.reset(of.indexed_.NewIteratorWithBase(of.handle(where), at_.release(), &options));
  }
  at_->Seek(lower_);
}

bool disk::scan::valid() {
  // An iterator over gathered writes does not keep to the upper bound.
  if (at_->Valid()) return to_.empty() || at_->key().compare(upper_) < 0;
  if (!at_->status().ok()) throw_failure("read", disk_->folder_, at_->status());
  return false;
}

std::string_view disk::scan::key() const { return bytes(at_->key()); }

std::string_view disk::scan::value() const { return bytes(at_->value()); }

std::optional<std::uint64_t> disk::free_space() const {
  std::uint64_t free = 0;
  const rocksdb::IOStatus status = env_->GetFileSystem()->GetFreeSpace(folder_, rocksdb::IOOptions{}, &free, nullptr);
  if (!status.ok()) return std::nullopt;
  return free;
}

void disk::back_up(const std::string& to) {
  const auto check = [&](const rocksdb::Status& status) {
    if (!status.ok()) throw_failure("make the backup " + to, folder_, status);
  };
  const std::string around = std::filesystem::path(to).parent_path().string();
  if (!around.empty()) check(env_->GetFileSystem()->CreateDirIfMissing(around, {}, nullptr));
  rocksdb::Checkpoint* made = nullptr;
  check(rocksdb::Checkpoint::Create(db_.get(), &made));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  // It flushes the tables first: in 7.8 the linked logs of a checkpoint are not synced.
  check(checkpoint->CreateCheckpoint(to));
  check(mark_backup(to));
  check(sync_name(to, *files_));
  // The folder around it may be new, too, or lie in one that this user must not read.
  sync_name(around, *files_).PermitUncheckedError();
}

rocksdb::IOStatus disk::mark_backup(const std::string& folder) {
  std::vector<synced_length> lengths = files_->in(folder);
  files_->forget(folder);
  // The log that the store is writing meanwhile is copied up to where it happens to end, be it in the middle of a
  // batch, and the copy is synced. What was reported before the backup is in tables.
  std::erase_if(lengths, [](const synced_length& each) { return each.file.ends_with(".log"); });
  synced_mark mark(folder, *files_);
  if (rocksdb::IOStatus status = mark.write(lengths); !status.ok()) return status;
  if (rocksdb::IOStatus status = mark.sync(); !status.ok()) return status;
  std::unique_ptr<rocksdb::FSDirectory> made;
  rocksdb::IOStatus status = files_->NewDirectory(folder, rocksdb::IOOptions{}, &made, nullptr);
  return status.ok() ? made->Fsync(rocksdb::IOOptions{}, nullptr) : status;
}

void disk::forget_salvage() {
  // The mark may still name a log that is missing. A crash of the machine must not bring it back without the note.
  if (write_mark() && mark_->sync().ok()) remove_salvage_note(folder_, *files_);
}

rocksdb::Status disk::verify_checksums() { return db_->VerifyChecksum(); }

}  // namespace foliot::jobs::detail
