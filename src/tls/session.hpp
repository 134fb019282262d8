// A TLS connection below tls_stream: OpenSSL's object between two buffers. No function waits.
//
// OpenSSL reads what was received from `in_`, and writes what is to be sent to `made_`, by a BIO of foliot's own. The
// BIO takes everything that OpenSSL writes: then OpenSSL has no half-written record, with which it could neither renew
// keys nor take another write (OpenSSL's issues 8677, 12485, 13729). What is made stays bounded all the same, since a
// task sends all of it before it has OpenSSL encrypt another record, and answers to the peer are counted.
//
// Two locks:
//   mutex_      OpenSSL's object and the buffers. Held during calls of OpenSSL and attempts to receive, never during a
//               wait.
//   sending()   a task_mutex: the task that holds it sends what output() returns, in order. Held by a write to its end.
// A write needs input, too, if a message of TLS has come in part: until the rest is there, OpenSSL writes nothing. Then
// the reader and the writer receive, each when the descriptor is readable and by a deadline of its own; the one that
// receives wakes the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <foliot/core/annotations.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/descriptor.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/task_mutex.hpp>
#include <foliot/tls/tls_certificate.hpp>
#include <foliot/tls/tls_context.hpp>

#include "context.hpp"
#include "openssl.hpp"

namespace foliot::tls::detail {

/// What a task asks of OpenSSL, apart from reading.
enum class request : std::uint8_t { handshake, data, end, own_keys, both_keys };

/// What a call of OpenSSL came to.
struct outcome {
  enum class kind : std::uint8_t { done, needs_input, failed };

  kind what = kind::failed;
  std::size_t bytes = 0;       // read or written; 0 at the end of the stream
  std::error_code error = {};  // why it failed
  std::uint64_t receipts = 0;  // how often input had come before the call
  bool has_output = false;     // there is something to send
};

/// What the handshake has settled. Written by the task that shakes hands, and not changed afterwards.
struct agreement {
  std::optional<tls_version> version;
  std::string protocol;
  std::string cipher;
  std::string server_name;
  x509_ptr certificate;
  bool resumed = false;
};

class session {
 public:
  /// `host` is for clients. Returns OpenSSL's error, or errc::invalid_argument for a context of the other side or a
  /// host that cannot be verified. Throws std::bad_alloc.
  [[nodiscard]] static std::expected<std::shared_ptr<session>, std::error_code> make(
      runtime::stream&& below, std::shared_ptr<const context> shared, role side, std::string_view host);
  explicit session(runtime::stream&& below, std::shared_ptr<const context> shared) noexcept;
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// OpenSSL's callback in a client: the server offers a session that may be resumed. Called while mutex_ is held.
  /// Returns 0, as it does not take over the reference.
  static int take_offer(SSL* ssl, SSL_SESSION* offered) noexcept;

  [[nodiscard]] runtime::stream& below() noexcept { return below_; }
  [[nodiscard]] runtime::task_mutex& sending() noexcept { return sending_; }
  [[nodiscard]] const agreement& agreed() const noexcept { return agreed_; }

  /// Decrypts received data; 0 bytes at the end of the stream. `into` must not be empty.
  [[nodiscard]] outcome read(std::span<std::byte> into) noexcept;
  /// Makes what is to be sent for the request; of `from` at most one record. The caller must hold sending(), or be
  /// shaking hands.
  [[nodiscard]] outcome perform(request what, std::span<const std::byte> from) noexcept;
  /// After a handshake that has failed, in a client: what becomes of the session that it has offered to resume.
  void note_failure() noexcept;
  /// After the handshake: notes what was agreed on. Throws std::bad_alloc.
  void note_agreement();
  /// Whether what is left to send after the handshake are session tickets, which may wait for the first write. Sent at
  /// once, they would block a server whose client only writes, and reset the connection of a client that does not read
  /// (OpenSSL's issues 7948, 7967, 10880).
  [[nodiscard]] bool has_tickets_only() const noexcept;

  /// What an attempt to receive came to.
  struct receipt {
    bool was_needed = false;  // else input has come since OpenSSL asked for it, and nothing was tried
    runtime::or_error<std::size_t> bytes{};
    bool filled_the_room = false;  // more may be there
    bool is_shared = false;        // another task wants input, too
  };
  /// Receives, without waiting, unless input has come since there were so many receipts; a negative `fd` means that it
  /// would have to wait. Between begin_receive() and end_receive().
  [[nodiscard]] receipt try_receive(std::uint64_t receipts, int fd) noexcept;
  void begin_receive() noexcept;
  void end_receive() noexcept;

  /// What is to be sent next; empty if there is nothing. Only for the task that holds sending(). Valid until sent().
  [[nodiscard]] std::span<const std::byte> output() noexcept;
  /// The first bytes of output() were sent.
  void sent(std::size_t bytes) noexcept;
  /// Sends what the system takes at once. Returns an error of the system, but not that it takes no more. Only for the
  /// task that holds sending(), or shakes hands.
  std::error_code send_what_fits() noexcept;
  /// Whether something is left to send.
  [[nodiscard]] bool has_more_to_send() const noexcept;
  /// The same for a task that does not. Returns false if something is left and no task is going to send it: the caller
  /// must spawn one that does.
  [[nodiscard]] bool send_now() noexcept;
  /// That task has ended.
  void no_task_sends() noexcept;

  /// Returns false if another task reads already.
  [[nodiscard]] bool begin_read() noexcept;
  void end_read() noexcept;

 private:
  /// The functions of the BIO, which OpenSSL calls while mutex_ is held.
  static int take_output(BIO* bio, const char* bytes, int size) noexcept;
  static int give_input(BIO* bio, char* into, int size) noexcept;
  static long control(BIO* bio, int command, long, void*) noexcept;
  static const BIO_METHOD* bio_method() noexcept;

  [[nodiscard]] std::error_code open(std::string_view host, role side) noexcept FOLIOT_REQUIRES(mutex_);
  [[nodiscard]] std::error_code expect_host(std::string_view host) noexcept FOLIOT_REQUIRES(mutex_);
  /// Has the handshake resume the session with that host, if the context keeps one, and notes whose the next one is.
  /// Throws std::bad_alloc.
  void resume(const std::string& host) FOLIOT_REQUIRES(mutex_);
  [[nodiscard]] int call(request what, std::span<const std::byte> from, std::size_t& bytes) noexcept
      FOLIOT_REQUIRES(mutex_);
  /// Whether OpenSSL can decrypt nothing until more input has come. A call would tell that, too, with a buffer that it
  /// makes and frees.
  [[nodiscard]] bool lacks_input() const noexcept FOLIOT_REQUIRES(mutex_);
  /// Appends to in_. Returns false if there is no memory.
  [[nodiscard]] bool keep(std::span<const std::byte> received) noexcept FOLIOT_REQUIRES(mutex_);
  [[nodiscard]] std::error_code refusal(request what) const noexcept FOLIOT_REQUIRES(mutex_);
  [[nodiscard]] outcome outcome_of(int result, std::size_t bytes) noexcept FOLIOT_REQUIRES(mutex_);
  [[nodiscard]] outcome failed(std::error_code error) const noexcept FOLIOT_REQUIRES(mutex_);
  [[nodiscard]] std::error_code reason(int error) noexcept FOLIOT_REQUIRES(mutex_);
  [[nodiscard]] bool has_output() const noexcept FOLIOT_REQUIRES(mutex_) {
    return !made_.empty() || sent_ < leaving_.size();
  }

  const std::shared_ptr<const context> context_;

  // A client's, if its context keeps sessions. Not changed once it is open.
  std::string host_;
  instant opened_at_;
  bool offers_session_ = false;  // to resume
  instant offered_verified_at_;  // that session's

  runtime::stream below_;
  runtime::task_mutex sending_;
  agreement agreed_;

  mutable mutex mutex_{lock_rank::object};
  ssl_ptr ssl_ FOLIOT_GUARDED_BY(mutex_);
  std::error_code failure_ FOLIOT_GUARDED_BY(mutex_);  // of TLS: OpenSSL's object is of no use any more
  bool no_memory_ FOLIOT_GUARDED_BY(mutex_) = false;   // the BIO could not take the output
  bool ended_ FOLIOT_GUARDED_BY(mutex_) = false;       // this side has sent close_notify
  bool reading_ FOLIOT_GUARDED_BY(mutex_) = false;
  bool task_sends_ FOLIOT_GUARDED_BY(mutex_) = false;
  std::size_t answers_ FOLIOT_GUARDED_BY(mutex_) = 0;      // bytes that reads have made since all was sent
  std::vector<std::byte> in_ FOLIOT_GUARDED_BY(mutex_);    // received
  std::size_t in_begin_ FOLIOT_GUARDED_BY(mutex_) = 0;     // of what OpenSSL has not read
  std::uint64_t receipts_ FOLIOT_GUARDED_BY(mutex_) = 0;   // how often input has come
  std::size_t receivers_ FOLIOT_GUARDED_BY(mutex_) = 0;    // tasks that want input
  std::vector<std::byte> made_ FOLIOT_GUARDED_BY(mutex_);  // what OpenSSL has written

  // Changed under mutex_ by the task that holds sending(), which reads them during its waits.
  std::vector<std::byte> leaving_;
  std::size_t sent_ = 0;  // of leaving_
};

}  // namespace foliot::tls::detail
