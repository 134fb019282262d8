// A file that exists only until this object, or the process, ends, unless it is published: renamed to
// the name that it was written for.
//
// It is made in the directory of that name, so that publishing is one rename: whoever looks there sees
// the old file or the new one, never half of it. It is also removed when SIGINT, SIGTERM, SIGHUP,
// SIGQUIT, SIGPIPE or SIGXFSZ ends the process, which then dies of that signal as it would have anyway. Signals
// that the process ignores stay ignored. (SIGKILL and a crash of the machine leave it: a file
// `.foliot-*.tmp`.)
//
// Thread safety: none, one thread. At most 8 at a time.
#pragma once

#include <string>

namespace foliot::program {

class temporary_file {
 public:
  /// For `target`, which need not exist. Throws failure.
  explicit temporary_file(std::string target);
  ~temporary_file();
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;

  /// Open for writing until close().
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Throws failure when the system says that what was written could not be kept.
  void close();
  /// Closes it and gives it the name of its target, in the place of any file of that name. Throws
  /// failure with the target as it was.
  void publish();

 private:
  std::string target_;
  std::string name_;
  int descriptor_ = -1;
  int slot_ = -1;  // where the signal handler finds name_, or -1
};

}  // namespace foliot::program
