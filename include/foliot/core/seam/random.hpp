// The randomness seam: all random numbers of foliot come from here.
//
// The numbers of a random_stream depend on its seed alone, on every machine and with every standard library, so that a
// run can be repeated from its seed. Only `entropy()` asks the system for randomness.
//
//   foliot::random_stream random{seed};
//   auto delay = std::chrono::milliseconds{random.below(1000)};
//
// Thread safety: a stream belongs to one thread; entropy() from any thread.
#pragma once

#include <foliot/core/language.hpp>

#include <cmath>
#include <cstdint>
#include <random>

#include <foliot/core/export.h>

namespace foliot::inline core {

/// A sequence of pseudo-random numbers (std::mt19937_64). One thread's.
class random_stream {
 public:
  explicit random_stream(std::uint64_t seed) noexcept : engine_(seed) {}

  /// An unpredictable seed from the system. Throws std::system_error where the system provides none. Any thread.
  [[nodiscard]] FOLIOT_EXPORT static std::uint64_t entropy();

  /// 64 random bits.
  std::uint64_t next() noexcept { return engine_(); }

  /// Uniform in [0, bound). Precondition: bound > 0. Lemire's multiplication without the rejection step, with a bias
  /// below bound / 2^64; the standard's distributions differ between libraries.
  std::uint64_t below(std::uint64_t bound) noexcept {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<wide>(next()) * bound) >> 64);
  }

  /// Uniform in [0, 1).
  double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// Exponentially distributed with this mean, as the gaps between independent events are.
  double exponential(double mean) noexcept { return -mean * std::log1p(-unit()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace foliot::inline core
