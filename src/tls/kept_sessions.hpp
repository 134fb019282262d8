// The sessions that a client's context keeps until it connects to their hosts again: the latest of each host, for a
// bounded number of hosts.
//
// A session of TLS 1.3 is given out once, as its ticket should be used once (RFC 8446, C.4); one of TLS 1.2 stays, as a
// server offers no other when it resumes it. A session knows when the certificate was verified from which it descends:
// a day later none of its line is given out, so that a certificate that has ended or was revoked is noticed. No session
// of a host that has refused one is kept.
//
// Thread safety: any thread, by a lock of its own. Each call is O(1).
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include <foliot/core/annotations.hpp>
#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/sync/mutex.hpp>

#include "openssl.hpp"

namespace foliot::tls::detail {

/// A session, and when the handshake was from which it descends.
struct kept_session {
  ssl_session_ptr session;  // null if there is none
  instant verified_at;
};

class kept_sessions {
 public:
  /// How long after a full handshake its sessions are given out.
  static constexpr duration longest_life = duration::nanoseconds(86'400'000'000'000);

  explicit kept_sessions(std::size_t most_hosts) noexcept : most_hosts_(most_hosts) {}
  kept_sessions(const kept_sessions&) = delete;
  kept_sessions& operator=(const kept_sessions&) = delete;

  /// Whether keep() keeps anything.
  [[nodiscard]] bool keeps_any() const noexcept { return most_hosts_ > 0; }
  /// Replaces the host's session. Without memory, and if the host has refused a session, `offered` is freed.
  void keep(const std::string& host, kept_session offered) noexcept;
  /// The host's session for a new connection; none if there is none, if it is too old, or without memory.
  [[nodiscard]] kept_session take(const std::string& host, instant now) noexcept;
  /// A connection that offered the host's session has failed: gives that session out no more.
  void forget(const std::string& host) noexcept;
  /// The host has refused a session, instead of shaking hands in full: keeps none of it any more, as long as the host
  /// is known.
  void refuse(const std::string& host) noexcept;

 private:
  struct entry {
    std::string host;
    kept_session kept;
    bool refuses = false;
  };
  using place = std::list<entry>::iterator;

  /// Makes the entry the host's. What it replaces, and what makes room for it, goes to `gone`. Throws std::bad_alloc.
  void put(std::list<entry>& made, std::list<entry>& gone) FOLIOT_REQUIRES(mutex_);

  const std::size_t most_hosts_;
  mutex mutex_{lock_rank::sessions};
  std::list<entry> entries_ FOLIOT_GUARDED_BY(mutex_);  // the latest first
  /// By host, whose text the entry has.
  std::unordered_map<std::string_view, place> by_host_ FOLIOT_GUARDED_BY(mutex_);
};

}  // namespace foliot::tls::detail
