#include "digest.hpp"

#include <cstddef>

#if defined(FOLIOT_HAS_OPENSSL)
#include <openssl/crypto.h>
#include <openssl/sha.h>
#endif

#include "text/failure.hpp"

namespace foliot::program {

#if defined(FOLIOT_HAS_OPENSSL)
// OpenSSL deprecates these functions for those of EVP, which need memory: the first of those in a process makes what
// OpenSSL needs for them, and where an allocation fails in that, OpenSSL 3.0 crashes. These need none.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
sha256_digest sha256_of(std::string_view text) {
  sha256_digest made{};
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, text.data(), text.size());
  SHA256_Final(made.data(), &context);  // which wipes the bytes of the text
  return made;
}
#pragma GCC diagnostic pop

bool is_same_digest(const sha256_digest& a, const sha256_digest& b) noexcept {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}
#else
sha256_digest sha256_of(std::string_view) {
  throw failure("this program was built without OpenSSL, which access tokens need");
}

bool is_same_digest(const sha256_digest& a, const sha256_digest& b) noexcept { return a == b; }
#endif

std::string hexadecimal(const sha256_digest& what) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * what.size());
  for (const unsigned char byte : what) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

namespace {

/// The value of a hexadecimal digit, or -1.
int value_of(char digit) noexcept {
  if ('0' <= digit && digit <= '9') return digit - '0';
  if ('a' <= digit && digit <= 'f') return digit - 'a' + 10;
  if ('A' <= digit && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<sha256_digest> parse_digest(std::string_view text) noexcept {
  if (const std::size_t equals = text.find('='); equals != std::string_view::npos) text.remove_prefix(equals + 1);
  sha256_digest read{};
  const bool has_colons = text.size() == 3 * read.size() - 1;
  const std::size_t step = has_colons ? 3 : 2;
  if (!has_colons && text.size() != 2 * read.size()) return std::nullopt;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const int high = value_of(text[step * i]);
    const int low = value_of(text[step * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    if (has_colons && i > 0 && text[step * i - 1] != ':') return std::nullopt;
    read[i] = static_cast<unsigned char>(high * 16 + low);
  }
  return read;
}

}  // namespace foliot::program
