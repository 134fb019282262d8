// Counts different names, in bounded memory.
//
// Up to a limit the keyed hash of every name is kept, and the count is exact unless two names have the same 64-bit
// hash: for a million names, even if an attacker has chosen them, a chance of one in thirty million. Past the limit the
// count is an estimate, with a standard error of 0.8 %. The estimate uses a hash without a key, so that the same names
// give the same estimate in each run. An attacker who chooses the names can make it wrong, but not smaller than the
// limit.
//
//   distinct_counter clients;
//   clients.add(name, hash(name));
//
// Thread safety: none, one thread. add is O(1). Memory: 16 KiB for the estimate, and while the count is exact 8 to 16
// bytes for each name, at most 16 MiB (24 MiB while the table grows). The estimate is HyperLogLog's: P. Flajolet et
// al., "HyperLogLog: the analysis of a near-optimal cardinality estimation algorithm" (2007).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace foliot::program {

class distinct_counter {
 public:
  static constexpr std::size_t default_limit = std::size_t{1} << 20;

  /// Exact up to `limit` names.
  explicit distinct_counter(std::size_t limit = default_limit);

  /// Counts a name unless it has been counted. `hash` must be that of `name`, by the same keyed_hash in all calls.
  void add(std::string_view name, std::uint64_t hash);

  [[nodiscard]] std::uint64_t count() const noexcept;
  [[nodiscard]] bool exact() const noexcept { return size_ <= limit_; }

 private:
  void grow();
  void note(std::uint64_t hash) noexcept;
  [[nodiscard]] std::uint64_t estimate() const noexcept;

  std::size_t limit_;
  // While exact: open addressing with linear probing; at most half of the slots are taken, 0 is free.
  std::vector<std::uint64_t> table_;
  std::size_t size_ = 0;  // of the table; limit_ + 1 when the count is an estimate
  // For the estimate, from the first name on. Indexed by the upper bits of a text_hash: the longest run of zeros at the
  // end of such a hash, plus one; 0 if there was none.
  std::vector<std::uint8_t> registers_;
};

}  // namespace foliot::program
