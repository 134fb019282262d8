// A file system for RocksDB that knows how much of each log and manifest is durable, for the mark (synced_mark.hpp).
//
// A file is durable up to the length that a sync of the file has covered, once its name is durable. That of a log is
// durable after a sync of its folder; a manifest is found by the file CURRENT, so a sync of the folder must also have
// covered the CURRENT that names it. CURRENT names the manifest that was made last. A sync of a file covers what was
// written before the sync began, and a sync of a folder covers the names that were made before it began.
//
// Thread safety: any thread may call everything.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/file_system.h>

#include <foliot/core/annotations.hpp>
#include <foliot/core/sync/mutex.hpp>

#include "synced_mark.hpp"

namespace foliot::jobs::detail {

class synced_files final : public rocksdb::FileSystemWrapper {
 public:
  explicit synced_files(const std::shared_ptr<rocksdb::FileSystem>& on) : FileSystemWrapper(on) {}
  static const char* kClassName() { return "synced_files"; }
  const char* Name() const override { return kClassName(); }

  /// The durable lengths of the logs, and of the last manifest, that were made in a folder; without those that are
  /// empty.
  [[nodiscard]] std::vector<synced_length> in(const std::string& folder) const FOLIOT_EXCLUDES(lock_);
  /// Forgets the files in a folder.
  void forget(const std::string& folder) FOLIOT_EXCLUDES(lock_);

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override FOLIOT_EXCLUDES(lock_);
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override FOLIOT_EXCLUDES(lock_);
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override FOLIOT_EXCLUDES(lock_);

 private:
  class watched_file;
  class watched_folder;
  /// A log or a manifest that was made through this object. Two kinds of events have numbers, in one order: a file is
  /// made, and a CURRENT names a manifest.
  struct made_file {
    std::uint64_t made = 0;    ///< the number of the event that has made it
    std::uint64_t named = 0;   ///< the number from which RocksDB finds it: a log when it is made, a manifest when
                               ///< CURRENT names it; 0: not yet
    std::uint64_t synced = 0;  ///< this many of its first bytes are durable
    bool is_named = false;     ///< a sync of the folder has covered `named`
  };

  /// CURRENT was made, or replaced.
  void name_manifest(const std::string& folder) FOLIOT_EXCLUDES(lock_);

  mutable mutex lock_{lock_rank::monitor};
  std::uint64_t last_made_ FOLIOT_GUARDED_BY(lock_) = 0;
  /// By the path of the folder, without a slash at its end, and the name of the file.
  std::map<std::string, std::map<std::string, made_file>> folders_ FOLIOT_GUARDED_BY(lock_);
};

}  // namespace foliot::jobs::detail
