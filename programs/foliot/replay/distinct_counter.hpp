// How many different things there were, in bounded memory.
//
// Up to a limit every hash is kept and the count is exact (but for two things that share a 64-bit
// hash: one chance in thirty million for a million things). Past it the count is an estimate, with a
// standard error of 0.8 %.
//
//   distinct_counter clients;
//   clients.add(text_hash(name));
//
// Thread safety: none, one thread. add is O(1). Memory: 8 to 16 bytes for each thing that is counted,
// at most 16 MiB (24 MiB while the table grows), and 16 KiB once it is an estimate.
// The estimate is HyperLogLog's: P. Flajolet et al., "HyperLogLog: the analysis of a near-optimal
// cardinality estimation algorithm" (2007).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace foliot::program {

class distinct_counter {
 public:
  static constexpr std::size_t default_limit = std::size_t{1} << 20;

  /// Exact up to `limit` things.
  explicit distinct_counter(std::size_t limit = default_limit);

  /// Counts a thing, known by a good hash of it, unless it has been counted.
  void add(std::uint64_t hash);

  [[nodiscard]] std::uint64_t count() const noexcept;
  [[nodiscard]] bool exact() const noexcept { return registers_.empty(); }

 private:
  void grow();
  void begin_to_estimate();
  void note(std::uint64_t hash) noexcept;
  [[nodiscard]] std::uint64_t estimate() const noexcept;

  std::size_t limit_;
  // While exact: open addressing with linear probing; at most half of the slots are taken, 0 is free.
  std::vector<std::uint64_t> table_;
  std::size_t size_ = 0;
  // Afterwards: for each of the values that the upper bits of a hash can have, the longest run of
  // zeros at the end of those that had them, plus one; 0 for none.
  std::vector<std::uint8_t> registers_;
};

}  // namespace foliot::program
