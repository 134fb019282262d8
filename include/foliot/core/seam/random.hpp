// The randomness seam: the only door to random numbers.
//
// A random_stream is decided by its seed alone, on every machine and with every standard library:
// whatever uses one can be repeated. `entropy()` is the one place that asks the system for a seed.
//
//   foliot::random_stream random{seed};
//   auto delay = std::chrono::milliseconds{random.below(1000)};
//
// Thread safety: one stream, one thread.
#pragma once

#include <foliot/core/language.hpp>

#include <cmath>
#include <cstdint>
#include <random>

#include <foliot/core/export.h>

namespace foliot::inline core {

class random_stream {
 public:
  explicit random_stream(std::uint64_t seed) noexcept : engine_(seed) {}

  /// A seed that nobody knows beforehand. Throws std::system_error where the system has none.
  [[nodiscard]] FOLIOT_EXPORT static std::uint64_t entropy();

  /// 64 random bits.
  std::uint64_t next() noexcept { return engine_(); }

  /// Uniform in [0, bound). Precondition: bound > 0. (The standard's distributions differ between
  /// libraries; this is Lemire's multiplication, without the rejection step: the bias is below
  /// bound / 2^64.)
  std::uint64_t below(std::uint64_t bound) noexcept {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<wide>(next()) * bound) >> 64);
  }

  /// Uniform in [0, 1).
  double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// Exponentially distributed with this mean: the gap between events that know nothing of each other.
  double exponential(double mean) noexcept { return -mean * std::log1p(-unit()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace foliot::inline core
