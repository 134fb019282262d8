#include "poll_table.hpp"

#include <foliot/core/seam/sockets.hpp>

namespace foliot::runtime::detail {

namespace {

constexpr std::uint64_t token_of(std::uint32_t index, std::uint32_t generation) noexcept {
  return std::uint64_t{generation} << 32 | index;
}
constexpr std::uint32_t generations = 0xffff'0000;  // tokens end below the largest word

}  // namespace

// No task and no worker is left. Descriptors that still have references belong to their holders from now on.
poll_table::~poll_table() {
  std::vector<std::unique_ptr<descriptor>> all;
  {
    const lock held(lock_);
    for (const std::uint32_t index : free_) slots_[index].reset();
    all.swap(slots_);
  }
  for (std::unique_ptr<descriptor>& each : all) {
    if (each == nullptr) continue;
    const lock held(each->lock_);
    each->closed_ = true;
    each->table_ = nullptr;
    static_cast<void>(each.release());
  }
}

/// A descriptor without references: a free slot's, or a new one.
descriptor& poll_table::take_slot() {
  const lock held(lock_);
  if (free_.empty()) {
    free_.reserve(slots_.size() + 1);  // so that give_back() never allocates
    slots_.push_back(std::make_unique<descriptor>());
    slots_.back()->index_ = static_cast<std::uint32_t>(slots_.size() - 1);
    return *slots_.back();
  }
  descriptor& found = *slots_[free_.back()];
  free_.pop_back();
  return found;
}

void poll_table::give_back(descriptor& which) noexcept {
  const lock held(lock_);
  free_.push_back(which.index_);
}

std::expected<descriptor_ptr, std::error_code> poll_table::add(int fd, at_end then, scheduler& owner) noexcept {
  descriptor* added = nullptr;
  try {
    added = &take_slot();
  } catch (const std::bad_alloc&) {
    return std::unexpected(std::make_error_code(std::errc::not_enough_memory));
  }
  std::uint32_t generation = 0;
  {
    const lock held(added->lock_);
    generation = added->generation_ = (added->generation_ + 1) % generations;
    added->sides_ = {};
    for (auto& side : added->sides_) side.ready = true;  // its state is unknown: the first operation tries
    added->closed_ = false;
    added->closing_ = false;
    added->owner_ = &owner;
    added->table_ = this;
    added->fd_ = fd;
    added->at_end_ = then;
  }
  try {
    poller_.add(fd, {readiness::readable | readiness::writable | readiness::peer_closed, trigger::edge},
                token_of(added->index_, generation));
  } catch (const std::system_error& error) {
    give_back(*added);
    return std::unexpected(error.code());
  } catch (const std::bad_alloc&) {  // there is no memory for the error's text
    give_back(*added);
    return std::unexpected(std::make_error_code(std::errc::not_enough_memory));
  }
  added->retain();
  return descriptor_ptr(*added);
}

descriptor* poll_table::find(std::uint64_t token) noexcept {
  const lock held(lock_);
  const auto index = static_cast<std::uint32_t>(token);
  return index < slots_.size() ? slots_[index].get() : nullptr;
}

poll_table::wait_result poll_table::wait(instant until, ready_list& ready) noexcept {
  std::array<seam::poll_event, seam::poller::most_events> events;
  const seam::polled found = poller_.wait(until, events);
  for (std::size_t i = 0; i < found.events; ++i) {
    descriptor* const which = find(events[i].token);
    if (which == nullptr) continue;
    which->report(events[i].ready, static_cast<std::uint32_t>(events[i].token >> 32), ready);
  }
  return {.broken = found.woken, .rung = found.rung};
}

}  // namespace foliot::runtime::detail
