#include "certificates.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <stdexcept>

#include "tls/openssl.hpp"

namespace foliot::test {

namespace {

using tls::detail::bio_ptr;
using tls::detail::key_ptr;
using tls::detail::x509_extension_ptr;
using tls::detail::x509_ptr;

void check(bool well) {
  if (!well) throw std::runtime_error("OpenSSL cannot make the certificates of this test");
}

std::string text_of(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

bio_ptr reading(const std::string& text) {
  return bio_ptr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

key_ptr key_of(const identity& whose) {
  return key_ptr(PEM_read_bio_PrivateKey(reading(whose.key).get(), nullptr, nullptr, nullptr));
}

void extend(X509& made, X509& issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &issuer, &made, nullptr, nullptr, 0);
  const x509_extension_ptr extension(X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str()));
  check(extension != nullptr && X509_add_ext(&made, extension.get(), -1) == 1);
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& each : names) all += (all.empty() ? "" : ",") + each;
  return all;
}

}  // namespace

identity issue(const wish& what, const identity* issuer) {
  static long serial = 1000;
  const key_ptr key(what.rsa ? EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{2048})
                             : EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  const x509_ptr made(X509_new());
  check(key != nullptr && made != nullptr);
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), what.first_day * 86'400L);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), what.last_day * 86'400L);
  X509_set_pubkey(made.get(), key.get());
  X509_NAME* const name = X509_get_subject_name(made.get());
  const std::vector<unsigned char> text(what.common_name.begin(), what.common_name.end());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text.data(), static_cast<int>(text.size()), -1, 0);

  x509_ptr signer;
  if (issuer != nullptr) {
    signer.reset(PEM_read_bio_X509(reading(issuer->certificate).get(), nullptr, nullptr, nullptr));
    check(signer != nullptr);
  }
  X509& by = signer != nullptr ? *signer : *made;
  X509_set_issuer_name(made.get(), X509_get_subject_name(&by));
  extend(*made, by, NID_basic_constraints, what.authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (!what.names.empty()) extend(*made, by, NID_subject_alt_name, joined(what.names));
  const key_ptr signing = issuer != nullptr ? key_of(*issuer) : key_ptr();
  check(X509_sign(made.get(), signing != nullptr ? signing.get() : key.get(), EVP_sha256()) > 0);

  const bio_ptr certificate_text(BIO_new(BIO_s_mem()));
  const bio_ptr key_text(BIO_new(BIO_s_mem()));
  check(PEM_write_bio_X509(certificate_text.get(), made.get()) == 1);
  check(PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return {text_of(certificate_text.get()), text_of(key_text.get())};
}

std::string encrypted_key(const identity& whose, const std::string& password) {
  const bio_ptr out(BIO_new(BIO_s_mem()));
  const key_ptr key = key_of(whose);
  std::string copy = password;
  check(PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), EVP_aes_128_cbc(), copy.data(),
                                      static_cast<int>(copy.size()), nullptr, nullptr) == 1);
  return text_of(out.get());
}

const identity& authority() {
  static const identity one = issue({.common_name = "authority", .names = {}, .authority = true}, nullptr);
  return one;
}
const identity& other_authority() {
  static const identity one = issue({.common_name = "other authority", .names = {}, .authority = true}, nullptr);
  return one;
}

tls::tls_options identified(const identity& who) {
  tls::tls_options options;
  options.certificate_chain = tls::pem::text(who.certificate);
  options.private_key = tls::pem::text(who.key);
  return options;
}
tls::tls_options trusting() {
  tls::tls_options options;
  options.roots.push_back(tls::pem::text(authority().certificate));
  return options;
}
const tls::tls_context& server() {
  static const tls::tls_context one = tls::tls_context::server(identified(issue({}, &authority()))).value();
  return one;
}
const tls::tls_context& client() {
  static const tls::tls_context one = tls::tls_context::client(trusting()).value();
  return one;
}

}  // namespace foliot::test
