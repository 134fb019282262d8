// A file system for RocksDB that opens and changes nothing once the name of the store's folder leads to another folder:
// RocksDB finds its files by name, and would mix them with those of a store that lies there now.
//
// Thread safety: all calls from any thread.
#pragma once

#include <memory>
#include <string>

#include <rocksdb/file_system.h>

#include "locked_folder.hpp"

namespace foliot::jobs::detail {

class locked_folder_files final : public rocksdb::FileSystemWrapper {
 public:
  /// `folder` must outlive it.
  locked_folder_files(const std::shared_ptr<rocksdb::FileSystem>& on, const locked_folder& folder)
      : FileSystemWrapper(on), folder_(folder) {}
  static const char* kClassName() { return "locked_folder_files"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewSequentialFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                      rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& name, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                    rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus CreateDir(const std::string& name, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus CreateDirIfMissing(const std::string& name, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus DeleteDir(const std::string& name, const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus Truncate(const std::string& name, std::size_t size, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* context) override;

 private:
  template <class Call>
  rocksdb::IOStatus in_place(Call call) const {
    if (!folder_.is_replaced()) return call();
    return rocksdb::IOStatus::IOError("another folder has the name " + folder_.name() + " now",
                                      "a folder must not be moved while it is in use");
  }

  const locked_folder& folder_;
};

}  // namespace foliot::jobs::detail
