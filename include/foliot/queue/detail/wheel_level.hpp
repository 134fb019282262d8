// One level of a hierarchical wheel: its buckets, and for each a bit that is set if the bucket has a timer.
//
// There are two classes with the same members: small_level has a constant number of at most 64 buckets, whose bits are
// one word; large_level has any number. Complexity: O(1); first_from() and first() of large_level O(buckets / 64).
//
// Thread safety: none, one owner.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include <foliot/queue/detail/wheel_node.hpp>

namespace foliot::detail {

/// A level of at most 64 buckets.
template <std::size_t Buckets>
class small_level {
 public:
  /// Null if there is no memory.
  [[nodiscard]] static std::unique_ptr<small_level> make(std::size_t /*buckets*/) noexcept {
    return std::unique_ptr<small_level>(new (std::nothrow) small_level);
  }

  [[nodiscard]] ring& operator[](std::size_t bucket) noexcept { return buckets_[bucket]; }
  [[nodiscard]] const ring& operator[](std::size_t bucket) const noexcept { return buckets_[bucket]; }

  /// Whether no bucket is occupied.
  [[nodiscard]] bool empty() const noexcept { return occupied_ == 0; }
  [[nodiscard]] bool occupied(std::size_t bucket) const noexcept { return (occupied_ >> bucket & 1) != 0; }
  void occupy(std::size_t bucket) noexcept { occupied_ |= std::uint64_t{1} << bucket; }
  void vacate(std::size_t bucket) noexcept { occupied_ &= ~(std::uint64_t{1} << bucket); }

  /// The occupied bucket with the lowest index. Precondition: not empty.
  [[nodiscard]] std::size_t first() const noexcept { return static_cast<std::size_t>(std::countr_zero(occupied_)); }
  /// The distance from bucket `from` to the first occupied one at or after it, round the ring. Precondition: not empty.
  [[nodiscard]] std::uint64_t first_from(std::uint64_t from) const noexcept {
    constexpr std::uint64_t all = Buckets == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << Buckets) - 1;
    const std::uint64_t turned = from == 0 ? occupied_ : (occupied_ >> from | occupied_ << (Buckets - from)) & all;
    return static_cast<std::uint64_t>(std::countr_zero(turned));
  }

 private:
  static_assert(Buckets <= 64);
  std::uint64_t occupied_ = 0;  // bit i: buckets_[i] holds a timer
  std::array<ring, Buckets> buckets_;
};

/// A level of any number of buckets.
class large_level {
 public:
  /// Null if there is no memory.
  [[nodiscard]] static std::unique_ptr<large_level> make(std::size_t buckets) noexcept {
    try {
      return std::make_unique<large_level>(buckets);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  /// Throws std::bad_alloc.
  explicit large_level(std::size_t buckets)
      : count_(buckets),
        words_(std::make_unique<std::uint64_t[]>((buckets + 63) / 64)),
        buckets_(std::make_unique<ring[]>(buckets)) {}

  [[nodiscard]] ring& operator[](std::size_t bucket) noexcept { return buckets_[bucket]; }
  [[nodiscard]] const ring& operator[](std::size_t bucket) const noexcept { return buckets_[bucket]; }

  [[nodiscard]] bool empty() const noexcept { return occupied_ == 0; }
  [[nodiscard]] bool occupied(std::size_t bucket) const noexcept {
    return (words_[bucket / 64] >> bucket % 64 & 1) != 0;
  }
  void occupy(std::size_t bucket) noexcept {
    if (!occupied(bucket)) ++occupied_;
    words_[bucket / 64] |= std::uint64_t{1} << bucket % 64;
  }
  void vacate(std::size_t bucket) noexcept {
    if (occupied(bucket)) --occupied_;
    words_[bucket / 64] &= ~(std::uint64_t{1} << bucket % 64);
  }

  [[nodiscard]] std::size_t first() const noexcept { return static_cast<std::size_t>(first_from(0)); }
  [[nodiscard]] std::uint64_t first_from(std::uint64_t from) const noexcept {
    const std::size_t start = static_cast<std::size_t>(from);
    std::size_t word = start / 64;
    std::uint64_t bits = words_[word] & ~std::uint64_t{0} << start % 64;
    while (bits == 0) {  // the search may come round to the low bits of the first word
      word = word + 1 == (count_ + 63) / 64 ? 0 : word + 1;
      bits = words_[word];
    }
    const std::size_t found = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    return found >= start ? found - start : found + count_ - start;
  }

 private:
  std::size_t count_;
  std::size_t occupied_ = 0;  // how many bits are set
  std::unique_ptr<std::uint64_t[]> words_;
  std::unique_ptr<ring[]> buckets_;
};

}  // namespace foliot::detail
