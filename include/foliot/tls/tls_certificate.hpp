// What a certificate says: for logs, and for programs that decide by it.
//
//   const auto who = peer.peer_certificate();
//   if (who) log("{} from {}", who->subject, who->issuer);
//
// Thread safety: a value.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace foliot::tls {

/// The fields of an X.509 certificate.
struct tls_certificate {
  /// The distinguished name as RFC 2253 writes it, such as "CN=example.com,O=Example".
  std::string subject;
  /// The same of the issuer.
  std::string issuer;
  /// The serial number, in hexadecimal digits.
  std::string serial_number;
  /// The DNS names and IP addresses of the extension subjectAltName, in its order.
  std::vector<std::string> names;
  /// The first second at which it is valid.
  std::chrono::sys_seconds not_before;
  /// The last second at which it is valid.
  std::chrono::sys_seconds not_after;
  /// The SHA-256 of the certificate's DER, in 64 hexadecimal digits.
  std::string fingerprint;
  /// The certificate itself, in PEM.
  std::string pem;
};

}  // namespace foliot::tls
