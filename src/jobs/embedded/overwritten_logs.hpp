// A file system for RocksDB whose logs are overwritten instead of appended to, where each batch has a sync of its own.
//
// A file that becomes longer has its new length written to the disk with each sync, beside the data: a second write and
// a second wait, or a commit of the file system's journal. So zeros are written ahead of the end of a log, a quarter of
// a mebibyte at a time, and synced: the syncs that follow write data alone. A log that is synced seldom, or with much
// at a time, is appended to as ever. A log that is closed has no zeros behind its end.
//
// What a loss of power leaves of the batches since the last sync is then any of their sectors, with zeros between them:
// a later batch may be whole where an earlier one is not. scan_logs() sees where such a log ends, and end_at() has
// RocksDB read nothing behind that.
//
// Thread safety: any thread may call everything; a file is written by one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <rocksdb/file_system.h>

#include <foliot/core/annotations.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>

namespace foliot::jobs::detail {

class overwritten_logs final : public rocksdb::FileSystemWrapper {
 public:
  /// So many syncs of a log, each of at most `small_sync` bytes, come before its first zeros.
  static constexpr std::uint32_t syncs_before = 16;
  /// In bytes. Zeros for more would take longer to write than they save.
  static constexpr std::uint64_t small_sync = 16'384;
  /// How many zeros are written at a time, in bytes.
  static constexpr std::uint64_t zeros_at_a_time = 262'144;

  explicit overwritten_logs(const std::shared_ptr<rocksdb::FileSystem>& on) : FileSystemWrapper(on) {}
  static const char* kClassName() { return "overwritten_logs"; }
  const char* Name() const override { return kClassName(); }

  /// A file that is read from its beginning seems to end here from now on.
  void end_at(const std::string& name, std::uint64_t length) FOLIOT_EXCLUDES(lock_);

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override FOLIOT_EXCLUDES(lock_);
  rocksdb::IOStatus NewSequentialFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                      rocksdb::IODebugContext* context) override FOLIOT_EXCLUDES(lock_);
  /// That of a log that is being written is what was appended, without the zeros: a backup copies so much of it.
  rocksdb::IOStatus GetFileSize(const std::string& name, const rocksdb::IOOptions& options, std::uint64_t* size,
                                rocksdb::IODebugContext* context) override FOLIOT_EXCLUDES(lock_);

 private:
  class overwritten_log;
  class ended_log;
  /// How much was appended to a log. Written with release by the thread that appends: who reads it finds so much in the
  /// file.
  using shared_length = std::shared_ptr<seam::atomic<std::uint64_t>>;

  void forget(const std::string& name) FOLIOT_EXCLUDES(lock_);

  mutex lock_{lock_rank::monitor};
  std::map<std::string, std::uint64_t> ends_ FOLIOT_GUARDED_BY(lock_);
  std::map<std::string, shared_length> written_ FOLIOT_GUARDED_BY(lock_);
};

}  // namespace foliot::jobs::detail
