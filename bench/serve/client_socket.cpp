#include "client_socket.hpp"

#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "bench/child_process.hpp"
#include "text/failure.hpp"

#ifdef FOLIOT_HAS_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>

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

using tls::detail::ssl_context_ptr;
using tls::detail::ssl_ptr;

[[noreturn]] void throw_openssl(std::string_view what) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  throw failure(fmt::format("cannot {}: {}", what, reason == nullptr ? "OpenSSL does not say why" : reason));
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

void client_socket::shake_hands(const server_place& with) {
  tls_ = with.tls;
  session_ = std::make_unique<session>(ssl_ptr(SSL_new(tls_->context_->all.get())));
  SSL* const session = session_->with.get();
  if (session == nullptr || SSL_set_fd(session, socket_.get()) != 1) throw_openssl("speak TLS");
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &longest_handshake, sizeof longest_handshake);
  if (SSL_connect(session) != 1) throw_openssl("speak TLS with " + with.address.to_string());
  ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
}

#else

bool has_tls() noexcept { return false; }

struct tls_client::context {};
struct client_socket::session {};

tls_client::tls_client(const std::filesystem::path&) {
  throw failure("this program was built without OpenSSL: it has no TLS");
}
void client_socket::shake_hands(const server_place&) {}  // there is no tls_client

#endif

void make_certificate(const std::filesystem::path& certificate, const std::filesystem::path& key) {
  const child_outcome made = run_child(
      {.words = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
                 "30", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
                 key.string(), "-out", certificate.string()}},
      std::chrono::seconds(60));
  if (!made.wrong.empty()) throw failure("cannot make a certificate with openssl: " + made.wrong);
}

client_socket::progress client_socket::send(std::string_view bytes) {
#ifdef FOLIOT_HAS_TLS
  if (session_ != nullptr) {
    std::size_t sent = 0;
    const int result = SSL_write_ex(session_->with.get(), bytes.data(), bytes.size(), &sent);
    return result == 1 ? progress{outcome::done, sent} : outcome_of_session(session_->with.get(), result);
  }
#endif
  return outcome_of_call(::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

client_socket::progress client_socket::receive(std::span<char> into) {
#ifdef FOLIOT_HAS_TLS
  if (session_ != nullptr) {
    std::size_t got = 0;
    const int result = SSL_read_ex(session_->with.get(), into.data(), into.size(), &got);
    return result == 1 ? progress{outcome::done, got} : outcome_of_session(session_->with.get(), result);
  }
#endif
  return outcome_of_call(::recv(socket_.get(), into.data(), into.size(), MSG_DONTWAIT));
}

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
