#include "pem_files.hpp"

#include <openssl/pem.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <expected>
#include <vector>

#include <foliot/tls/tls_error.hpp>

namespace foliot::tls::detail {

namespace {

std::expected<bio_ptr, std::error_code> open(const pem& source) {
  begin_call();
  const std::string& value = source.value();
  bio_ptr opened;
  if (source.is_file()) {
    opened.reset(BIO_new_file(value.c_str(), "r"));
  } else {
    opened.reset(BIO_new_mem_buf(value.data(), static_cast<int>(value.size())));
  }
  if (!opened) return std::unexpected(take_error(no_memory()));
  return opened;
}

/// OpenSSL's own function asks at the terminal. `password` is a std::string.
int give_password(char* into, int room, int, void* password) noexcept {
  const auto& text = *static_cast<const std::string*>(password);
  if (text.empty() || text.size() > static_cast<std::size_t>(room)) return -1;
  std::memcpy(into, text.data(), text.size());
  return static_cast<int>(text.size());
}

bool is_end_of_pem() noexcept {
  const unsigned long error = ERR_peek_last_error();
  return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

/// What the reading of a key has as its password.
struct key_password {
  std::string text;
  bool is_asked_for = false;  ///< the key is encrypted
};

int give_key_password(char* into, int room, int writes, void* password) noexcept {
  auto& given = *static_cast<key_password*>(password);
  given.is_asked_for = true;
  return give_password(into, room, writes, &given.text);
}

/// Why no key could be read. OpenSSL says of a text without one that it does not support it.
std::error_code why_no_key(bool is_encrypted) noexcept {
  const unsigned long last = ERR_peek_last_error();
  const bool is_unsupported = ERR_GET_LIB(last) == ERR_LIB_OSSL_DECODER && ERR_GET_REASON(last) == ERR_R_UNSUPPORTED;
  const bool is_none = is_unsupported || is_end_of_pem();
  const std::error_code error = take_error(bad_argument());
  if (error == std::errc::not_enough_memory) return error;
  if (is_encrypted) return tls_errc::wrong_password;
  return is_none ? make_error_code(tls_errc::no_private_key) : error;
}

/// All certificates in the text, of which there must be one.
std::expected<std::vector<x509_ptr>, std::error_code> read_certificates(const pem& source) {
  const auto from = open(source);
  if (!from) return std::unexpected(from.error());
  std::vector<x509_ptr> all;
  std::string no_password;
  for (;;) {
    begin_call();
    x509_ptr next(PEM_read_bio_X509(from->get(), nullptr, give_password, &no_password));
    if (!next) break;
    all.push_back(std::move(next));
  }
  const bool ended = is_end_of_pem();
  const std::error_code error = take_error(bad_argument());
  if (!ended) return std::unexpected(error);
  if (all.empty()) return std::unexpected(make_error_code(tls_errc::no_certificate));
  return all;
}

}  // namespace

std::error_code use_chain(SSL_CTX& context, const pem& chain) {
  const auto all = read_certificates(chain);
  if (!all) return all.error();
  begin_call();
  if (SSL_CTX_use_certificate(&context, all->front().get()) != 1) return take_error(bad_argument());
  for (std::size_t i = 1; i < all->size(); ++i) {
    if (SSL_CTX_add1_chain_cert(&context, (*all)[i].get()) != 1) return take_error(bad_argument());
  }
  return {};
}

std::error_code use_key(SSL_CTX& context, const pem& key, const std::string& password) {
  const auto from = open(key);
  if (!from) return from.error();
  begin_call();
  key_password given{password};
  const key_ptr read(PEM_read_bio_PrivateKey(from->get(), nullptr, give_key_password, &given));
  OPENSSL_cleanse(given.text.data(), given.text.size());
  if (!read) return why_no_key(given.is_asked_for);
  begin_call();
  // Both calls compare the key with the certificate.
  if (SSL_CTX_use_PrivateKey(&context, read.get()) != 1 || SSL_CTX_check_private_key(&context) != 1) {
    return take_error(bad_argument());
  }
  return {};
}

std::error_code trust(SSL_CTX& context, const pem& roots, bool names_them) {
  const auto all = read_certificates(roots);
  if (!all) return all.error();
  begin_call();
  X509_STORE* const store = SSL_CTX_get_cert_store(&context);
  for (const x509_ptr& each : *all) {
    if (X509_STORE_add_cert(store, each.get()) != 1) return take_error(no_memory());
    if (names_them && SSL_CTX_add_client_CA(&context, each.get()) != 1) return take_error(no_memory());
  }
  return {};
}

}  // namespace foliot::tls::detail
