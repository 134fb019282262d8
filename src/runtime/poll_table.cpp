#include "poll_table.hpp"

namespace foliot::runtime::detail {

namespace {

constexpr std::uint64_t token_of(std::uint32_t place, std::uint32_t generation) noexcept {
  return std::uint64_t{generation} << 32 | place;
}
constexpr std::uint32_t generations = 0xffff'0000;  // tokens end below the largest word

}  // namespace

descriptor& poll_table::add(int fd) {
  descriptor* added = nullptr;
  {
    const lock held(lock_);
    if (free_.empty()) {
      free_.reserve(places_.size() + 1);  // so that remove() never allocates
      places_.push_back(std::make_unique<descriptor>());
      added = places_.back().get();
      added->place_ = static_cast<std::uint32_t>(places_.size() - 1);
    } else {
      added = places_[free_.back()].get();
      free_.pop_back();
    }
  }
  std::uint32_t generation = 0;
  {
    const lock held(added->lock_);
    generation = added->generation_ = (added->generation_ + 1) % generations;
    added->ready_ = {true, true};  // as far as anybody knows: the first operation tries
    added->closed_ = false;
  }
  added->fd_ = fd;
  try {
    poller_.add(fd, {readiness::readable | readiness::writable | readiness::peer_closed, trigger::edge},
                token_of(added->place_, generation));
  } catch (...) {
    const lock held(lock_);
    free_.push_back(added->place_);
    throw;
  }
  watched_.fetch_add(1, seam::relaxed);
  return *added;
}

void poll_table::remove(descriptor& which) noexcept {
  poller_.remove(which.fd_);
  ready_list woken;
  {
    const lock held(which.lock_);
    which.closed_ = true;
    which.generation_ = (which.generation_ + 1) % generations;
    which.tell(direction::in, woken);
    which.tell(direction::out, woken);
  }
  while (task_state* task = woken.pop_front()) make_ready(*task);
  watched_.fetch_sub(1, seam::relaxed);
  const lock held(lock_);
  free_.push_back(which.place_);
}

descriptor* poll_table::find(std::uint64_t token) noexcept {
  const lock held(lock_);
  const auto place = static_cast<std::uint32_t>(token);
  return place < places_.size() ? places_[place].get() : nullptr;
}

bool poll_table::wait(instant until, ready_list& ready) noexcept {
  std::array<seam::poll_event, seam::poller::most_events> events;
  const seam::polled found = poller_.wait(until, events);
  for (std::size_t i = 0; i < found.events; ++i) {
    descriptor* const which = find(events[i].token);
    if (which == nullptr) continue;
    which->tell(events[i].ready, static_cast<std::uint32_t>(events[i].token >> 32), ready);
  }
  return found.woken;
}

}  // namespace foliot::runtime::detail
