// A TLS peer that is OpenSSL alone, between two buffers of its own: the test sends what it makes when and how it likes,
// and makes it do what a tls_stream never does.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/task.hpp>

#include "certificates.hpp"

namespace foliot::test {

/// One end of a connection. One task's.
class raw_peer {
 public:
  enum class side : bool { client, server };
  /// A server has the certificate that test::client() accepts; a client accepts all. `newest` is a version of OpenSSL.
  raw_peer(runtime::stream below, side which, int newest = TLS1_3_VERSION);
  ~raw_peer();
  raw_peer(const raw_peer&) = delete;
  raw_peer& operator=(const raw_peer&) = delete;

  [[nodiscard]] SSL* ssl() const noexcept { return ssl_; }
  [[nodiscard]] runtime::stream& below() noexcept { return below_; }

  task<> shake_hands();
  /// Has OpenSSL encrypt the text into the buffer.
  void encrypt(std::string_view text);
  /// What OpenSSL has made since the last call.
  [[nodiscard]] std::string made();
  /// Sends made().
  task<> send();
  /// Reads until that much text has come, or the stream has ended.
  task<std::string> read(std::size_t size);
  /// Hands OpenSSL what the other side has sent; returns false at the end.
  task<bool> receive();

 private:
  runtime::stream below_;
  SSL_CTX* context_;
  SSL* ssl_;
};

}  // namespace foliot::test
