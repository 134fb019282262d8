// A 64-bit hash of a text, the same on every machine. Every bit of it depends on every bit of the text, so that any of
// its bits can be used. An attacker can find texts that collide: keyed_hash is for texts from outside, such as the
// clients in a log.
//
// Wang Yi's construction (wyhash): fold the 128-bit product of two words into which the text was mixed. Some 3 ns for a
// host name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "load_word.hpp"

namespace foliot::detail {

constexpr std::uint64_t fold_product(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using wide = unsigned __int128;
  const wide product = static_cast<wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace foliot::detail

namespace foliot::program {

inline std::uint64_t text_hash(std::string_view text) noexcept {
  using detail::fold_product;
  using detail::load_word;
  constexpr std::uint64_t first = 0xa0761d6478bd642f;
  constexpr std::uint64_t second = 0xe7037ed1a0b428db;
  constexpr std::uint64_t third = 0x8ebc6af09c88c6e3;
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t state = first;
  for (; left > 16; at += 16, left -= 16) {
    state = fold_product(load_word<std::uint64_t>(at) ^ second, load_word<std::uint64_t>(at + 8) ^ state);
  }
  // The last 16 bytes or fewer, in two words that may overlap.
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  if (left >= 8) {
    low = load_word<std::uint64_t>(at);
    high = load_word<std::uint64_t>(at + left - 8);
  } else if (left >= 4) {
    low = load_word<std::uint32_t>(at);
    high = load_word<std::uint32_t>(at + left - 4);
  } else if (left > 0) {
    low = std::uint64_t{load_word<std::uint8_t>(at)} << 16 |
          std::uint64_t{load_word<std::uint8_t>(at + left / 2)} << 8 | load_word<std::uint8_t>(at + left - 1);
  }
  state = fold_product(low ^ second, high ^ state);
  return fold_product(state ^ third, text.size() ^ second);
}

}  // namespace foliot::program
