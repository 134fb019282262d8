#include "zone_cache.hpp"

#include <utility>
#include <vector>

namespace foliot::program {

zone_cache::zone_cache(schedule::zone_directory from) : from_(std::move(from)), version_(from_.version()) {}

std::expected<schedule::zone, std::string> zone_cache::find(std::string_view name) {
  {
    const lock held(lock_);
    if (const auto found = known_.find(name); found != known_.end()) return found->second;
  }
  // Not under the lock: others need not wait for the disk.
  std::expected<schedule::zone, std::string> read = from_.find(name);
  if (read) {
    const lock held(lock_);
    // Newer data come in with the next look, which then knows what has changed.
    if (read->version() == version_) known_.insert_or_assign(std::string(name), *read);
  }
  return read;
}

std::string zone_cache::version() const {
  const lock held(lock_);
  return version_;
}

bool zone_cache::look_again() {
  std::string now = from_.version();
  std::vector<schedule::zone> before;
  bool has_changed = false;
  {
    const lock held(lock_);
    has_changed = now != version_;
    if (!has_changed && !now.empty()) return false;
    before.reserve(known_.size());
    for (const auto& [name, each] : known_) before.push_back(each);
  }
  std::vector<schedule::zone> read;
  for (const schedule::zone& each : before) {
    const std::expected<schedule::zone, std::string> found = from_.find(each.name());
    if (!found) continue;  // a package that is just being unpacked, or has dropped the name
    has_changed = has_changed || !(*found == each);
    read.push_back(*found);
  }
  const lock held(lock_);
  version_ = std::move(now);
  for (schedule::zone& each : read) known_.insert_or_assign(each.name(), std::move(each));
  return has_changed;
}

}  // namespace foliot::program
