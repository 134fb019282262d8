// A set of databases of a map, by their numbers: a word with a bit for each, so that the route of an operation needs no
// memory of its own.
//
//   database_set all{3, 0};
//   all.add(5);
//   for (const int each : all) ...  // 0, 3, 5
//   all.first_from(4);              // 5
//
// A value. Every function takes O(1), a walk O(1) for each number.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>

#include <foliot/jobs/job.hpp>

namespace foliot::jobs::detail {

/// The numbers of databases are below this, and databases give ids whose remainder by this is their number.
inline constexpr job_id most_databases = 64;

class database_set {
 public:
  /// Walks over the numbers in ascending order.
  class iterator {
   public:
    using value_type = int;
    using difference_type = std::ptrdiff_t;

    constexpr iterator() = default;
    constexpr explicit iterator(std::uint64_t left) : left_(left) {}
    [[nodiscard]] constexpr int operator*() const noexcept { return std::countr_zero(left_); }
    constexpr iterator& operator++() noexcept {
      left_ &= left_ - 1;
      return *this;
    }
    constexpr iterator operator++(int) noexcept {
      const iterator before = *this;
      ++*this;
      return before;
    }
    friend constexpr bool operator==(const iterator&, const iterator&) noexcept = default;

   private:
    std::uint64_t left_ = 0;
  };

  constexpr database_set() = default;
  /// The numbers must be below most_databases, here and below.
  constexpr database_set(std::initializer_list<int> numbers) {
    for (const int each : numbers) add(each);
  }

  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator(bits_); }
  [[nodiscard]] constexpr iterator end() const noexcept { return {}; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return static_cast<std::size_t>(std::popcount(bits_)); }
  [[nodiscard]] constexpr bool contains(int number) const noexcept { return (bits_ & bit(number)) != 0; }
  /// The lowest number that is not below `number`; if there is none, the lowest one. Precondition: not empty.
  [[nodiscard]] constexpr int first_from(int number) const noexcept {
    const std::uint64_t above = bits_ & ~(bit(number) - 1);
    return std::countr_zero(above != 0 ? above : bits_);
  }

  constexpr void add(int number) noexcept { bits_ |= bit(number); }
  constexpr void remove(database_set others) noexcept { bits_ &= ~others.bits_; }

  friend constexpr bool operator==(const database_set&, const database_set&) noexcept = default;

 private:
  [[nodiscard]] static constexpr std::uint64_t bit(int number) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(number);
  }

  std::uint64_t bits_ = 0;
};

static_assert(std::forward_iterator<database_set::iterator>);

}  // namespace foliot::jobs::detail
