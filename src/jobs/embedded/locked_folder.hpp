// The folder of an open store. As long as this lives, no other process can open the folder, and no other store of this
// process.
//
// RocksDB locks the file LOCK in the folder, and would make a new one, and lock that, if somebody had removed the file.
// So this locks the folder itself (flock), which has no file to remove. The lock belongs to the folder, not to its
// name: it holds also by another name, and after the folder has been renamed.
//
// A file system that cannot lock a folder leaves the store to the file LOCK: lock_failure() says why. A network file
// system may keep the lock on this machine alone.
//
// After a fork() the child's copy of the lock holds the folder, too, if the process ends without destroying this, until
// the child ends or calls exec. Destroying the child's copy releases nothing.
//
// Thread safety: any thread may call everything that is const.
#pragma once

#include <sys/types.h>

#include <string>

namespace foliot::jobs::detail {

class locked_folder {
 public:
  /// Locks a folder that exists. Throws store_failure: it is locked already, or cannot be read.
  explicit locked_folder(std::string name);
  locked_folder(locked_folder&& other) noexcept;
  locked_folder& operator=(locked_folder&&) = delete;
  ~locked_folder();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Why the file system cannot lock the folder; empty if it is locked.
  [[nodiscard]] const std::string& lock_failure() const noexcept { return lock_failure_; }
  /// Whether its name now leads to another folder.
  [[nodiscard]] bool is_replaced() const noexcept;

 private:
  std::string name_;
  std::string lock_failure_;
  int opened_;   ///< -1: moved from
  pid_t maker_;  ///< the process that has locked it, and may unlock it
};

}  // namespace foliot::jobs::detail
