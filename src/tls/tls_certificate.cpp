#include <foliot/tls/tls_certificate.hpp>

#include <arpa/inet.h>
#include <openssl/asn1.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <array>
#include <cstddef>
#include <ctime>
#include <span>

#include "openssl.hpp"

namespace foliot::tls::detail {

namespace {

std::string text_of(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  return size > 0 ? std::string(bytes, static_cast<std::size_t>(size)) : std::string();
}

std::string name_text(const X509_NAME* name) {
  const bio_ptr out(BIO_new(BIO_s_mem()));
  if (out == nullptr || X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) < 0) return {};
  return text_of(out.get());
}

std::string hexadecimal(std::span<const unsigned char> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const unsigned char each : bytes) {
    text.push_back(digits[each >> 4]);
    text.push_back(digits[each & 15]);
  }
  return text;
}

std::span<const unsigned char> bytes_of(const ASN1_STRING* string) noexcept {
  return {ASN1_STRING_get0_data(string), static_cast<std::size_t>(ASN1_STRING_length(string))};
}

std::chrono::sys_seconds second(const ASN1_TIME* time) noexcept {
  std::tm fields{};
  if (ASN1_TIME_to_tm(time, &fields) != 1) return {};
  const std::chrono::year_month_day day(std::chrono::year(fields.tm_year + 1900),
                                        std::chrono::month(static_cast<unsigned>(fields.tm_mon + 1)),
                                        std::chrono::day(static_cast<unsigned>(fields.tm_mday)));
  return std::chrono::sys_days(day) + std::chrono::hours(fields.tm_hour) + std::chrono::minutes(fields.tm_min) +
         std::chrono::seconds(fields.tm_sec);
}

std::string ip_text(std::span<const unsigned char> bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_v6 = bytes.size() == 16;
  if (!is_v6 && bytes.size() != 4) return {};
  if (::inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes.data(), text.data(), text.size()) == nullptr) return {};
  return text.data();
}

std::vector<std::string> alternative_names(const X509* certificate) {
  std::vector<std::string> all;
  const std::unique_ptr<GENERAL_NAMES, freed_by<GENERAL_NAMES_free>> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (names == nullptr) return all;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int kind = 0;
    const void* const value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &kind);
    if (kind != GEN_DNS && kind != GEN_IPADD) continue;
    const auto bytes = bytes_of(static_cast<const ASN1_STRING*>(value));
    all.push_back(kind == GEN_IPADD ? ip_text(bytes) : std::string(bytes.begin(), bytes.end()));
  }
  return all;
}

}  // namespace

tls_certificate describe(X509& certificate) {
  begin_call();
  tls_certificate text;
  text.subject = name_text(X509_get_subject_name(&certificate));
  text.issuer = name_text(X509_get_issuer_name(&certificate));
  text.serial_number = hexadecimal(bytes_of(X509_get0_serialNumber(&certificate)));
  text.names = alternative_names(&certificate);
  text.not_before = second(X509_get0_notBefore(&certificate));
  text.not_after = second(X509_get0_notAfter(&certificate));
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (X509_digest(&certificate, EVP_sha256(), digest.data(), &size) == 1) {
    text.fingerprint = hexadecimal(std::span(digest).first(size));
  }
  const bio_ptr out(BIO_new(BIO_s_mem()));
  if (out != nullptr && PEM_write_bio_X509(out.get(), &certificate) == 1) text.pem = text_of(out.get());
  begin_call();
  return text;
}

}  // namespace foliot::tls::detail
