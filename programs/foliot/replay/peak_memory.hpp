// How much memory the process has had at once.
#pragma once

#include <cstddef>

namespace foliot::program {

/// The most memory that was resident since the program was started, in bytes. As getrusage counts, that
/// would include what the parent had when it forked; so this asks /proc first.
[[nodiscard]] std::size_t peak_memory_bytes();

}  // namespace foliot::program
