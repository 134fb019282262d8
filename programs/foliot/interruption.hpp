// Ctrl-C in a command that must not end just anywhere, such as a run that has started servers: the command throws where
// it may end, so that its destructors clean up; then the program dies of the signal as it would have.
//
// A command that had better not end just anywhere, but may, and that sometimes waits long, as for a database that does
// not answer, has a patience: if it has not ended so long after the signal, the program dies of it where it is.
//
// Thread safety: one thread; one `interruptible` at a time.
#pragma once

#include <csignal>

#include "text/failure.hpp"

namespace foliot::program {

/// The user has ended the program.
class interrupted : public failure {
 public:
  interrupted() : failure("interrupted") {}
};

/// While it exists, SIGINT, SIGTERM and SIGHUP are noted instead of ending the process. A signal that the process
/// ignores stays ignored.
class interruptible {
 public:
  interruptible() noexcept;
  /// With a patience, in whole seconds, at least one. `last_words`, a line, is then written to standard error. One such
  /// object in a program that uses no alarm().
  interruptible(unsigned patience, const char* last_words) noexcept;
  ~interruptible();
  interruptible(const interruptible&) = delete;
  interruptible& operator=(const interruptible&) = delete;
};

/// Throws interrupted if one of these signals has come; once for each, so that what is left can be cleaned up.
void throw_if_interrupted();

/// Whether it would throw.
[[nodiscard]] bool is_interrupted() noexcept;
/// Whether one of these signals has come, be it one that was thrown for.
[[nodiscard]] bool has_been_interrupted() noexcept;

/// Lets the process die of the signal that has come, if one has. Precondition: there is no `interruptible`.
void die_if_interrupted() noexcept;

}  // namespace foliot::program
