#include <foliot/tls/tls_context.hpp>

#include <openssl/x509v3.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <expected>
#include <span>
#include <utility>
#include <vector>

#include <foliot/tls/tls_error.hpp>
#include <openssl/pem.h>

#include "context.hpp"
#include "openssl.hpp"
#include "session.hpp"

namespace foliot::tls::detail {

namespace {

// Reads certificates and keys in PEM into OpenSSL's contexts, each of which is one thread's.

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

/// Gives the context its own certificate and those that follow it.
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

/// Gives the context the private key of its own certificate. Returns OpenSSL's error if it is another one's.
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

/// Trusts the certificates in `roots`. If `names_them`, a server tells its clients their names.
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

}  // namespace

}  // namespace foliot::tls::detail

namespace foliot::tls {

namespace {

using detail::bad_argument;
using detail::begin_call;
using detail::context;
using detail::no_memory;
using detail::role;
using detail::ssl_context_ptr;
using detail::take_error;

/// Sets `into` to the list as TLS has it: each name after a byte with its length.
std::error_code encode_protocols(const std::vector<std::string>& names, std::vector<unsigned char>& into) {
  constexpr std::size_t longest_name = 255;
  constexpr std::size_t longest_list = 65'535;
  for (const std::string& name : names) {
    if (name.empty() || name.size() > longest_name) return bad_argument();
    into.push_back(static_cast<unsigned char>(name.size()));
    into.insert(into.end(), name.begin(), name.end());
  }
  return into.size() > longest_list ? bad_argument() : std::error_code();
}

/// The first name of a list of protocols, with its length before it; the list goes on behind it. Nothing for a list
/// that is malformed.
std::span<const unsigned char> first_name(std::span<const unsigned char> list) noexcept {
  if (list.empty() || list.size() < std::size_t{1} + list[0]) return {};
  return list.first(std::size_t{1} + list[0]);
}

/// OpenSSL's callback in a server: the first own protocol that the client has. SSL_select_next_proto() would also
/// return a protocol if there is none in common.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* length, const unsigned char* offered,
                    unsigned int offered_size, void* own) noexcept {
  std::span<const unsigned char> ours = static_cast<const context*>(own)->protocols;
  for (auto name = first_name(ours); !name.empty(); name = first_name(ours)) {
    std::span<const unsigned char> theirs(offered, offered_size);
    for (auto other = first_name(theirs); !other.empty(); other = first_name(theirs)) {
      if (std::ranges::equal(name, other)) {
        *chosen = name.data() + 1;  // OpenSSL copies it
        *length = name[0];
        return SSL_TLSEXT_ERR_OK;
      }
      theirs = theirs.subspan(other.size());
    }
    ours = ours.subspan(name.size());
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

std::error_code set_protocols(context& made, const std::vector<std::string>& names) {
  if (names.empty()) return {};
  if (const std::error_code error = encode_protocols(names, made.protocols)) return error;
  if (made.side == role::server) {
    SSL_CTX_set_alpn_select_cb(made.ssl.get(), choose_protocol, &made);
    return {};
  }
  // Unlike other functions it returns 0 if all is well.
  const auto size = static_cast<unsigned>(made.protocols.size());
  return SSL_CTX_set_alpn_protos(made.ssl.get(), made.protocols.data(), size) == 0 ? std::error_code() : no_memory();
}

std::error_code set_identity(SSL_CTX& ssl, const tls_identity& own) {
  if (const std::error_code error = detail::use_chain(ssl, own.certificate_chain)) return error;
  return detail::use_key(ssl, own.private_key.is_none() ? own.certificate_chain : own.private_key, own.key_password);
}

bool is_for_host(const SSL_CTX& one, const char* host) noexcept {
  // X509_check_host() does not change the certificate, but takes it without const.
  X509* const certificate = SSL_CTX_get0_certificate(&one);
  return X509_check_host(certificate, host, 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr) == 1;
}

/// OpenSSL's callback in a server, before it sends its certificate. Returns 0 to refuse the client.
int choose_identity(SSL* peer, void* own) noexcept {
  const auto& ours = *static_cast<const context*>(own);
  const char* const host = SSL_get_servername(peer, TLSEXT_NAMETYPE_host_name);
  if (host == nullptr || is_for_host(*ours.ssl, host)) return 1;
  for (const auto& each : ours.further) {
    if (!is_for_host(*each, host)) continue;
    STACK_OF(X509)* chain = nullptr;
    if (SSL_CTX_get0_chain_certs(each.get(), &chain) != 1) return 0;
    SSL_certs_clear(peer);  // else OpenSSL may prefer the own certificate, if its key is of another kind
    return SSL_use_cert_and_key(peer, SSL_CTX_get0_certificate(each.get()), SSL_CTX_get0_privatekey(each.get()), chain,
                                1);
  }
  return 1;
}

std::error_code set_further_identities(context& made, const std::vector<tls_identity>& identities) {
  if (made.side == role::client && !identities.empty()) return bad_argument();
  for (const tls_identity& each : identities) {
    if (each.certificate_chain.is_none()) return tls_errc::no_certificate;
    begin_call();
    ssl_context_ptr holder(SSL_CTX_new(TLS_server_method()));
    if (holder == nullptr) return take_error(no_memory());
    if (const std::error_code error = set_identity(*holder, each)) return error;
    made.further.push_back(std::move(holder));
  }
  if (!made.further.empty()) SSL_CTX_set_cert_cb(made.ssl.get(), choose_identity, &made);
  return {};
}

std::error_code set_roots(SSL_CTX& ssl, const tls_options& options, role side) {
  for (const pem& each : options.roots) {
    if (const std::error_code error = detail::trust(ssl, each, side == role::server)) return error;
  }
  if (options.system_roots || (side == role::client && options.roots.empty())) {
    begin_call();
    if (SSL_CTX_set_default_verify_paths(&ssl) != 1) return take_error(no_memory());
  }
  return {};
}

std::error_code set_verification(context& made, const tls_options& options) {
  int mode = SSL_VERIFY_NONE;
  if (made.side == role::client) {
    if (options.verify_server) mode = SSL_VERIFY_PEER;
  } else if (options.from_clients != client_certificates::ignored) {
    mode = SSL_VERIFY_PEER;
    if (options.from_clients == client_certificates::required) mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    if (options.roots.empty() && !options.system_roots) return tls_errc::no_roots;
  }
  made.verifies = mode != SSL_VERIFY_NONE;
  SSL_CTX_set_verify(made.ssl.get(), mode, nullptr);
  return made.verifies ? set_roots(*made.ssl, options, made.side) : std::error_code();
}

std::error_code set_up(context& made, const tls_options& options) {
  SSL_CTX& ssl = *made.ssl;
  if (SSL_CTX_set_min_proto_version(&ssl, static_cast<int>(options.minimum)) != 1 ||
      SSL_CTX_set_max_proto_version(&ssl, static_cast<int>(options.maximum)) != 1) {
    return bad_argument();
  }
  SSL_CTX_set_options(&ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // An idle connection has no buffers. A write that had to stop may be given up: the next one has other bytes.
  SSL_CTX_set_mode(&ssl,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_ENABLE_PARTIAL_WRITE);
  if (made.side == role::server) {
    // Without a name a server that verifies clients refuses every session that a client resumes.
    static constexpr unsigned char name[] = "foliot";
    SSL_CTX_set_session_id_context(&ssl, name, sizeof(name) - 1);
  }
  if (made.sessions.keeps_any()) {
    SSL_CTX_set_session_cache_mode(&ssl, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(&ssl, detail::session::take_offer);
  }
  if (made.side == role::server && options.certificate_chain.is_none()) return tls_errc::no_certificate;
  if (!options.certificate_chain.is_none()) {
    const std::error_code error =
        set_identity(ssl, {options.certificate_chain, options.private_key, options.key_password});
    if (error) return error;
  }
  if (const std::error_code error = set_further_identities(made, options.further_identities)) return error;
  if (const std::error_code error = set_verification(made, options)) return error;
  return set_protocols(made, options.protocols);
}

std::expected<tls_context, std::error_code> make(role side, const tls_options& options) {
  const auto made = std::make_shared<context>(side, side == role::client ? options.resumed_hosts : 0);
  begin_call();
  made->ssl.reset(SSL_CTX_new(side == role::client ? TLS_client_method() : TLS_server_method()));
  if (made->ssl == nullptr) return std::unexpected(take_error(no_memory()));
  if (const std::error_code error = set_up(*made, options)) return std::unexpected(error);
  return tls_context(made);
}

}  // namespace

std::expected<tls_context, std::error_code> tls_context::client(const tls_options& options) {
  return make(role::client, options);
}
std::expected<tls_context, std::error_code> tls_context::server(const tls_options& options) {
  return make(role::server, options);
}

std::optional<tls_certificate> tls_context::own_certificate() const {
  X509* const own = state_ != nullptr ? SSL_CTX_get0_certificate(state_->ssl.get()) : nullptr;
  if (own == nullptr) return std::nullopt;
  return detail::describe(*own);
}

}  // namespace foliot::tls
