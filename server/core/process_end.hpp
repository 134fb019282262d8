// The end of a server that lacks memory or threads.
//
// A task of the server that lives as long as it does survives a failed allocation, or ends the process: it must not end
// alone, and leave a server that serves nobody. What the store has acknowledged survives that, as it survives a kill.
//
// Thread safety: any thread.
#pragma once

#include <string_view>

namespace foliot::program {

inline constexpr std::string_view lacks_memory = "there is not enough memory";
/// A thread needs a number among the user's, and memory for its stack.
inline constexpr std::string_view refused_thread =
    "the system refuses a thread: raise its limit of threads (ulimit -u, TasksMax) or of memory (ulimit -v, MemoryMax)";

/// Prints the sentence to standard error and ends the process at once, with exit_code::error. Calls no destructor, and
/// needs no memory.
[[noreturn]] void end_process(std::string_view sentence) noexcept;

/// From now on an exception that says that memory or threads are missing, and that nothing catches, ends the process as
/// end_process() does, instead of by std::terminate. Libraries may throw such exceptions on threads of their own.
void end_process_on_terminate() noexcept;

/// While an object of this class lives, a failing operator new of its thread ends the process instead of throwing, and
/// so does new (std::nothrow), which has the same handler. For calls of libraries such as RocksDB, which an exception
/// leaves with locks held and counts wrong. Precondition: end_process_on_terminate() was called.
class memory_needed {
 public:
  memory_needed() noexcept;
  ~memory_needed();
  memory_needed(const memory_needed&) = delete;
  memory_needed& operator=(const memory_needed&) = delete;
};

/// Keeps a server from waiting for ever to write why it ends, to a standard error that nobody reads. If an exception
/// destroys such an object, and standard error has no room for a second, that sentence is lost, as lines of the log
/// are.
class unread_sentence {
 public:
  unread_sentence() = default;
  unread_sentence(const unread_sentence&) = delete;
  unread_sentence& operator=(const unread_sentence&) = delete;
  ~unread_sentence();
};

/// The failed allocations of one task that goes on in spite of them, until there are too many in a row.
class shortage {
 public:
  /// An allocation has failed. Blocks the thread for a moment, because a sleep of the task may need memory. Ends the
  /// process at the 500th failure in a row.
  void note() noexcept;
  /// Something that needs memory has succeeded.
  void end() noexcept { failures_ = 0; }

 private:
  int failures_ = 0;
};

}  // namespace foliot::program
