// From OpenSSL's certificates to foliot's. Thread safety: any thread; a certificate is immutable.
#pragma once

#include <foliot/tls/tls_certificate.hpp>

#include "openssl.hpp"

namespace foliot::tls::detail {

/// The fields of the certificate; those that cannot be read are empty. Throws std::bad_alloc.
[[nodiscard]] tls_certificate describe(X509& certificate);

}  // namespace foliot::tls::detail
