// Where a server is, and how a client comes there: the transport below the protocol. The functions here make endpoints
// without TLS, and those of tls_endpoint.hpp with it. A test makes an endpoint of its own, with a server of its choice.
//
//   client_options options;
//   options.server = endpoint_at(runtime::address::parse("unix:/run/jobs.sock").value());
//   options.server = endpoint_at("jobs.example.com", 11300);
//
// Thread safety: an endpoint is a value; its function is called by one task at a time of each client. A transport is
// used by one task at a time.
#pragma once

#include <foliot/core/language.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/net/connection.hpp>
#include <foliot/runtime/net/io_error.hpp>
#include <foliot/runtime/task.hpp>

namespace foliot::client {

/// A connection with a server: bytes in both directions. The destructor closes it.
class FOLIOT_EXPORT transport {
 public:
  transport() noexcept = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;
  virtual ~transport();

  /// Waits until there is data, and reads at most into.size() bytes. Returns how much; 0 if the server writes no more.
  [[nodiscard]] virtual runtime::task<runtime::or_error<std::size_t>> read_some(std::span<char> into) = 0;
  /// Waits until there is room, and writes as much as there is room for. Returns how much. After an error the server
  /// cannot have all of `from`.
  [[nodiscard]] virtual runtime::task<runtime::or_error<std::size_t>> write_some(std::string_view from) = 0;
  /// Reads and writes that wait then, and later ones, fail with io_errc::deadline_exceeded; never() removes it.
  virtual void set_deadline(instant deadline) = 0;
  /// Whether it is known, without reading, that the server has closed the connection.
  [[nodiscard]] virtual bool peer_has_ended() const noexcept = 0;
};

/// A transport over a runtime::stream or a tls::tls_stream.
template <std::derived_from<runtime::connection> Stream>
class transport_over final : public transport {
 public:
  /// Takes the stream over.
  explicit transport_over(Stream stream) noexcept : stream_(std::move(stream)) {}

  [[nodiscard]] runtime::task<runtime::or_error<std::size_t>> read_some(std::span<char> into) override {
    return stream_.read_some(into);
  }
  [[nodiscard]] runtime::task<runtime::or_error<std::size_t>> write_some(std::string_view from) override {
    return stream_.write_some(from);
  }
  void set_deadline(instant deadline) override { stream_.set_deadline(deadline); }
  [[nodiscard]] bool peer_has_ended() const noexcept override { return stream_.peer_has_ended(); }

 private:
  Stream stream_;
};

/// What a connect() comes to.
using connected = runtime::or_error<std::unique_ptr<transport>>;

/// A server, as a client finds it.
struct endpoint {
  /// For errors: "jobs.example.com:11300".
  std::string name{};
  /// How it is connected to, if not in plain, as a part of a sentence: " by TLS as 'jobs.example.com'".
  std::string way{};
  /// Connects by the deadline, and shakes hands if the endpoint has TLS. Called for each connection.
  std::function<runtime::task<connected>(instant deadline)> connect{};
};

/// A server at this address: `127.0.0.1:11300`, `unix:/run/jobs.sock`.
[[nodiscard]] FOLIOT_EXPORT endpoint endpoint_at(const runtime::address& server);
/// A server at a host, whose name is looked up for each connection; all its addresses are tried.
[[nodiscard]] FOLIOT_EXPORT endpoint endpoint_at(std::string host, std::uint16_t port);

}  // namespace foliot::client
