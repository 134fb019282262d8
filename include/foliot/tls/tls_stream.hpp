// A connection with TLS. Used as a stream (foliot/runtime/net/stream.hpp), with the same functions for reading and
// writing; the differences are below.
//
//   auto connection = co_await stream::connect(where);
//   …
//   auto peer = co_await tls_stream::connect(std::move(*connection), context, "example.com");
//   if (!peer) …                                           // peer.error().message(): "certificate has expired", …
//   const auto sent = co_await peer->write_all(request);
//   …
//   const auto ended = co_await peer->shutdown();          // both sides have said that they write no more
//
// The end: read_some() returns 0 once the peer has said that it writes no more (close_notify). A connection that ends
// without that fails with tls_errc::truncated, as somebody may have cut it. So does a peer that only calls close() or
// destroys its stream: call close_write() or shutdown() before.
//
// Errors: std::error_code, of TLS (tls_error.hpp), io_errc or of the system; nothing raises SIGPIPE. After an error of
// TLS other than `truncated` every operation returns that error. A client learns of a server that refuses its
// certificate by the first read, not by connect(): so is TLS 1.3.
//
// Deadlines, and `cancelled` in a task that is asked to stop: as a stream's, for the whole operation. Reads end by the
// read deadline; write_some, write_all, close_write and update_keys by the write deadline, also while they wait for the
// peer to send the rest of a message of TLS. The tls_stream stays usable afterwards. A read has then read nothing
// (read_all: possibly a part). A write may have written a part; what TLS has made of it goes out before the next write.
// During connect() and accept() either of them closes the connection.
//
// Thread safety: one task may read while others write, and any task may set deadlines and call close(). A second task
// that reads meanwhile gets std::logic_error. Writes of several tasks follow each other, each in one piece. An
// operation keeps the connection alive: the tls_stream may be moved, closed or destroyed meanwhile, but the buffer must
// stay. Moving and destroying need the object for oneself. It must be used inside of the runtime that the stream was
// made in.
//
// A read never waits for the peer to read: answers of TLS to the peer (alerts) are sent by a task of their own if they
// have to wait. A write may have to wait until the peer has sent the rest of a message of TLS. A server's session
// tickets go out with its first write.
//
// Memory: a buffer of 16 KiB, OpenSSL's own (some 20 KiB, and while it reads or writes 34 KiB more), and at most one
// record of what is being written. Cost: that of OpenSSL, a copy, and a lock.
#pragma once

#include <foliot/core/language.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/net/connection.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/tls/tls_certificate.hpp>
#include <foliot/tls/tls_context.hpp>
#include <foliot/tls/tls_error.hpp>

namespace foliot::tls {

namespace detail {
class session;
}  // namespace detail

/// A value, or an error.
using runtime::or_error;

/// Whose keys tls_stream::update_keys() renews.
enum class renewed_keys : std::uint8_t {
  own,   ///< those of what this side writes
  both,  ///< also those of the peer, which renews them before it writes again
};

/// One end of a connection with TLS. Move-only; the destructor closes it.
class FOLIOT_EXPORT tls_stream : public runtime::connection {
 public:
  /// No connection: every operation fails with io_errc::closed.
  tls_stream() noexcept = default;
  /// For foliot itself.
  explicit tls_stream(std::shared_ptr<detail::session> session) noexcept;

  /// Makes a TLS connection to the server at the other end of `below`, which is moved from. The server's certificate
  /// must be valid for `host`, a DNS name or an IP address; a name is also sent to the server (SNI). International
  /// names are given in their ASCII form. Names are looked for in the certificate's subjectAltName only. The deadlines
  /// of `below` are replaced by `deadline`, and are none afterwards.
  ///
  /// Returns io_errc::deadline_exceeded, errors of TLS, and errc::invalid_argument for a server's context, or for a
  /// host that is no name or is longer than 253 bytes; it may be empty only if the context does not verify servers.
  /// `below` is closed then.
  [[nodiscard]] static task<or_error<tls_stream>> connect(runtime::stream&& below, const tls_context& context,
                                                          std::string_view host, instant deadline = instant::never());
  /// The server's side of connect(). A client whose certificate is not accepted may be sending already: what it sends
  /// is dropped until it has read the alert and closes, for at most a second, because it might not get the alert if the
  /// system reset the connection.
  [[nodiscard]] static task<or_error<tls_stream>> accept(runtime::stream&& below, const tls_context& context,
                                                         instant deadline = instant::never());

  /// Waits until there is data, and reads at most into.size() bytes of it. Returns how much; 0 if the peer writes no
  /// more, or if `into` is empty.
  [[nodiscard]] task<or_error<std::size_t>> read_some(std::span<std::byte> into) const;
  /// The same for characters.
  [[nodiscard]] task<or_error<std::size_t>> read_some(std::span<char> into) const {
    return read_some(std::as_writable_bytes(into));
  }
  /// Reads until `into` is full. Returns less than into.size() if the peer writes no more. After an error it is unknown
  /// how much was read.
  [[nodiscard]] task<or_error<std::size_t>> read_all(std::span<std::byte> into) const;
  /// The same for characters.
  [[nodiscard]] task<or_error<std::size_t>> read_all(std::span<char> into) const {
    return read_all(std::as_writable_bytes(into));
  }

  /// Writes one record, the first bytes of `from` up to 16 KiB, and waits until the system has taken it. Returns how
  /// many bytes that were: at least one, unless `from` is empty. errc::broken_pipe after close_write().
  [[nodiscard]] task<or_error<std::size_t>> write_some(std::span<const std::byte> from) const;
  /// The same for characters.
  [[nodiscard]] task<or_error<std::size_t>> write_some(std::string_view from) const {
    return write_some(std::as_bytes(std::span(from)));
  }
  /// Writes all of `from`, and returns from.size(). After an error it is unknown how much was written.
  [[nodiscard]] task<or_error<std::size_t>> write_all(std::span<const std::byte> from) const;
  /// The same for characters.
  [[nodiscard]] task<or_error<std::size_t>> write_all(std::string_view from) const {
    return write_all(std::as_bytes(std::span(from)));
  }

  /// Tells the peer that this side writes no more (close_notify). The peer reads what was written, and then the end; it
  /// may go on writing. Waits until the system has taken it, by the write deadline. May be called repeatedly.
  [[nodiscard]] task<std::error_code> close_write() const;
  /// The orderly end: close_write(), then reads until the peer writes no more, discards that, and closes the
  /// connection, also after an error. The former by the write deadline, the latter by the read deadline: set one for a
  /// peer that may go on writing.
  [[nodiscard]] task<std::error_code> shutdown() const;

  /// Renews the keys (TLS 1.3). OpenSSL does not do so by itself; a key is good for some 20 million records. Waits as a
  /// write does. errc::operation_not_supported with TLS 1.2.
  [[nodiscard]] task<std::error_code> update_keys(renewed_keys whose) const;

  /// The version in use; none without a connection. Like all that follows it is fixed by the handshake, and stays known
  /// after close().
  [[nodiscard]] std::optional<tls_version> version() const noexcept;
  /// The protocol in use (ALPN); empty if none was agreed on.
  [[nodiscard]] std::string protocol() const;
  /// The name of the cipher in use, as OpenSSL has it, such as "TLS_AES_256_GCM_SHA384".
  [[nodiscard]] std::string cipher() const;
  /// Whether the handshake has resumed an earlier session (tls_options::resumed_hosts): then it has verified no
  /// certificate. False without a connection.
  [[nodiscard]] bool resumed() const noexcept;
  /// The name of the server that the client wants (SNI); empty if it has sent none.
  [[nodiscard]] std::string server_name() const;
  /// The peer's certificate, if it has sent one. It was verified, unless the context does not verify.
  [[nodiscard]] std::optional<tls_certificate> peer_certificate() const;

 private:
  std::shared_ptr<detail::session> session_;
};

}  // namespace foliot::tls
