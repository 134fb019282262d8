#include <foliot/tls/tls_error.hpp>

#include <string>

#include <foliot/core/language.hpp>

#include "openssl.hpp"

namespace foliot::tls {

namespace {

// The values of the category: those of tls_errc, then the certificate errors, then OpenSSL's packed errors, the
// smallest of which is 1 << ERR_LIB_OFFSET.
constexpr int first_certificate_error = 1000;
constexpr int last_certificate_error = 1999;

const char* own_message(tls_errc what) noexcept {
  switch (what) {
    case tls_errc::truncated: return "the connection ended before the peer's close_notify";
    case tls_errc::too_many_answers: return "the peer asks for answers that it does not read";
    case tls_errc::no_certificate: return "there is no certificate";
    case tls_errc::no_roots: return "there are no roots to verify clients by";
    case tls_errc::no_private_key: return "there is no private key";
    case tls_errc::wrong_password: return "the private key is encrypted, and its password is missing or wrong";
  }
  return "unknown error";
}

class category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "foliot.tls"; }
  [[nodiscard]] std::string message(int what) const override {
    if (what < first_certificate_error) return own_message(static_cast<tls_errc>(what));
    if (what <= last_certificate_error) {
      return std::string("certificate verify failed: ") + X509_verify_cert_error_string(what - first_certificate_error);
    }
    const char* const reason = ERR_reason_error_string(static_cast<unsigned long>(what));
    return reason != nullptr ? reason : "error " + std::to_string(what) + " of OpenSSL";
  }
};

}  // namespace

const std::error_category& tls_category() noexcept {
  static const category one;
  return one;
}

bool is_certificate_error(std::error_code error) noexcept {
  return error.category() == tls_category() && error.value() >= first_certificate_error &&
         error.value() <= last_certificate_error;
}

namespace detail {

std::error_code certificate_error(long verify_result) noexcept {
  if (verify_result == X509_V_ERR_OUT_OF_MEM) return no_memory();
  return {first_certificate_error + static_cast<int>(verify_result), tls_category()};
}

std::error_code take_error(std::error_code otherwise) noexcept {
  const unsigned long first = ERR_get_error();  // the first one is the cause of those that follow
  bool finds_memory = true;                     // of which OpenSSL may tell after what it could not do without it
  for (unsigned long each = first; each != 0; each = ERR_get_error()) {
    if (!ERR_SYSTEM_ERROR(each) && ERR_GET_REASON(each) == ERR_R_MALLOC_FAILURE) finds_memory = false;
  }
  if (!finds_memory) return no_memory();
  if (first == 0) return otherwise;
  if (ERR_SYSTEM_ERROR(first)) return {ERR_GET_REASON(first), std::generic_category()};
  return {static_cast<int>(first), tls_category()};
}

}  // namespace detail

}  // namespace foliot::tls
