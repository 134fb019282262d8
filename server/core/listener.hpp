// Where clients connect: an address at which the server listens, and how a connection that comes there becomes a
// byte_stream. An address that is a path may have the socket file of a server that was killed: it is removed.
//
//   listener gate = co_await listener::listen(at);        // in plain; under TLS with an opening of tls_certificates
//   auto socket = co_await gate.accept();                 // by one task at a time
//   auto peer = co_await gate.open(std::move(*socket));   // in the connection's own task
//
// Accepting and opening are two steps, because opening may take a handshake, and one client's handshake must not keep
// others from being accepted.
//
// Thread safety: one task accepts; any task may open and close.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/net/listener.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/task.hpp>

#include "byte_stream.hpp"

namespace foliot::program {

class listener {
 public:
  /// Makes a byte_stream of an accepted connection, by a handshake if need be. Null: the client has failed in it, and
  /// the connection is closed. It may be cancelled while it waits.
  using opening = std::function<task<std::unique_ptr<byte_stream>>(runtime::stream)>;

  /// Listens nowhere: accept() fails with io_errc::closed.
  listener() = default;
  /// Over a socket that listens already.
  explicit listener(runtime::listener at, opening how = in_plain) : socket_(std::move(at)), open_(std::move(how)) {}

  /// Listens there. Throws failure if that is not possible, with advice for an address that is in use.
  [[nodiscard]] static task<listener> listen(runtime::address at, opening how = in_plain);
  /// Connections as they come.
  static task<std::unique_ptr<byte_stream>> in_plain(runtime::stream accepted);

  /// The next connection. With a `patience` at most that long: io_errc::deadline_exceeded then.
  [[nodiscard]] task<runtime::or_error<runtime::stream>> accept(duration patience = duration::forever()) const;
  /// Opens a connection that was accepted here.
  [[nodiscard]] task<std::unique_ptr<byte_stream>> open(runtime::stream accepted) const {
    return open_(std::move(accepted));
  }

  /// Accepts no more connections; accept() returns io_errc::closed.
  void close() noexcept { socket_.close(); }
  /// The address, with the port that the system has chosen. Precondition: it listens.
  [[nodiscard]] std::string address() const { return socket_.local_address().value().to_string(); }

 private:
  runtime::listener socket_;
  opening open_;
};

/// Throws failure if the server cannot listen there. Asked before a node becomes known to the database: a server that
/// is started a second time by mistake must not end the reservations of the first one, whose name it has.
[[nodiscard]] task<> expect_free(const runtime::address& at);

}  // namespace foliot::program
