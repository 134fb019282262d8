#include "access_token.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <foliot/core/contract.hpp>
#include <foliot/core/seam/secret_bytes.hpp>

namespace foliot::program {

namespace {

constexpr std::string_view digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t secret_length = 43;   // 62^43 > 2^256
constexpr std::size_t checksum_length = 6;  // 62^6 > 2^32
constexpr std::string_view id_characters = "abcdefghijklmnopqrstuvwxyz0123456789";

/// The table of CRC-32, one entry for each byte: the checksum of a token is computed for each request over HTTP.
constexpr auto checksums_of_bytes = [] {
  std::array<std::uint32_t, 256> all{};
  for (std::uint32_t byte = 0; byte < all.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? 0xEDB88320U : 0U);
    all[byte] = rest;
  }
  return all;
}();

/// CRC-32 as Ethernet has it.
std::uint32_t checksum_of(std::string_view text) noexcept {
  std::uint32_t rest = ~std::uint32_t{0};
  for (const char each : text) {
    rest = (rest >> 8U) ^ checksums_of_bytes[(rest ^ static_cast<unsigned char>(each)) & 0xFFU];
  }
  return ~rest;
}

std::array<char, checksum_length> checksum_digits(std::string_view text) noexcept {
  std::uint32_t left = checksum_of(text);
  std::array<char, checksum_length> written{};
  for (auto place = written.rbegin(); place != written.rend(); ++place) {
    *place = digits[left % digits.size()];
    left /= static_cast<std::uint32_t>(digits.size());
  }
  return written;
}

/// The bytes as one number, in base 62, always with as many digits.
std::array<char, secret_length> secret_digits(std::span<const std::byte, access_token::secret_bytes> secret) noexcept {
  std::array<unsigned, access_token::secret_bytes> number{};
  std::ranges::transform(secret, number.begin(), [](std::byte each) { return std::to_integer<unsigned>(each); });
  std::array<char, secret_length> written{};
  for (auto place = written.rbegin(); place != written.rend(); ++place) {
    unsigned rest = 0;
    for (unsigned& byte : number) {
      const unsigned value = rest * 256 + byte;
      byte = value / static_cast<unsigned>(digits.size());
      rest = value % static_cast<unsigned>(digits.size());
    }
    *place = digits[rest];
  }
  ::explicit_bzero(number.data(), sizeof number);
  return written;
}

constexpr auto are_digits = [] {
  std::array<bool, 256> all{};
  for (const char each : digits) all[static_cast<unsigned char>(each)] = true;
  return all;
}();

bool is_digit(char c) noexcept { return are_digits[static_cast<unsigned char>(c)]; }

}  // namespace

bool access_token::is_id(std::string_view text) noexcept {
  return text.size() == id_length &&
         std::ranges::all_of(text, [](char c) { return id_characters.find(c) != std::string_view::npos; });
}

std::string access_token::new_id() {
  std::array<std::byte, id_length> random{};
  seam::fill_with_secret_bytes(random);
  std::string id;
  for (const std::byte each : random) id += id_characters[std::to_integer<std::size_t>(each) % id_characters.size()];
  return id;
}

std::string access_token::make() {
  std::array<std::byte, secret_bytes> secret{};
  seam::fill_with_secret_bytes(secret);
  std::string text = make(new_id(), secret);
  ::explicit_bzero(secret.data(), secret.size());
  return text;
}

std::string access_token::make(std::string_view id, std::span<const std::byte, secret_bytes> secret) {
  FOLIOT_ASSERT(is_id(id), "the id of an access token has 8 letters and digits");
  std::string text;
  text.reserve(length);  // no copy of a part of it stays in memory
  text += prefix;
  text += id;
  text += '_';
  const auto number = secret_digits(secret);
  text.append(number.data(), number.size());
  const auto checksum = checksum_digits(text);
  text.append(checksum.data(), checksum.size());
  return text;
}

std::expected<access_token, token_flaw> access_token::parse(std::string_view text) noexcept {
  if (!text.starts_with(prefix)) return std::unexpected(token_flaw::no_token);
  const std::string_view id = text.substr(prefix.size(), id_length);
  if (text.size() != length || text[prefix.size() + id_length] != '_' || !is_id(id) ||
      !std::ranges::all_of(text.substr(prefix.size() + id_length + 1), is_digit)) {
    return std::unexpected(token_flaw::mistyped);
  }
  const auto checksum = checksum_digits(text.substr(0, length - checksum_length));
  if (text.substr(length - checksum_length) != std::string_view(checksum.data(), checksum.size())) {
    return std::unexpected(token_flaw::mistyped);
  }
  return access_token(text);
}

}  // namespace foliot::program
