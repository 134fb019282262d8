// OpenSSL for the sources of this folder: its headers, the owners of its objects (openssl_owners.hpp), and its errors
// as std::error_code.
//
// OpenSSL keeps a queue of errors for each thread. A task may continue in another thread after a wait, so the queue is
// emptied before each call that may fail, and read before anything else happens: begin_call(), the call, take_error().
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <system_error>

#include "openssl_owners.hpp"

namespace foliot::tls::detail {

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

}  // namespace foliot::tls::detail
