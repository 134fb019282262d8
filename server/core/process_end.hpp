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

/// From now on the process ends so, too, where an exception that says that memory or threads are missing would call
/// std::terminate, such as one on a thread of a library.
void end_process_on_terminate() noexcept;

/// While one lives, an operator new of this thread that fails ends the process instead of throwing: for calls of
/// libraries that an exception leaves with locks held and counts wrong, as RocksDB. So does one that would return null,
/// new (std::nothrow), because both have the same handler. After end_process_on_terminate().
class memory_needed {
 public:
  memory_needed() noexcept;
  ~memory_needed();
  memory_needed(const memory_needed&) = delete;
  memory_needed& operator=(const memory_needed&) = delete;
};

/// While nobody reads standard error, the sentence that says why the server ends must not keep it from ending: where an
/// exception destroys one of these, and standard error has no room for a second, the sentence is lost, as lines of the
/// log are.
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
  /// One has failed. Blocks the thread a moment, because a sleep of the task may need memory. Ends the process when 500
  /// have failed, and nothing has succeeded in between.
  void note() noexcept;
  /// Something that needs memory has succeeded.
  void end() noexcept { failures_ = 0; }

 private:
  int failures_ = 0;
};

}  // namespace foliot::program
