// Where bytes come from, piece by piece.
#pragma once

#include <cstddef>
#include <span>

namespace foliot::program {

class byte_source {
 public:
  virtual ~byte_source() = default;
  /// Fills the front of `room`, which is not empty, as far as there is something to fill it with at
  /// once, and says how far: 0 only at the end. Throws failure.
  virtual std::size_t read(std::span<char> room) = 0;
};

}  // namespace foliot::program
