// OpenSSL for the sources of this folder: its headers, the owners of its objects, its errors as std::error_code, and
// its certificates as foliot's.
//
// OpenSSL keeps a queue of errors for each thread. A task may continue in another thread after a wait, so the queue is
// emptied before each call that may fail, and read before anything else happens: begin_call(), the call, take_error().
#pragma once

#include <foliot/tls/tls_certificate.hpp>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <system_error>

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

[[nodiscard]] inline std::error_code no_memory() noexcept { return std::make_error_code(std::errc::not_enough_memory); }
[[nodiscard]] inline std::error_code bad_argument() noexcept {
  return std::make_error_code(std::errc::invalid_argument);
}

/// Empties the thread's queue of errors.
inline void begin_call() noexcept {
  if (ERR_peek_error() != 0) ERR_clear_error();  // which wipes each entry of the queue
}
/// Why the call failed; `otherwise` if OpenSSL does not say. Empties the queue.
[[nodiscard]] std::error_code take_error(std::error_code otherwise) noexcept;
/// The error of a certificate that was not accepted, by OpenSSL's result of the verification.
[[nodiscard]] std::error_code certificate_error(long verify_result) noexcept;

/// The fields of the certificate; those that cannot be read are empty. Any thread: a certificate is immutable. Throws
/// std::bad_alloc.
[[nodiscard]] tls_certificate describe(X509& certificate);

}  // namespace foliot::tls::detail
