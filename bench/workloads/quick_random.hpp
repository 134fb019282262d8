// Random numbers that cost a nanosecond, the same for every contestant: splitmix64.
//
// The refills of the library's own random_stream, a Mersenne twister, would show in the figures. Here each state
// depends on the previous one by an addition alone, so that the processor can compute several draws at once.
//
// Thread safety: none, one thread. The seed alone decides the numbers.
#pragma once

#include <cstdint>

namespace foliot::program::bench {

class quick_random {
 public:
  explicit quick_random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

 private:
  std::uint64_t state_;
};

/// The upper half of a draw as a number below `bound`, by a multiplication. Precondition: bound <= 2^32.
[[nodiscard]] constexpr std::uint64_t upper_below(std::uint64_t draw, std::uint64_t bound) noexcept {
  return ((draw >> 32) * bound) >> 32;
}

/// The lower half of a draw, likewise; with a larger bound, in steps of bound / 2^32.
[[nodiscard]] constexpr std::uint64_t lower_below(std::uint64_t draw, std::uint64_t bound) noexcept {
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<wide>(draw & 0xffffffff) * bound) >> 32);
}

}  // namespace foliot::program::bench
