// Reads numbers from the bytes of a text, for hashes. Thread safety: a pure function.
#pragma once

#include <bit>
#include <cstring>

namespace foliot::detail {

/// The number at `from`, little-endian on every machine.
template <class Word>
Word load_word(const char* from) noexcept {
  Word word = 0;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = std::byteswap(word);
  return word;
}

}  // namespace foliot::detail
