// A file system for RocksDB that knows how much of each log and manifest is durable: the length that a sync of the file
// has covered, once a sync of its folder has covered its name, and for a manifest also the CURRENT that names it.
//
// A sync of a file covers what was written before it began, and one of a folder the names that were made in it before
// it began. CURRENT names the manifest that was made last.
//
// Thread safety: all calls from any thread.
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

  /// The logs, and the last manifest, that were made in a folder, as far as they are durable; no empty ones.
  [[nodiscard]] std::vector<synced_length> in(const std::string& folder) const FOLIOT_EXCLUDES(lock_);
  /// Forgets those in a folder.
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
  struct made_file {
    std::uint64_t made = 0;    ///< the files are numbered as they are made, and so are the names of manifests
    std::uint64_t named = 0;   ///< when it got what leads to it: its own name, or that in CURRENT; 0: not yet
    std::uint64_t synced = 0;  ///< so many bytes are durable
    bool is_named = false;     ///< what leads to it is durable
  };

  /// CURRENT was made, or replaced.
  void name_manifest(const std::string& folder) FOLIOT_EXCLUDES(lock_);

  mutable mutex lock_{lock_rank::monitor};
  std::uint64_t last_made_ FOLIOT_GUARDED_BY(lock_) = 0;
  /// By folder, without a slash at its end, and by name.
  std::map<std::string, std::map<std::string, made_file>> folders_ FOLIOT_GUARDED_BY(lock_);
};

}  // namespace foliot::jobs::detail
