// Reads certificates and keys in PEM into OpenSSL's contexts. Thread safety: each context is one thread's.
#pragma once

#include <string>
#include <system_error>

#include <foliot/tls/tls_context.hpp>

#include "openssl.hpp"

namespace foliot::tls::detail {

/// Gives the context its own certificate and those that follow it.
[[nodiscard]] std::error_code use_chain(SSL_CTX& context, const pem& chain);
/// Gives the context the private key of its own certificate. Returns OpenSSL's error if it is another one's.
[[nodiscard]] std::error_code use_key(SSL_CTX& context, const pem& key, const std::string& password);
/// Trusts the certificates in `roots`. If `names_them`, a server tells its clients their names.
[[nodiscard]] std::error_code trust(SSL_CTX& context, const pem& roots, bool names_them);

}  // namespace foliot::tls::detail
