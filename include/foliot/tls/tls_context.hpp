// What the TLS connections of a program have in common: the own certificate, the trusted roots, the protocols.
//
//   tls_options options;
//   options.certificate_chain = pem::file("/etc/chat/chain.pem");     // own certificate first
//   options.private_key = pem::file("/etc/chat/key.pem");
//   const auto context = tls_context::server(options);
//   if (!context) …                                                   // context.error().message() says why
//
//   const auto client = tls_context::client();                        // the system's roots; verifies the server
//
// Versions before TLS 1.2, renegotiation and compression are off. Ciphers and security level are those of OpenSSL and
// of its configuration file. A server lets clients resume sessions by tickets, as OpenSSL does; a client resumes them
// if tls_options::resumed_hosts says so.
//
// Files are read once, when the context is made. A server whose certificate is renewed makes another context; streams
// keep the one that they were made with.
//
// Thread safety: a context is an immutable value, but for the sessions that a client keeps, which have a lock. Copies
// share it; copying costs a reference count.
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <foliot/core/export.h>
#include <foliot/tls/tls_certificate.hpp>

namespace foliot::tls {

namespace detail {
struct context;
}  // namespace detail

/// Text in PEM, in a file or in memory; or none.
class pem {
 public:
  /// None.
  pem() noexcept = default;
  /// The text of the file with that path. It is read when a context is made.
  [[nodiscard]] static pem file(std::string path) { return {kind::file, std::move(path)}; }
  /// The text itself.
  [[nodiscard]] static pem text(std::string text) { return {kind::text, std::move(text)}; }

  /// Whether there is no text.
  [[nodiscard]] bool is_none() const noexcept { return kind_ == kind::none; }
  /// Whether value() is a path.
  [[nodiscard]] bool is_file() const noexcept { return kind_ == kind::file; }
  /// The path or the text.
  [[nodiscard]] const std::string& value() const noexcept { return value_; }

 private:
  enum class kind : std::uint8_t { none, file, text };
  pem(kind what, std::string value) noexcept : kind_(what), value_(std::move(value)) {}

  kind kind_ = kind::none;
  std::string value_;
};

/// The versions of the protocol.
enum class tls_version : std::uint16_t {
  tls_1_2 = 0x0303,
  tls_1_3 = 0x0304,
};

/// What a server wants of its clients.
enum class client_certificates : std::uint8_t {
  ignored,   ///< does not ask for certificates
  optional,  ///< asks, and verifies a certificate that a client has
  required,  ///< asks, and refuses clients that have none
};

/// A certificate and its private key.
struct tls_identity {
  /// The certificate, followed by those of the authorities between it and a root.
  pem certificate_chain;
  /// The private key. If it is none, it is in the text of the chain.
  pem private_key;
  /// The password of the private key, if it is encrypted. foliot never asks for one at the terminal.
  std::string key_password;
};

/// How a context is made. The defaults are safe: a client verifies the server.
struct tls_options {
  /// The own certificate, followed by those of the authorities between it and a root. A server needs it; a client may
  /// have one.
  pem certificate_chain;
  /// The private key of the own certificate. If it is none, it is in the text of the chain.
  pem private_key;
  /// The password of the private key, if it is encrypted. foliot never asks for one at the terminal.
  std::string key_password;
  /// A server's further certificates. A client that asks for a host (SNI) gets the first certificate that has it in its
  /// subjectAltName, beginning with the own one above; and that one if none has it, or if the client asks for none. The
  /// order decides: a "*.example.com" comes before a "www.example.com" behind it.
  std::vector<tls_identity> further_identities;

  /// The roots to verify peers by. A client without any uses those of the system, by OpenSSL's rules (SSL_CERT_FILE,
  /// SSL_CERT_DIR).
  std::vector<pem> roots;
  /// Adds the system's roots to `roots`.
  bool system_roots = false;
  /// A client's: whether it verifies the server's certificate and name. Without it anybody may be the server.
  bool verify_server = true;
  /// A client's: for how many hosts it keeps, in memory, the session that the server has offered last, and resumes it
  /// in the next connect() to that host, at whichever port. The handshake then sends and verifies no certificate: what
  /// has happened to the certificate since it was verified, at most a day ago, is not noticed. A session of TLS 1.3 is
  /// used once (RFC 8446, C.4); connect() without one shakes hands in full. A server that answers such a handshake with
  /// an alert makes one connect() fail, and no further session of it is kept. The host that was not used for longest
  /// makes room. 0 keeps none.
  std::size_t resumed_hosts = 0;
  /// A server's.
  client_certificates from_clients = client_certificates::ignored;

  /// The protocols above TLS, best first, each of 1 to 255 bytes (ALPN), such as "h2". A server takes the first of its
  /// own that the client has, and refuses a client that has others only. A client without ALPN is served.
  std::vector<std::string> protocols;
  /// The oldest version.
  tls_version minimum = tls_version::tls_1_2;
  /// The newest version.
  tls_version maximum = tls_version::tls_1_3;
};

/// What TLS connections have in common. A value; see the head of this file.
class FOLIOT_EXPORT tls_context {
 public:
  /// No context: connections refuse it (errc::invalid_argument).
  tls_context() noexcept = default;
  /// For foliot itself.
  explicit tls_context(std::shared_ptr<const detail::context> state) noexcept : state_(std::move(state)) {}

  /// A context for tls_stream::connect(). Returns the error of a file, of OpenSSL, or tls_errc::no_certificate for PEM
  /// without any; errc::invalid_argument for protocols that are no ALPN, and for further identities of a client. Throws
  /// std::bad_alloc. Reads files, which blocks.
  [[nodiscard]] static std::expected<tls_context, std::error_code> client(const tls_options& options = {});
  /// A context for tls_stream::accept(). As client(); also tls_errc::no_roots if it is to verify clients and has no
  /// roots for it.
  [[nodiscard]] static std::expected<tls_context, std::error_code> server(const tls_options& options);

  /// Whether there is a context.
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }
  /// The own certificate, the first of its chain; none without a context, or if it has none. Throws std::bad_alloc.
  [[nodiscard]] std::optional<tls_certificate> own_certificate() const;
  /// For foliot itself.
  [[nodiscard]] const std::shared_ptr<const detail::context>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<const detail::context> state_;
};

}  // namespace foliot::tls
