// The sessions that a client's context keeps until it connects to their hosts again: the latest of each host, for a
// bounded number of hosts. Taking a session of TLS 1.3 removes it, as its ticket should be used once (RFC 8446, C.4);
// one of TLS 1.2 stays.
//
// Thread safety: any thread, by a lock of its own. Each call is O(1).
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include <foliot/core/annotations.hpp>
#include <foliot/core/sync/mutex.hpp>

#include "openssl_owners.hpp"

namespace foliot::tls::detail {

class kept_sessions {
 public:
  explicit kept_sessions(std::size_t most_hosts) noexcept : most_hosts_(most_hosts) {}
  kept_sessions(const kept_sessions&) = delete;
  kept_sessions& operator=(const kept_sessions&) = delete;

  /// Whether keep() keeps anything.
  [[nodiscard]] bool keeps_any() const noexcept { return most_hosts_ > 0; }
  /// Replaces the host's session. Without memory, and without any hosts, `offered` is freed.
  void keep(const std::string& host, ssl_session_ptr offered) noexcept;
  /// The host's session for a new connection; null if there is none, or no memory.
  [[nodiscard]] ssl_session_ptr take(const std::string& host) noexcept;

 private:
  struct entry {
    std::string host;
    ssl_session_ptr session;
  };

  const std::size_t most_hosts_;
  mutex mutex_{lock_rank::sessions};
  std::list<entry> entries_ FOLIOT_GUARDED_BY(mutex_);  // the latest first
  /// By host, whose text the entry has.
  std::unordered_map<std::string_view, std::list<entry>::iterator> by_host_ FOLIOT_GUARDED_BY(mutex_);
};

}  // namespace foliot::tls::detail
