// A 64-bit hash of a text, the same on every machine. Every bit of it depends on every bit of the text, so that any of
// its bits can be used. An attacker can find texts that collide: keyed_hash is for texts from outside, such as the
// clients in a log.
//
// Wang Yi's construction (wyhash): fold the 128-bit product of two words into which the text was mixed. Some 3 ns for a
// host name.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <foliot/core/seam/random.hpp>

namespace foliot::detail {

/// The number at `from`, little-endian on every machine.
template <class Word>
Word load_word(const char* from) noexcept {
  Word word = 0;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = std::byteswap(word);
  return word;
}

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

// A 64-bit hash of a text that an attacker may have chosen: SipHash-1-3 under a secret key.
//
//   const keyed_hash hash = keyed_hash::with_random_key();
//   std::unordered_map<std::string, int, keyed_hash> seen(0, hash);
//
// Without the key an attacker cannot choose texts whose hashes collide, so a hash table stays O(1), and any two texts
// have the same hash with a chance of 1 in 2^64. Every bit of the hash depends on every bit of the text. With a random
// key the hashes differ in each run: results must not depend on them. For texts that the program makes itself,
// text_hash is faster and always the same.
//
// Some 10 ns for a host name. J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (2012). The hash
// tables of Rust and Python use it with 1 and 3 rounds too.
//
// Thread safety: immutable.

namespace foliot::detail {

class sip_state {
 public:
  sip_state(std::uint64_t key_low, std::uint64_t key_high) noexcept
      : a_(key_low ^ 0x736f6d6570736575),
        b_(key_high ^ 0x646f72616e646f6d),
        c_(key_low ^ 0x6c7967656e657261),
        d_(key_high ^ 0x7465646279746573) {}

  template <int Rounds>
  void compress(std::uint64_t word) noexcept {
    d_ ^= word;
    mix<Rounds>();
    a_ ^= word;
  }

  template <int Rounds>
  [[nodiscard]] std::uint64_t finish() noexcept {
    c_ ^= 0xff;
    mix<Rounds>();
    return a_ ^ b_ ^ c_ ^ d_;
  }

 private:
  template <int Rounds>
  void mix() noexcept {
    for (int i = 0; i < Rounds; ++i) {
      a_ += b_;
      c_ += d_;
      b_ = std::rotl(b_, 13) ^ a_;
      d_ = std::rotl(d_, 16) ^ c_;
      a_ = std::rotl(a_, 32) + d_;
      c_ += b_;
      b_ = std::rotl(b_, 17) ^ c_;
      d_ = std::rotl(d_, 21) ^ a_;
      c_ = std::rotl(c_, 32);
    }
  }

  std::uint64_t a_;
  std::uint64_t b_;
  std::uint64_t c_;
  std::uint64_t d_;
};

/// The last bytes of a text, fewer than eight, as a number. Overlapping reads agree in the bytes that both have.
inline std::uint64_t load_tail(const char* at, std::size_t size) noexcept {
  if (size >= 4) {
    return load_word<std::uint32_t>(at) | std::uint64_t{load_word<std::uint32_t>(at + size - 4)} << 8 * (size - 4);
  }
  if (size == 0) return 0;
  const auto byte = [at](std::size_t index) { return std::uint64_t{load_word<std::uint8_t>(at + index)} << 8 * index; };
  return byte(0) | byte(size / 2) | byte(size - 1);
}

/// SipHash-c-d of `text`.
template <int CompressionRounds, int FinalRounds>
std::uint64_t sip_hash(std::uint64_t key_low, std::uint64_t key_high, std::string_view text) noexcept {
  sip_state state(key_low, key_high);
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 8; at += 8, left -= 8) state.compress<CompressionRounds>(load_word<std::uint64_t>(at));
  state.compress<CompressionRounds>(std::uint64_t{text.size()} << 56 | load_tail(at, left));
  return state.finish<FinalRounds>();
}

}  // namespace foliot::detail

namespace foliot::program {

class keyed_hash {
 public:
  keyed_hash(std::uint64_t key_low, std::uint64_t key_high) noexcept : key_low_(key_low), key_high_(key_high) {}

  /// With a secret key. Throws std::system_error where the system has no randomness.
  [[nodiscard]] static keyed_hash with_random_key() { return {random_stream::entropy(), random_stream::entropy()}; }

  [[nodiscard]] std::uint64_t operator()(std::string_view text) const noexcept {
    return detail::sip_hash<1, 3>(key_low_, key_high_, text);
  }

 private:
  std::uint64_t key_low_;
  std::uint64_t key_high_;
};

}  // namespace foliot::program
