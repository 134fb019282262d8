#include "signature.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include <foliot/core/seam/secret_bytes.hpp>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "server/core/wiping_allocator.hpp"

namespace foliot::program::webhooks {

namespace {

constexpr std::string_view secret_prefix = "whsec_";
constexpr std::string_view version_prefix = "v1,";
constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t block_bytes = 64;  // of SHA-256
constexpr std::size_t most_signatures = 16;

using mac = std::array<unsigned char, 32>;

void append_base64(std::string& text, std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j)
      bits = bits << 8U | (j < group.size() ? static_cast<unsigned char>(group[j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j) text += j <= group.size() ? base64_digits[bits >> (18 - 6 * j) & 63U] : '=';
  }
}

/// The bytes in memory that is wiped; nothing if the text is not base64 with padding, or without where none is due.
std::optional<wiped_string> secret_from_base64(std::string_view text) {
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  if (text.size() % 4 != 0) return std::nullopt;
  text.remove_suffix(padding);
  wiped_string bytes;
  bytes.reserve(text.size());
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text) {
    const std::size_t value = base64_digits.find(c);
    if (value == std::string_view::npos) return std::nullopt;
    bits = (bits << 6U | static_cast<std::uint32_t>(value)) & 0xff'ffffU;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(static_cast<unsigned char>(bits >> count & 0xffU));
  }
  if ((bits & ((1U << count) - 1)) != 0) return std::nullopt;
  return bytes;
}

// OpenSSL deprecates these functions for those of EVP, which need memory and may fail; see server/access/digest.cpp.
// The words of a context are its state between two blocks.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

std::array<std::uint32_t, 8> state_after(const std::array<unsigned char, block_bytes>& block) noexcept {
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, block.data(), block.size());
  std::array<std::uint32_t, 8> words{};
  std::copy_n(context.h, words.size(), words.begin());
  OPENSSL_cleanse(&context, sizeof context);
  return words;
}

/// Goes on behind the first block.
void resume(SHA256_CTX& context, const std::array<std::uint32_t, 8>& words) noexcept {
  SHA256_Init(&context);
  std::copy_n(words.begin(), words.size(), context.h);
  context.Nl = block_bytes * 8;  // bits so far
}

void add(SHA256_CTX& context, std::string_view bytes) noexcept { SHA256_Update(&context, bytes.data(), bytes.size()); }

mac hmac(const std::array<std::uint32_t, 8>& inner, const std::array<std::uint32_t, 8>& outer,
         const signed_message& message) noexcept {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), message.timestamp).ptr;
  SHA256_CTX context;
  mac made{};
  resume(context, inner);
  add(context, message.id);
  add(context, ".");
  add(context, {digits.data(), static_cast<std::size_t>(end - digits.data())});
  add(context, ".");
  add(context, message.body);
  SHA256_Final(made.data(), &context);  // which wipes the context
  resume(context, outer);
  SHA256_Update(&context, made.data(), made.size());
  SHA256_Final(made.data(), &context);
  return made;
}

#pragma GCC diagnostic pop

/// `v1,` and the base64 of a MAC: 47 characters.
std::string signature_text(const mac& made) {
  std::string text(version_prefix);
  append_base64(text, {reinterpret_cast<const char*>(made.data()), made.size()});
  return text;
}

}  // namespace

bool is_message_id(std::string_view id) noexcept {
  return !id.empty() && id.size() <= 256 &&
         std::ranges::all_of(id, [](char c) { return c > ' ' && c < 0x7f && c != '.'; });
}

signing_secret::signing_secret(std::string_view key) noexcept : size_(key.size()) {
  std::array<unsigned char, block_bytes> block{};
  const auto fill = [&](unsigned char pad) {
    for (std::size_t i = 0; i < block.size(); ++i)
      block[i] = static_cast<unsigned char>((i < key.size() ? static_cast<unsigned char>(key[i]) : 0U) ^ pad);
  };
  fill(0x36);
  inner_ = state_after(block);
  fill(0x5c);
  outer_ = state_after(block);
  OPENSSL_cleanse(block.data(), block.size());
}

signing_secret::~signing_secret() {
  OPENSSL_cleanse(inner_.data(), sizeof inner_);
  OPENSSL_cleanse(outer_.data(), sizeof outer_);
}

std::expected<signing_secret, std::string> signing_secret::parse(std::string_view text) {
  if (text.starts_with(secret_prefix)) text.remove_prefix(secret_prefix.size());
  if (text.starts_with("whsk_") || text.starts_with("whpk_")) {
    return std::unexpected(
        "this is a key of public-key signatures (v1a), which foliot does not make: a secret is "
        "`whsec_` and 24 to 64 bytes in base64");
  }
  const std::optional<wiped_string> key = secret_from_base64(text);
  if (!key) {
    return std::unexpected(
        "a signing secret is `whsec_` and 24 to 64 bytes in base64 with padding; this is not base64");
  }
  if (key->size() < least_imported_bytes || key->size() > most_bytes) {
    return std::unexpected("a signing secret has 24 to 64 bytes (one of another sender at least 16); this one has " +
                           std::to_string(key->size()));
  }
  return signing_secret(std::string_view(*key));
}

std::string signing_secret::make() {
  std::array<std::byte, made_bytes> key{};
  seam::fill_with_secret_bytes(key);
  std::string text;
  text.reserve(secret_prefix.size() + (made_bytes + 2) / 3 * 4);  // so that no copy stays behind
  text += secret_prefix;
  append_base64(text, {reinterpret_cast<const char*>(key.data()), key.size()});
  OPENSSL_cleanse(key.data(), key.size());
  return text;
}

std::array<unsigned char, 32> signing_secret::mac_of(const signed_message& message) const noexcept {
  return hmac(inner_, outer_, message);
}

void signing_secrets::replace(const signing_secret& next, unix_seconds old_until) {
  old_.insert(old_.begin(), old_secret{present_, old_until});
  present_ = next;
  if (old_.size() < most) return;
  old_.erase(std::ranges::min_element(old_, {}, &old_secret::until));
}

void signing_secrets::forget_old(unix_seconds now) noexcept {
  std::erase_if(old_, [now](const old_secret& each) { return each.until <= now; });
}

std::vector<const signing_secret*> signing_secrets::valid_at(unix_seconds now) const {
  std::vector<const signing_secret*> valid{&present_};
  for (const old_secret& each : old_) {
    if (now < each.until) valid.push_back(&each.secret);
  }
  return valid;
}

std::size_t signing_secrets::count(unix_seconds now) const noexcept {
  return 1 +
         static_cast<std::size_t>(std::ranges::count_if(old_, [now](const auto& each) { return now < each.until; }));
}

std::string signing_secrets::sign(const signed_message& message, unix_seconds now) const {
  std::string field = signature_text(present_.mac_of(message));
  for (const old_secret& each : old_) {
    if (now >= each.until) continue;
    field += ' ';
    field += signature_text(each.secret.mac_of(message));
  }
  return field;
}

verdict verify(const signed_message& message, std::string_view signatures, const signing_secrets& secrets,
               unix_seconds now, std::chrono::seconds tolerance) {
  if (!is_message_id(message.id) || std::ranges::count(signatures, ' ') >= std::ptrdiff_t{most_signatures})
    return verdict::malformed;
  const std::int64_t present = now.time_since_epoch().count();
  // Without a difference, which might overflow.
  if (message.timestamp < present - tolerance.count()) return verdict::too_old;
  if (message.timestamp > present + tolerance.count()) return verdict::too_new;
  bool is_genuine = false;
  for (const signing_secret* const each : secrets.valid_at(now)) {
    const std::string expected = signature_text(each->mac_of(message));
    for (std::size_t begin = 0; begin <= signatures.size();) {
      const std::size_t end = std::min(signatures.find(' ', begin), signatures.size());
      const std::string_view one = signatures.substr(begin, end - begin);
      // Each pair is compared, so the time does not tell which one is right.
      if (one.size() == expected.size() && CRYPTO_memcmp(one.data(), expected.data(), one.size()) == 0)
        is_genuine = true;
      begin = end + 1;
    }
  }
  return is_genuine ? verdict::genuine : verdict::forged;
}

}  // namespace foliot::program::webhooks
