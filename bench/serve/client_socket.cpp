#include "client_socket.hpp"

#include <cerrno>
#include <cstdio>
#include <ctime>

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "text/failure.hpp"

#ifdef FOLIOT_HAS_TLS
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "tls/openssl.hpp"
#endif

namespace foliot::program::bench {

namespace {

/// A handshake is waited for so long.
constexpr timeval longest_handshake{60, 0};

client_socket::progress outcome_of_call(ssize_t result) noexcept {
  using enum client_socket::outcome;
  if (result > 0) return {done, static_cast<std::size_t>(result)};
  if (result < 0 && (errno == EAGAIN || errno == EINTR)) return {would_block, 0};
  return {closed, 0};
}

#ifdef FOLIOT_HAS_TLS

using tls::detail::key_ptr;
using tls::detail::ssl_context_ptr;
using tls::detail::ssl_ptr;
using tls::detail::x509_extension_ptr;
using tls::detail::x509_ptr;

[[noreturn]] void throw_openssl(std::string_view what) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  throw failure(fmt::format("cannot {}: {}", what, reason == nullptr ? "OpenSSL does not say why" : reason));
}

/// A file that only its owner can read, from its first byte on.
class private_file {
 public:
  explicit private_file(const std::filesystem::path& name)
      : file_(::fdopen(::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), "w")) {
    if (file_ == nullptr) throw system_failure("write", name.string(), errno);
  }
  private_file(const private_file&) = delete;
  private_file& operator=(const private_file&) = delete;
  ~private_file() { std::fclose(file_); }

  [[nodiscard]] std::FILE* get() const noexcept { return file_; }

 private:
  std::FILE* const file_;
};

x509_ptr new_certificate(EVP_PKEY* key) {
  constexpr long month = 30L * 24 * 3600;
  x509_ptr made(X509_new());
  if (made == nullptr || X509_set_version(made.get(), X509_VERSION_3) != 1 ||
      ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1) != 1 ||
      X509_gmtime_adj(X509_getm_notBefore(made.get()), -3600) == nullptr ||
      X509_gmtime_adj(X509_getm_notAfter(made.get()), month) == nullptr || X509_set_pubkey(made.get(), key) != 1) {
    throw_openssl("make a certificate");
  }
  X509_NAME* const name = X509_get_subject_name(made.get());
  const auto* const text = reinterpret_cast<const unsigned char*>("localhost");
  const x509_extension_ptr names(
      X509V3_EXT_nconf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1"));
  if (X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) != 1 ||
      X509_set_issuer_name(made.get(), name) != 1 || names == nullptr ||
      X509_add_ext(made.get(), names.get(), -1) != 1 || X509_sign(made.get(), key, EVP_sha256()) == 0) {
    throw_openssl("make a certificate");
  }
  return made;
}

client_socket::progress outcome_of_session(SSL* session, int result) noexcept {
  using enum client_socket::outcome;
  const int error = SSL_get_error(session, result);
  ERR_clear_error();
  return {error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? would_block : closed, 0};
}

#endif

}  // namespace

#ifdef FOLIOT_HAS_TLS

bool has_tls() noexcept { return true; }

struct tls_client::context {
  ssl_context_ptr all{SSL_CTX_new(TLS_client_method())};
};
struct client_socket::session {
  ssl_ptr with;
};

tls_client::tls_client(const std::filesystem::path& certificate) : context_(std::make_unique<context>()) {
  SSL_CTX* const all = context_->all.get();
  if (all == nullptr || SSL_CTX_set_min_proto_version(all, TLS1_2_VERSION) != 1 ||
      SSL_CTX_load_verify_locations(all, certificate.c_str(), nullptr) != 1) {
    throw_openssl("use the certificate " + certificate.string());
  }
  SSL_CTX_set_verify(all, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(all, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
}

void make_certificate(const std::filesystem::path& certificate, const std::filesystem::path& key) {
  const key_ptr own(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  if (own == nullptr) throw_openssl("make a key");
  const x509_ptr made = new_certificate(own.get());
  const private_file key_file(key);
  const private_file certificate_file(certificate);
  if (PEM_write_PrivateKey(key_file.get(), own.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      PEM_write_X509(certificate_file.get(), made.get()) != 1) {
    throw_openssl("write the certificate " + certificate.string());
  }
}

void client_socket::shake_hands(const server_place& with) {
  tls_ = with.tls;
  session_ = std::make_unique<session>(ssl_ptr(SSL_new(tls_->context_->all.get())));
  SSL* const session = session_->with.get();
  if (session == nullptr || SSL_set_fd(session, socket_.get()) != 1) throw_openssl("speak TLS");
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &longest_handshake, sizeof longest_handshake);
  if (SSL_connect(session) != 1) throw_openssl("speak TLS with " + with.address.to_string());
  ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
}

client_socket::progress client_socket::send(std::string_view bytes) {
  if (session_ == nullptr) {
    return outcome_of_call(::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
  }
  std::size_t sent = 0;
  const int result = SSL_write_ex(session_->with.get(), bytes.data(), bytes.size(), &sent);
  return result == 1 ? progress{outcome::done, sent} : outcome_of_session(session_->with.get(), result);
}

client_socket::progress client_socket::receive(std::span<char> into) {
  if (session_ == nullptr) return outcome_of_call(::recv(socket_.get(), into.data(), into.size(), MSG_DONTWAIT));
  std::size_t got = 0;
  const int result = SSL_read_ex(session_->with.get(), into.data(), into.size(), &got);
  return result == 1 ? progress{outcome::done, got} : outcome_of_session(session_->with.get(), result);
}

#else

bool has_tls() noexcept { return false; }

struct tls_client::context {};
struct client_socket::session {};

namespace {

[[noreturn]] void throw_without_tls() { throw failure("this program was built without OpenSSL: it has no TLS"); }

}  // namespace

tls_client::tls_client(const std::filesystem::path&) { throw_without_tls(); }
void make_certificate(const std::filesystem::path&, const std::filesystem::path&) { throw_without_tls(); }
void client_socket::shake_hands(const server_place&) { throw_without_tls(); }

client_socket::progress client_socket::send(std::string_view bytes) {
  return outcome_of_call(::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}
client_socket::progress client_socket::receive(std::span<char> into) {
  return outcome_of_call(::recv(socket_.get(), into.data(), into.size(), MSG_DONTWAIT));
}

#endif

tls_client::~tls_client() = default;
client_socket::client_socket() noexcept = default;
client_socket::client_socket(client_socket&&) noexcept = default;
client_socket& client_socket::operator=(client_socket&&) noexcept = default;
client_socket::~client_socket() = default;

void client_socket::connect(const server_place& to) {
  const auto* const at = static_cast<const sockaddr*>(to.address.system().data());
  socket_ = owned_descriptor(::socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket_.get() < 0) throw system_failure("make a socket for", to.address.to_string(), errno);
  if (::connect(socket_.get(), at, to.address.system().size()) != 0) {
    throw system_failure("connect to", to.address.to_string(), errno);
  }
  const int on = 1;
  if (at->sa_family != AF_UNIX) ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (to.tls != nullptr) shake_hands(to);
}

}  // namespace foliot::program::bench
