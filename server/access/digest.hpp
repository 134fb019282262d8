// SHA-256, by OpenSSL, and how digests are compared and written.
//
// Access tokens are 256 random bits, so nobody can try them all, and a plain digest is enough: a slow one, as passwords
// need it, would cost each request milliseconds.
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace foliot::program {

/// The SHA-256 of something: 32 bytes. Compare it by is_same_digest() where one side comes from a client.
using sha256_digest = std::array<unsigned char, 32>;

/// Throws failure if the program was built without OpenSSL, and else nothing: it needs no memory.
[[nodiscard]] sha256_digest sha256_of(std::string_view text);

/// Whether they are equal, in a time that does not depend on the bytes.
[[nodiscard]] bool is_same_digest(const sha256_digest& a, const sha256_digest& b) noexcept;

/// 64 digits in lower case.
[[nodiscard]] std::string hexadecimal(const sha256_digest& what);

/// Reads 64 hexadecimal digits in either case, with a colon between each two bytes or with none. A text such as
/// `sha256 Fingerprint=`, which `openssl x509 -fingerprint` writes in front, is skipped.
[[nodiscard]] std::optional<sha256_digest> parse_digest(std::string_view text) noexcept;

}  // namespace foliot::program
