// A file system for RocksDB whose new folders and files are for this user alone, whatever the umask: bodies of jobs may
// be secret, and a lock on LOCK by another user would keep the store from being opened. The modes of existing files
// stay as they are, and so do those of a file system that has none of its own.
//
// A new file is made with its mode before RocksDB opens it, as RocksDB asks for one that others can read.
//
// Thread safety: all calls from any thread.
#pragma once

#include <memory>
#include <string>

#include <rocksdb/file_system.h>

namespace foliot::jobs::detail {

class private_files final : public rocksdb::FileSystemWrapper {
 public:
  explicit private_files(const std::shared_ptr<rocksdb::FileSystem>& on) : FileSystemWrapper(on) {}
  static const char* kClassName() { return "private_files"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus CreateDir(const std::string& name, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& name, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus LockFile(const std::string& name, const rocksdb::IOOptions& options, rocksdb::FileLock** lock,
                             rocksdb::IODebugContext* context) override;
};

/// What users other than the folder's own can do with it: who can read a folder can lock it, who can enter it can also
/// read those files in it that are open to them.
enum class open_to_others { no, readable, enterable };
[[nodiscard]] open_to_others openness(const std::string& folder) noexcept;

}  // namespace foliot::jobs::detail
