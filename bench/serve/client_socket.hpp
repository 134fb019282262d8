// The socket of a client of the load generator, in plain or under TLS. After connect() its operations do not block.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "bench/owners.hpp"
#include "server_place.hpp"

namespace foliot::program::bench {

/// What clients know of the server that they speak TLS with: its certificate.
class tls_client {
 public:
  /// The certificate is in this file, as PEM; the server's must be that one. Throws failure, also if the program was
  /// built without OpenSSL.
  explicit tls_client(const std::filesystem::path& certificate);
  ~tls_client();
  tls_client(const tls_client&) = delete;
  tls_client& operator=(const tls_client&) = delete;

 private:
  friend class client_socket;
  struct context;
  std::unique_ptr<context> context_;
};

/// Whether the program was built with OpenSSL.
[[nodiscard]] bool has_tls() noexcept;
/// Makes a key and a certificate for 127.0.0.1 and localhost, as PEM, for a month, with the program openssl. Throws
/// failure.
void make_certificate(const std::filesystem::path& certificate, const std::filesystem::path& key);

class client_socket {
 public:
  client_socket() noexcept;
  client_socket(client_socket&&) noexcept;
  client_socket& operator=(client_socket&&) noexcept;
  ~client_socket();

  /// Connects, and shakes hands. Throws failure.
  void connect(const server_place& to);
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }

  enum class outcome : std::uint8_t {
    done,
    would_block,
    closed,  ///< by the server, or the connection has failed
  };
  struct progress {
    outcome what = outcome::done;
    std::size_t bytes = 0;
  };
  [[nodiscard]] progress send(std::string_view bytes);
  /// `into` must have room for a record of TLS, 16 KiB.
  [[nodiscard]] progress receive(std::span<char> into);

 private:
  struct session;

  void shake_hands(const server_place& with);

  owned_descriptor socket_{};
  std::shared_ptr<const tls_client> tls_{};
  std::unique_ptr<session> session_;  // null: in plain
};

}  // namespace foliot::program::bench
