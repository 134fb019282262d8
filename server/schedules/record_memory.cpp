#include "record_memory.hpp"

#include <chrono>

namespace foliot::program {

bool record_memory::is_slow(std::string_view key) const {
  const lock held(lock_);
  return slow_.contains(key);
}

void record_memory::note_planning(std::string_view key, duration taken) {
  const lock held(lock_);
  const auto known = slow_.find(key);
  if (taken < slow_from) {
    if (known != slow_.end()) slow_.erase(known);
  } else if (known == slow_.end() && slow_.size() < most) {
    slow_.emplace(key);
  }
}

jobs::utc_time record_memory::due_before_leaving(std::string_view key, std::uint64_t state, jobs::utc_time due) const {
  const lock held(lock_);
  const auto known = left_.find(key);
  if (known == left_.end()) return due;
  const left_record& before = known->second;
  const bool is_still_left = before.state == state && due >= before.until && due - before.until <= longest_leaving;
  return is_still_left ? before.since : due;
}

bool record_memory::leave(std::string_view key, std::uint64_t state, jobs::utc_time since, jobs::utc_time until) {
  const lock held(lock_);
  if (left_.size() >= most && !left_.contains(key)) {
    // Those whose turns other nodes have taken.
    std::erase_if(left_, [until](const auto& each) { return each.second.until + std::chrono::minutes(1) < until; });
    if (left_.size() >= most) return false;
  }
  left_.insert_or_assign(std::string(key), left_record{state, since, until});
  return true;
}

void record_memory::take(std::string_view key) {
  const lock held(lock_);
  if (const auto known = left_.find(key); known != left_.end()) left_.erase(known);
}

}  // namespace foliot::program
