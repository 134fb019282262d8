#include "failed_attempts.hpp"

#include <iterator>

#include "server/core/client_source.hpp"

namespace foliot::program {

failed_attempts::noted failed_attempts::note_failure(const runtime::address& from) {
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
    const duration left = known->second->first + window - now;
    return {count < most_failures ? verdict::told : count == most_failures ? verdict::last : verdict::ignored, left};
  }
  if (all_.size() == most_addresses) {
    by_address_.erase(all_.front().from);
    all_.pop_front();
  }
  all_.push_back({source, now, 1});
  by_address_.emplace(source, std::prev(all_.end()));
  return {verdict::told, window};
}

}  // namespace foliot::program
