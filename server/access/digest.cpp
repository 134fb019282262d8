#include "digest.hpp"

#include <cstddef>
#include <memory>
#include <new>

#if defined(FOLIOT_HAS_OPENSSL)
#include <openssl/crypto.h>
#include <openssl/evp.h>
#endif

#include <foliot/core/seam/sync.hpp>

#include "text/failure.hpp"

namespace foliot::program {

#if defined(FOLIOT_HAS_OPENSSL)
namespace {

struct frees {
  void operator()(EVP_MD* algorithm) const noexcept { EVP_MD_free(algorithm); }
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};
using context_ptr = std::unique_ptr<EVP_MD_CTX, frees>;

/// A context of OpenSSL that nobody uses, or null. Looking up the algorithm and making a context for it costs ten times
/// as much as the digest of an access token. A context that comes back has no bytes of a text: OpenSSL has wiped them.
///
/// acquire and release: the thread that takes a context sees what the one before has done with it.
constinit seam::atomic<EVP_MD_CTX*> spare_context{nullptr};

/// A context for SHA-256 that has begun; null without memory.
context_ptr begin_sha256() noexcept {
  context_ptr context(spare_context.exchange(nullptr, seam::acquire));
  if (context != nullptr) {
    if (EVP_DigestInit_ex2(context.get(), nullptr, nullptr) != 1) return nullptr;
    return context;
  }
  const std::unique_ptr<EVP_MD, frees> algorithm(EVP_MD_fetch(nullptr, "SHA256", nullptr));
  context.reset(EVP_MD_CTX_new());
  if (algorithm == nullptr || context == nullptr) return nullptr;
  if (EVP_DigestInit_ex2(context.get(), algorithm.get(), nullptr) != 1) return nullptr;  // which keeps the algorithm
  return context;
}

}  // namespace

sha256_digest sha256_of(std::string_view text) {
  sha256_digest made{};
  unsigned int size = 0;
  context_ptr context = begin_sha256();
  const bool is_made = context != nullptr && EVP_DigestUpdate(context.get(), text.data(), text.size()) == 1 &&
                       EVP_DigestFinal_ex(context.get(), made.data(), &size) == 1;
  if (!is_made) throw std::bad_alloc();
  // The one that was put back meanwhile, by a thread that came later, is freed.
  context.reset(spare_context.exchange(context.release(), seam::acq_rel));
  return made;
}

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
