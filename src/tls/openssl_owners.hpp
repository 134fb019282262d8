// The owners of OpenSSL's objects, for all that call OpenSSL itself.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

namespace foliot::tls::detail {

/// Frees an object of OpenSSL by that function.
template <auto Free>
struct freed_by {
  template <class Object>
  void operator()(Object* object) const noexcept {
    Free(object);
  }
};

using bio_ptr = std::unique_ptr<BIO, freed_by<BIO_free_all>>;
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using ssl_ptr = std::unique_ptr<SSL, freed_by<SSL_free>>;
using ssl_session_ptr = std::unique_ptr<SSL_SESSION, freed_by<SSL_SESSION_free>>;
using ssl_context_ptr = std::unique_ptr<SSL_CTX, freed_by<SSL_CTX_free>>;
using x509_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using x509_extension_ptr = std::unique_ptr<X509_EXTENSION, freed_by<X509_EXTENSION_free>>;

}  // namespace foliot::tls::detail
