// Runs another program to its end, and returns its output or the reason why there is none.
//
// Thread safety: any thread. The child gets no standard input.
#pragma once

#include <string>
#include <vector>

#include <foliot/core/duration.hpp>

namespace foliot::program::bench {

struct child_command {
  std::vector<std::string> words{};        ///< the program, by its path or a name in $PATH, and its arguments
  std::vector<std::string> environment{};  ///< "NAME=value", beside the variables of this process
  std::string folder{};                    ///< in which it runs; empty: that of this process
};

struct child_outcome {
  std::string output{};  ///< of standard output
  /// One line, empty on success: it could not be started, it failed (with its message), or it took too long.
  std::string wrong{};
};

/// Kills the program if it takes longer than `patience`.
[[nodiscard]] child_outcome run_child(const child_command& command, duration patience);

}  // namespace foliot::program::bench
