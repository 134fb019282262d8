// The errors of TLS: those of foliot, those of OpenSSL, and what is wrong with a certificate. All have one category,
// whose messages are OpenSSL's own texts.
//
//   const auto peer = co_await tls_stream::connect(std::move(connection), context, "example.com");
//   if (!peer && is_certificate_error(peer.error())) …     // "certificate verify failed: certificate has expired"
//
// Errors of the connection below stay what they are: io_errc, and the errors of the system. A lack of memory is
// errc::not_enough_memory where OpenSSL says so, else what OpenSSL says of what failed for lack of it.
// Thread safety: values.
#pragma once

#include <foliot/core/language.hpp>

#include <system_error>

#include <foliot/core/export.h>

namespace foliot::tls {

/// What foliot adds to the errors of OpenSSL.
enum class tls_errc {
  /// The connection ended, but the peer has not said that it writes no more (close_notify). Somebody may have cut it.
  truncated = 1,
  /// The peer has asked for more answers than it reads.
  too_many_answers,
  /// The PEM text has no certificate in it, or the server has none.
  no_certificate,
  /// A server that verifies its clients was given no roots to verify them by.
  no_roots,
  /// The PEM text has no private key in it, or none of a kind that OpenSSL knows.
  no_private_key,
  /// The private key is encrypted, and its password is missing or wrong.
  wrong_password,
};

/// The category of all errors of TLS, named "foliot.tls". A value is a tls_errc, or 1000 and OpenSSL's number of what
/// is wrong with a certificate, or a packed error of OpenSSL.
[[nodiscard]] FOLIOT_EXPORT const std::error_category& tls_category() noexcept;
/// For std::error_code.
[[nodiscard]] inline std::error_code make_error_code(tls_errc what) noexcept {
  return {static_cast<int>(what), tls_category()};
}
/// Whether the error is that this side did not accept the peer's certificate: expired, for another host, not signed by
/// a root, and so on.
[[nodiscard]] FOLIOT_EXPORT bool is_certificate_error(std::error_code error) noexcept;

}  // namespace foliot::tls

template <>
struct std::is_error_code_enum<foliot::tls::tls_errc> : std::true_type {};
