#include "failed_attempts.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstring>
#include <iterator>

namespace foliot::program {

namespace {

/// What clients that count together have in common.
std::string source_of(const runtime::address& from) {
  const seam::socket_address& system = from.system();
  const auto bytes = [&](std::size_t begin, std::size_t count) {
    std::string text(count, '\0');
    std::memcpy(text.data(), static_cast<const char*>(system.data()) + begin, count);
    return text;
  };
  if (system.family() == seam::address_family::ip4) return bytes(offsetof(sockaddr_in, sin_addr), 4);
  if (system.family() != seam::address_family::ip6) return {};
  std::string whole = bytes(offsetof(sockaddr_in6, sin6_addr), 16);
  const bool is_mapped = whole.starts_with(std::string(10, '\0') + "\xFF\xFF");
  return is_mapped ? whole.substr(12) : whole.substr(0, 8);
}

}  // namespace

failed_attempts::verdict failed_attempts::note_failure(const runtime::address& from) {
  const std::string source = source_of(from);
  const instant now = time_.now();
  const lock held(lock_);
  auto known = by_address_.find(source);
  if (known != by_address_.end() && known->second->first + window <= now) {
    all_.erase(known->second);
    by_address_.erase(known);
    known = by_address_.end();
  }
  if (known != by_address_.end()) {
    const std::size_t count = ++known->second->count;
    return count < most_failures ? verdict::told : count == most_failures ? verdict::last : verdict::ignored;
  }
  if (all_.size() == most_addresses) {
    by_address_.erase(all_.front().from);
    all_.pop_front();
  }
  all_.push_back({source, now, 1});
  by_address_.emplace(source, std::prev(all_.end()));
  return verdict::told;
}

}  // namespace foliot::program
