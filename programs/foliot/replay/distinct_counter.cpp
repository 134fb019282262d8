#include "distinct_counter.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "text_hash.hpp"

namespace foliot::program {

namespace {

constexpr std::size_t first_table = 1024;
constexpr int index_bits = 14;
constexpr std::size_t register_count = std::size_t{1} << index_bits;

/// Inserts a hash into the table, and returns whether it is new. Precondition: it is not 0, and the table has room.
bool insert(std::vector<std::uint64_t>& table, std::uint64_t hash) noexcept {
  const std::size_t mask = table.size() - 1;
  std::size_t index = hash & mask;
  while (table[index] != 0 && table[index] != hash) index = (index + 1) & mask;
  const bool fresh = table[index] == 0;
  table[index] = hash;
  return fresh;
}

}  // namespace

distinct_counter::distinct_counter(std::size_t limit)
    : limit_(limit), table_(first_table), registers_(register_count) {}

void distinct_counter::add(std::string_view name, std::uint64_t hash) {
  note(text_hash(name));
  if (!exact()) return;
  if (size_ + 1 > table_.size() / 2) grow();
  if (!insert(table_, std::max<std::uint64_t>(hash, 1))) return;
  ++size_;
  if (!exact()) table_ = {};
}

std::uint64_t distinct_counter::count() const noexcept {
  // More names than the limit have been counted, even if the estimate is smaller.
  return exact() ? size_ : std::max<std::uint64_t>(size_, estimate());
}

void distinct_counter::grow() {
  std::vector<std::uint64_t> larger(table_.size() * 2);
  for (const std::uint64_t hash : table_) {
    if (hash != 0) insert(larger, hash);
  }
  table_.swap(larger);
}

void distinct_counter::note(std::uint64_t hash) noexcept {
  const int zeros = std::min(std::countr_zero(hash), 64 - index_bits);
  std::uint8_t& longest = registers_[hash >> (64 - index_bits)];
  longest = std::max(longest, static_cast<std::uint8_t>(zeros + 1));
}

std::uint64_t distinct_counter::estimate() const noexcept {
  // The paper's formula. Its correction for small counts is not needed above the limit, and its
  // correction for large ones is for hashes of 32 bits.
  constexpr double count = register_count;
  constexpr double bias = 0.7213 / (1 + 1.079 / count);
  double sum = 0;
  for (const std::uint8_t longest : registers_) sum += std::ldexp(1.0, -longest);
  return static_cast<std::uint64_t>(std::llround(bias * count * count / sum));
}

}  // namespace foliot::program
