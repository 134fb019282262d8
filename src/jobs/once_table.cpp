#include "once_table.hpp"

namespace foliot::jobs::detail {

const once_record* once_table::find(const sha256& key, utc_time now) const noexcept {
  const auto found = all_.find(key);
  return found == all_.end() || found->second.end <= now ? nullptr : &found->second;
}

void once_table::add(const sha256& key, once_record what) {
  if (const auto ended = all_.find(key); ended != all_.end()) erase(ended);
  const std::uint64_t bytes = bytes_of(what.result);
  const auto listed = ends_.emplace(what.end, key).first;
  try {
    all_.emplace(key, std::move(what));
  } catch (...) {
    ends_.erase(listed);
    throw;
  }
  bytes_ += bytes;
}

void once_table::remove_turn(utc_time now) noexcept {
  if (!turns_.is_due(ends_.begin()->first, now)) return;
  std::size_t removed = 0;
  for (; removed < removal_turns::most_removed && !ends_.empty() && ends_.begin()->first <= now; ++removed) {
    erase(all_.find(ends_.begin()->second));
  }
  turns_.note(removed, now);
}

void once_table::erase(records::iterator it) noexcept {
  bytes_ -= bytes_of(it->second.result);
  ends_.erase({it->second.end, it->first});
  all_.erase(it);
}

check_result once_table::check() const {
  std::uint64_t bytes = 0;
  for (const auto& [key, it] : all_) {
    if (!ends_.contains({it.end, key})) return std::unexpected("an operation that happens once has no end in order");
    bytes += bytes_of(it.result);
  }
  if (all_.size() != ends_.size()) return std::unexpected("an end belongs to no operation that happens once");
  if (bytes != bytes_)
    return std::unexpected("the bytes of operations that happen once are not those of their results");
  return {};
}

}  // namespace foliot::jobs::detail
