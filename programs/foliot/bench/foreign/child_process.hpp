// Another program, run to its end: what it said, or why there is nothing to read.
//
// Thread safety: any thread. The child gets no standard input.
#pragma once

#include <string>
#include <vector>

#include <foliot/core/duration.hpp>

namespace foliot::program::bench {

struct child_command {
  std::vector<std::string> words{};        ///< the program, with its path, and its arguments
  std::vector<std::string> environment{};  ///< "NAME=value", beside what this process has
  std::string folder{};                    ///< where it runs; empty: here
};

struct child_outcome {
  std::string output{};  ///< of standard output
  std::string wrong{};   ///< a line: it could not be started, failed (with what it said), or took too long
};

/// Runs it, and kills it if it takes longer than `patience`.
[[nodiscard]] child_outcome run_child(const child_command& command, duration patience);

}  // namespace foliot::program::bench
