// The signals that a server obeys, as a descriptor that is readable when one has come. SIGPIPE and SIGXFSZ are ignored:
// a write fails instead, and that is told.
//
//   const signals come;                                   // before there are threads, which inherit the mask
//   …                                                     // wait until come.descriptor() is readable
//   while (const int signal = come.next()) …
//
// The signals stay blocked for the rest of the process: one that comes while the server ends must not keep it from
// saying what failed.
//
// Thread safety: one thread.
#pragma once

namespace foliot::program {

class signals {
 public:
  /// From now on SIGINT, SIGTERM, SIGUSR1, SIGUSR2 and SIGHUP wait for next(). Throws std::system_error.
  signals();
  ~signals();
  signals(const signals&) = delete;
  signals& operator=(const signals&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return fd_; }
  /// The next signal that has come, or 0.
  [[nodiscard]] int next() const noexcept;

 private:
  int fd_ = -1;
};

}  // namespace foliot::program
