// A file that exists only until this object or the process ends, unless it is published: renamed to its target.
//
// It is made in the directory of its target, so that publishing is one rename: other processes see the old file or the
// new one, never half of it. It is also removed when SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE or SIGXFSZ ends the
// process, which then dies of that signal as usual. Signals that the process ignores stay ignored. SIGKILL and a crash
// of the machine leave a file `.foliot-*.tmp`.
//
// Thread safety: none, one thread. At most 8 at a time.
#pragma once

#include <string>

namespace foliot::program {

class temporary_file {
 public:
  /// `target` need not exist. Throws failure.
  explicit temporary_file(std::string target);
  ~temporary_file();
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;

  /// Open for writing until close().
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Throws failure if the system reports that the data could not be written.
  void close();
  /// Closes the file and renames it to its target, which it replaces. Throws failure with the target unchanged.
  void publish();

 private:
  std::string target_;
  std::string name_;
  int descriptor_ = -1;
  int slot_ = -1;  // in which the signal handler finds name_, or -1
};

}  // namespace foliot::program
