// The mark of a store's folder: how long its logs and its manifest were when they were last seen to be durable. RocksDB
// takes a log that is missing, and a log or a manifest that ends too soon, for one that a crash has cut off. The mark
// tells the difference: what it names was acknowledged, and must be there.
//
// The mark is the text file SYNCED, which is overwritten in place, and synced for its own sake only when it is new: a
// folder with a log over zeros (overwritten_logs.hpp) must have one. It is written after the syncs that it tells of, so
// that it never says too much. A folder without one, as an earlier version has left it, is not damaged; nor is one
// whose mark cannot be read, as a loss of power may tear it.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/file_system.h>

namespace foliot::jobs::detail {

struct synced_length {
  std::string file;  ///< its name in the folder
  std::uint64_t length = 0;
};

/// The lengths that the mark of the folder has; empty if there is no mark that can be read.
[[nodiscard]] std::vector<synced_length> read_mark(const std::string& folder, rocksdb::FileSystem& files);

class synced_mark {
 public:
  /// `files` must outlive it.
  synced_mark(const std::string& folder, rocksdb::FileSystem& files);
  /// Makes the file, or overwrites its content. After a failure the next call tries again.
  rocksdb::IOStatus write(const std::vector<synced_length>& lengths);
  /// Makes durable what was written.
  rocksdb::IOStatus sync();

 private:
  /// Makes the mark and its name durable.
  rocksdb::IOStatus sync_first();

  const std::string folder_;
  const std::string name_;
  bool is_first_ = true;  ///< none of this folder is known to be durable
  rocksdb::FileSystem& files_;
  std::unique_ptr<rocksdb::FSRandomRWFile> file_;
};

}  // namespace foliot::jobs::detail
