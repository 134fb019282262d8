// A file system for RocksDB that fails on demand, and forgets at a crash what was not synced: the ends of files, new
// names, renames; and any sectors of what was written over zeros, which are zeros again then. It works on real files,
// but never syncs them.
//
//   auto files = std::make_shared<faulty_files>();
//   files->stop_at(20);         // the 20th call that changes something, and all later ones, fail
//   …                           // use a store until it fails, and destroy it
//   files->crash(generator);    // what was not synced is lost, some of it torn
//
// Thread safety: all calls from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <rocksdb/file_system.h>

namespace foliot_test {

class faulty_files final : public rocksdb::FileSystemWrapper {
 public:
  faulty_files() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  static const char* kClassName() { return "faulty_files"; }
  const char* Name() const override { return kClassName(); }

  /// The n-th change from now on and all later ones fail, until restart(). 0: every one.
  void stop_at(std::uint64_t call);
  /// Only the n-th change from now on fails.
  void fail_once_at(std::uint64_t call);
  /// Nothing fails any more.
  void restart();
  /// How many changes there were since stop_at() or fail_once_at().
  [[nodiscard]] std::uint64_t calls() const;
  /// What GetFreeSpace() reports; none: what the system says.
  void set_free_space(std::optional<std::uint64_t> bytes);
  /// Loses what was not synced. No file may be open.
  void crash(std::mt19937_64& random);
  /// In how many logs crashes have lost sectors before others that they kept.
  [[nodiscard]] std::size_t logs_with_holes() const;

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                    rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus GetFreeSpace(const std::string& path, const rocksdb::IOOptions& options, std::uint64_t* free,
                                 rocksdb::IODebugContext* context) override;

 private:
  class written_file;
  class zeros_of_log;
  class synced_directory;

  struct file_state {
    std::uint64_t size = 0;
    std::uint64_t synced = 0;
    std::uint64_t zeros = 0;         ///< up to here it was filled with zeros
    std::uint64_t synced_zeros = 0;  ///< up to here this is durable
    bool name_synced = false;

    void sync() {
      synced = size;
      synced_zeros = zeros;
    }
  };

  /// Counts a change; the failure if it is to fail.
  rocksdb::IOStatus change();
  void track(const std::string& name, std::unique_ptr<rocksdb::FSWritableFile>* file);
  /// What a crash leaves of a file whose name it keeps.
  void lose_unsynced(const std::string& name, const file_state& it, std::mt19937_64& random);

  mutable std::mutex lock_;
  std::map<std::string, file_state> files_;
  /// Renames that were not synced: the target, and what it had before, if it was there.
  std::map<std::string, std::optional<std::string>> replaced_;
  std::uint64_t calls_ = 0;
  std::optional<std::uint64_t> failing_;
  bool once_ = false;
  std::optional<std::uint64_t> free_space_;
  std::size_t logs_with_holes_ = 0;
};

}  // namespace foliot_test
