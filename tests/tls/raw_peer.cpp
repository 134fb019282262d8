#include "raw_peer.hpp"

#include <openssl/pem.h>

#include <array>

namespace foliot::test {

namespace {

const identity& server_identity() {
  static const identity one = issue({}, &authority());
  return one;
}

void use_identity(SSL_CTX* context, const identity& who) {
  BIO* const certificate = BIO_new_mem_buf(who.certificate.data(), -1);
  X509* const read = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
  BIO* const key = BIO_new_mem_buf(who.key.data(), -1);
  EVP_PKEY* const read_key = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
  EXPECT_EQ(SSL_CTX_use_certificate(context, read), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey(context, read_key), 1);
  EVP_PKEY_free(read_key);
  X509_free(read);
  BIO_free(key);
  BIO_free(certificate);
}

}  // namespace

raw_peer::raw_peer(runtime::stream below, side which, int newest)
    : below_(std::move(below)),
      context_(SSL_CTX_new(which == side::client ? TLS_client_method() : TLS_server_method())),
      ssl_(nullptr) {
  SSL_CTX_set_max_proto_version(context_, newest);
  if (which == side::server) use_identity(context_, server_identity());
  ssl_ = SSL_new(context_);
  SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  if (which == side::client) {
    SSL_set_connect_state(ssl_);
  } else {
    SSL_set_accept_state(ssl_);
  }
}

raw_peer::~raw_peer() {
  SSL_free(ssl_);
  SSL_CTX_free(context_);
}

task<> raw_peer::shake_hands() {
  for (;;) {
    const int result = SSL_do_handshake(ssl_);
    co_await send();
    if (result == 1) break;
    EXPECT_EQ(SSL_get_error(ssl_, result), SSL_ERROR_WANT_READ);
    const bool more = co_await receive();
    EXPECT_TRUE(more);
    if (!more) break;
  }
}

void raw_peer::encrypt(std::string_view text) {
  EXPECT_EQ(SSL_write(ssl_, text.data(), static_cast<int>(text.size())), static_cast<int>(text.size()));
}

std::string raw_peer::made() {
  std::string all;
  std::array<char, 4096> piece{};
  for (;;) {
    const int size = BIO_read(SSL_get_wbio(ssl_), piece.data(), static_cast<int>(piece.size()));
    if (size <= 0) return all;
    all.append(piece.data(), static_cast<std::size_t>(size));
  }
}

task<> raw_peer::send() {
  const std::string all = made();
  if (all.empty()) co_return;
  const auto sent = co_await below_.write_all(std::string_view(all));
  EXPECT_TRUE(sent.has_value());
}

task<bool> raw_peer::receive() {
  std::array<char, 4096> piece{};
  const auto got = co_await below_.read_some(std::span<char>(piece));
  if (!got || *got == 0) co_return false;
  BIO_write(SSL_get_rbio(ssl_), piece.data(), static_cast<int>(*got));
  co_return true;
}

task<std::string> raw_peer::read(std::size_t size) {
  std::string all;
  std::array<char, 4096> piece{};
  while (all.size() < size) {
    const int got = SSL_read(ssl_, piece.data(), static_cast<int>(piece.size()));
    if (got > 0) {
      all.append(piece.data(), static_cast<std::size_t>(got));
      continue;
    }
    if (SSL_get_error(ssl_, got) != SSL_ERROR_WANT_READ) break;
    const bool more = co_await receive();
    if (!more) break;
  }
  co_return all;
}

}  // namespace foliot::test
