// The TLS of a server, which all of its listeners share: its certificate, the key, and the authorities of its clients'
// certificates, from files that are read when it starts, and again on SIGHUP and when they have changed.
//
//   tls_certificates certificates(files, log);            // throws failure: a server does not start on a bad pair
//   listener gate = co_await listener::listen(at, certificates.opening());
//   spawn(certificates.watch(), "watches the certificates");
//   …
//   certificates.ask();                                   // on SIGHUP
//
// Invariants:
//   1. New connections get a certificate and a key that fit each other and that were valid when they were read. What
//      replaces them is checked first. If it is bad, nothing changes, and one warning says what is wrong with it.
//   2. The files are taken together or not at all, and by all listeners at once.
//   3. Files that have changed are read when they have then been the same for between_looks: who renews a certificate
//      writes one file after the other. Bad ones are read at each look, in case what was wrong was not in them. What is
//      asked for is read at once, unless the files change meanwhile.
//   4. A connection keeps what it was opened with, until it ends.
//
// The certificate of a client is optional: one that is shown must be signed by the authorities, and must not have
// expired when its connection begins, also where the client takes up an earlier session. What rights it gives is
// decided elsewhere, by byte_stream::certificate_fingerprint().
//
// Thread safety: any thread; but one at a time calls look() and reread(), which read files. Cost: three system calls
// for each look.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <foliot/core/annotations.hpp>
#include <foliot/core/clock.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/net/address.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/tls/tls_context.hpp>

#include "byte_stream.hpp"
#include "listener.hpp"
#include "server_log.hpp"
#include "tls_files.hpp"

namespace foliot::program {

/// What `stats` shows of TLS.
struct tls_figures {
  std::chrono::sys_seconds ends;  ///< the last second at which the certificate in use is valid
  std::uint64_t taken = 0;        ///< how often certificates were taken from the files, since the start
  bool is_refused = false;        ///< whether the files have something else, which cannot be used
  std::uint64_t failed = 0;       ///< handshakes that have failed, since the start
};

class tls_certificates {
 public:
  /// How often watch() looks at the files.
  static constexpr duration between_looks = std::chrono::seconds(1);

  /// Reads the files. Throws failure if they cannot be used, or if this build is without TLS. `log` and `wall`, the
  /// clock by which certificates are valid, must outlive it.
  tls_certificates(tls_files files, const server_log& log, const clock& wall = wall_clock::instance());
  tls_certificates(const tls_certificates&) = delete;
  tls_certificates& operator=(const tls_certificates&) = delete;

  /// How a listener opens its connections. This must outlive the listener.
  [[nodiscard]] listener::opening opening();
  /// Looks at the files until the end of the run, on a thread that may block. Goes on where memory is missing, or ends
  /// the process.
  [[nodiscard]] task<> watch();
  /// watch() is to read the files now.
  void ask() noexcept { static_cast<void>(asked_.try_send('\0')); }

  /// Reads the files if they have changed, and have not changed since the last look. Warns, once, if the certificate in
  /// use has ended.
  void look();
  /// Reads the files.
  void reread();

  [[nodiscard]] tls_figures figures() const;

 private:
  /// What connections are opened with. Immutable.
  struct served {
    tls::tls_context context;
    std::string subject;
    std::chrono::sys_seconds ends;
  };
  using shared_served = std::shared_ptr<const served>;

  /// What the files have, or a sentence on why that cannot be used.
  [[nodiscard]] static std::expected<served, std::string> read(const tls_files& files, std::chrono::sys_seconds now);
  task<std::unique_ptr<byte_stream>> open(runtime::stream accepted);
  void say_failed(std::error_code error, const runtime::address& from) const;
  /// Reads the files, which are in this state. Warns of bad ones, if it has not warned of this state yet.
  void read_again(const tls_files_state& files);
  void take(served&& next);
  [[nodiscard]] shared_served current() const;
  [[nodiscard]] std::chrono::sys_seconds now() const;

  const tls_files files_;
  const server_log& log_;
  const clock& wall_;
  runtime::channel<char> asked_{1};
  // Of the one who looks.
  tls_files_state seen_;      // at the last look
  tls_files_state taken_as_;  // when what is served was read
  tls_files_state refused_;   // when bad ones were read last, of which there was a warning
  bool has_warned_of_end_ = false;
  // Written by the one who looks and by the connections' tasks; read by figures(), and order nothing.
  seam::atomic<std::uint64_t> taken_{0};
  seam::atomic<bool> is_refused_{false};
  seam::atomic<std::uint64_t> failed_{0};
  mutable mutex lock_{lock_rank::object};
  shared_served current_ FOLIOT_GUARDED_BY(lock_);  // never null once constructed
};

}  // namespace foliot::program
