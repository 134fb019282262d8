// Certificates of all kinds, made in memory. They are valid from yesterday for a month, unless asked for otherwise.
#pragma once

#include <string>
#include <vector>

#include <foliot/tls/tls_context.hpp>

namespace foliot::test {

/// What a certificate is to say.
struct wish {
  std::string common_name = "server";
  std::vector<std::string> names = {"DNS:localhost", "DNS:*.example.com", "IP:127.0.0.1", "IP:::1"};
  int first_day = -1;  // from today
  int last_day = 30;
  bool authority = false;
  bool rsa = false;  // the kind of its key; else on the curve P-256
};

/// A certificate and its key.
struct identity {
  std::string certificate;
  std::string key;
};

/// A certificate that `issuer` has signed, or if that is nullptr, its own key.
[[nodiscard]] identity issue(const wish& what, const identity* issuer);
/// The key, encrypted with the password.
[[nodiscard]] std::string encrypted_key(const identity& whose, const std::string& password);

/// The authority that most tests trust, and another one. Made at the first call.
[[nodiscard]] const identity& authority();
[[nodiscard]] const identity& other_authority();

/// Options of a server with that identity.
[[nodiscard]] tls::tls_options identified(const identity& who);
/// Options of a client that trusts authority().
[[nodiscard]] tls::tls_options trusting();
/// The server for localhost, by authority(), and a client that trusts it. Made at the first call.
[[nodiscard]] const tls::tls_context& server();
[[nodiscard]] const tls::tls_context& client();

}  // namespace foliot::test
