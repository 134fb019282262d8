#include "kept_sessions.hpp"

#include <iterator>
#include <new>
#include <utility>

namespace foliot::tls::detail {

void kept_sessions::keep(const std::string& host, ssl_session_ptr offered) noexcept try {
  if (!keeps_any()) return;
  std::list<entry> gone;  // freed without the lock
  std::list<entry> made;
  made.push_back({host, std::move(offered)});
  const lock held(mutex_);
  const auto old = by_host_.find(host);
  if (old != by_host_.end()) {
    gone.splice(gone.end(), entries_, old->second);
    by_host_.erase(old);
  } else if (entries_.size() == most_hosts_) {
    by_host_.erase(entries_.back().host);
    gone.splice(gone.end(), entries_, std::prev(entries_.end()));
  }
  by_host_.emplace(made.front().host, made.begin());
  entries_.splice(entries_.begin(), made);
} catch (const std::bad_alloc&) {
  // The next connection shakes hands in full.
}

ssl_session_ptr kept_sessions::take(const std::string& host) noexcept {
  const lock held(mutex_);
  const auto found = by_host_.find(host);
  if (found == by_host_.end()) return nullptr;
  const auto at = found->second;
  // A server of TLS 1.2 offers no other session when it resumes one. A copy, since a connection may spoil its session.
  if (SSL_SESSION_get_protocol_version(at->session.get()) < TLS1_3_VERSION) {
    entries_.splice(entries_.begin(), entries_, at);
    return ssl_session_ptr(SSL_SESSION_dup(at->session.get()));
  }
  ssl_session_ptr taken = std::move(at->session);
  by_host_.erase(found);  // before the entry, which has its text
  entries_.erase(at);
  return taken;
}

}  // namespace foliot::tls::detail
