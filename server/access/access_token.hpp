// Access tokens as texts: what lets a client in. Not the token of a reservation, which a worker shows.
//
//   foliot_4f7k2m9q_0Yh3…43 digits…t1a2B3c4D
//   │      │        │               └ 6 digits: a checksum of all that stands before them
//   │      │        └ 43 digits: 256 random bits, the secret
//   │      └ 8 letters and digits: the id, which is public
//   └ tells people, and programs that look for secrets where none should be, what this is
//
// The digits are those of base 62, so that a double click selects all of the token and no program has to quote it. By
// the checksum a mistyped token is told from one that was revoked, without a look into any file: one wrong character,
// and two that are exchanged, are always found.
//
// Nothing keeps a token but its user: the file of tokens has the SHA-256 of its text.
//
// Thread safety: values, and functions without state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "digest.hpp"

namespace foliot::program {

/// Why a text is no access token.
enum class token_flaw : std::uint8_t {
  no_token,  ///< it does not look like one
  mistyped,  ///< it looks like one, and has a wrong character
};

/// A text that has the form of an access token. It refers to the text.
class access_token {
 public:
  static constexpr std::size_t secret_bytes = 32;
  static constexpr std::size_t id_length = 8;
  static constexpr std::string_view prefix = "foliot_";
  static constexpr std::size_t length = prefix.size() + id_length + 1 + 43 + 6;

  /// Reads one. Whether it lets anybody in is not known here. O(1), without an allocation.
  [[nodiscard]] static std::expected<access_token, token_flaw> parse(std::string_view text) noexcept;
  /// The text of a new one, with an id and a secret from the kernel. Throws std::system_error.
  [[nodiscard]] static std::string make();
  /// The text of the one with this id and secret. Precondition: is_id(id).
  [[nodiscard]] static std::string make(std::string_view id, std::span<const std::byte, secret_bytes> secret);

  /// Whether the id of a token has this form: 8 letters from a to z, and digits.
  [[nodiscard]] static bool is_id(std::string_view text) noexcept;
  /// A new id, for a token or for a certificate. Throws std::system_error.
  [[nodiscard]] static std::string new_id();

  [[nodiscard]] std::string_view id() const noexcept { return text_.substr(prefix.size(), id_length); }
  /// The digest of the text, which the file of tokens has. Throws as sha256_of().
  [[nodiscard]] sha256_digest digest() const { return sha256_of(text_); }

 private:
  explicit access_token(std::string_view text) noexcept : text_(text) {}

  std::string_view text_;
};

}  // namespace foliot::program
