#include "kept_sessions.hpp"

#include <iterator>
#include <new>
#include <utility>

namespace foliot::tls::detail {

void kept_sessions::put(std::list<entry>& made, std::list<entry>& gone) {
  const auto old = by_host_.find(made.front().host);
  if (old != by_host_.end()) {
    const place at = old->second;
    by_host_.erase(old);  // before the entry, which has its text
    gone.splice(gone.end(), entries_, at);
  } else if (entries_.size() == most_hosts_) {
    by_host_.erase(entries_.back().host);
    gone.splice(gone.end(), entries_, std::prev(entries_.end()));
  }
  by_host_.emplace(made.front().host, made.begin());
  entries_.splice(entries_.begin(), made);
}

void kept_sessions::keep(const std::string& host, kept_session offered) noexcept try {
  if (!keeps_any()) return;
  std::list<entry> gone;  // freed without the lock, as `made` is if it is not taken
  std::list<entry> made;
  made.push_back({host, std::move(offered), false});
  const lock held(mutex_);
  const auto known = by_host_.find(host);
  if (known != by_host_.end() && known->second->refuses) return;
  put(made, gone);
} catch (const std::bad_alloc&) {
  // The next connection shakes hands in full.
}

kept_session kept_sessions::take(const std::string& host, instant now) noexcept {
  kept_session old;  // freed without the lock
  const lock held(mutex_);
  const auto found = by_host_.find(host);
  if (found == by_host_.end() || found->second->kept.session == nullptr) return {};
  kept_session& kept = found->second->kept;
  entries_.splice(entries_.begin(), entries_, found->second);
  if (now >= kept.verified_at + longest_life) {
    std::swap(old, kept);
    return {};
  }
  if (SSL_SESSION_get_protocol_version(kept.session.get()) >= TLS1_3_VERSION) return std::exchange(kept, {});
  // A copy, since a connection may spoil its session.
  return {ssl_session_ptr(SSL_SESSION_dup(kept.session.get())), kept.verified_at};
}

void kept_sessions::forget(const std::string& host) noexcept {
  kept_session old;
  const lock held(mutex_);
  const auto found = by_host_.find(host);
  if (found != by_host_.end()) std::swap(old, found->second->kept);
}

void kept_sessions::refuse(const std::string& host) noexcept try {
  if (!keeps_any()) return;
  std::list<entry> gone;
  std::list<entry> made;
  made.push_back({host, {}, true});
  const lock held(mutex_);
  put(made, gone);
} catch (const std::bad_alloc&) {
  forget(host);
}

}  // namespace foliot::tls::detail
