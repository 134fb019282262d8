#include "keyed_places.hpp"

namespace foliot::program {

keyed_places::place keyed_places::enter(std::string_view key) {
  if (most_ == 0) return place(true);
  const lock held(lock_);
  auto found = counts_.find(key);
  if (found == counts_.end()) found = counts_.emplace(key, 0).first;
  if (found->second == most_) return {};
  ++found->second;
  return {*this, found};
}

void keyed_places::leave(counts::iterator counted) noexcept {
  const lock held(lock_);
  if (--counted->second == 0) counts_.erase(counted);
}

}  // namespace foliot::program
