#include "timelines.hpp"

#include <algorithm>

namespace foliot::jobs::detail {

timelines& timelines::of_process() {
  static timelines all;
  return all;
}

void timelines::add(const reached_server& server) {
  const lock held(lock_);
  std::int64_t& highest = highest_[{server.database, server.cluster}];
  highest = std::max(highest, server.timeline);
}

bool timelines::has(const std::string& database) const {
  const lock held(lock_);
  const auto first = highest_.lower_bound({database, ""});
  return first != highest_.end() && first->first.first == database;
}

std::int64_t timelines::highest(const reached_server& server) const {
  const lock held(lock_);
  const auto found = highest_.find({server.database, server.cluster});
  return found == highest_.end() ? server.timeline : std::max(found->second, server.timeline);
}

bool timelines::begins_refusal(const reached_server& server) {
  const lock held(lock_);
  return refused_.emplace(server.cluster, server.place, server.timeline).second;
}

}  // namespace foliot::jobs::detail
