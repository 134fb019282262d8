// Which record each timer of a shard gets, so that none is larger than it must be: a part of shard.hpp.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "shard.hpp"

namespace foliot::inline service {

template <class Design>
timer_record* shard<Design>::make(timer_callback callback, duration period) {
  record* made = nullptr;
  if (places_records()) {
    made = new_record<placed_record>(std::move(callback), period);
  } else if (options_.executor != nullptr) {
    made = new_record<posting_record>(std::move(callback), period);
  } else if (period > duration::zero()) {
    made = new_record<ticking_record>(std::move(callback), period);
  } else {
    made = new_record<record>(std::move(callback), false);
  }
  const lock held(lock_);
  hold();
  return made;
}

/// Throws std::bad_alloc.
template <class Design>
template <class Record, class Kind>
Record* shard<Design>::new_record(timer_callback callback, Kind kind) {
  if constexpr (pools_records) {
    static_assert(std::is_nothrow_constructible_v<Record, engine&, timer_callback, Kind>);
    void* cell = nullptr;
    {
      const lock held(lock_);
      cell = pool_.get();
    }
    return new (cell) Record(*this, std::move(callback), kind);  // without the lock: the closure is a user's
  } else {
    return new Record(*this, std::move(callback), kind);
  }
}

template <class Design>
template <class Record>
void shard<Design>::delete_record(Record& r) noexcept {
  if constexpr (pools_records) {
    std::destroy_at(&r);
    pool_.put(&r);
  } else {
    delete &r;
  }
}

/// Gets the memory, and returns a function that puts it to use: see engine.hpp.
template <class Design>
callable<void()> shard<Design>::room_for(std::size_t count) {
  detail::refuse_impossible(count);
  if (lockless && !options_.by_hand) count += detail::lockless_counts::most_stopped;
  const lock held(lock_);
  if constexpr (pools_records) {
    return [this, room = queue_.room_for(count), cells = pool_.room_for(count)]() mutable {
      const lock held_again(lock_);
      queue_.take(std::move(room));
      pool_.take(std::move(cells));
    };
  } else if constexpr (requires { queue_.take(queue_.room_for(count)); }) {
    return [this, room = queue_.room_for(count)]() mutable {
      const lock held_again(lock_);
      queue_.take(std::move(room));
    };
  } else {
    queue_.reserve(count);  // a queue without the two steps allocates nothing
    return [] {};
  }
}

/// The largest record that this shard makes.
template <class Design>
std::size_t shard<Design>::largest_record() const noexcept {
  if (places_records()) return sizeof(placed_record);
  return options_.executor != nullptr ? sizeof(posting_record) : sizeof(ticking_record);
}

/// Destroys the record, as what it was made. That of a sleep wakes its thread instead.
template <class Design>
void shard<Design>::forget(record& r) noexcept {
  if (r.sleeps_) [[unlikely]]
    return forget_alarm(static_cast<sleeping_record&>(r));
  if (r.wants_place()) {
    delete_record(static_cast<placed_record&>(r));
  } else if (options_.executor != nullptr) {
    delete_record(as_posting(r));
  } else if (r.ticks_) {
    delete_record(static_cast<ticking_record&>(r));
  } else {
    delete_record(r);
  }
  --holders_;
}

template <class Design>
void shard<Design>::arms_at(timer_record& timer, std::source_location place) noexcept {
  // relaxed, here and in run_watched(): a place is constant for the whole program, and publishes nothing.
  static_cast<placed_record&>(as_record(timer)).armed_at_.store(place, seam::relaxed);
}

template <class Design>
void shard<Design>::name(timer_record& timer, std::string_view text) {
  auto swapped = std::make_shared<const std::string>(text);  // what it was goes without the lock
  at_home<&shard::name_here>(*this, as_record(timer), swapped);
}

template <class Design>
void shard<Design>::name_here(record& r, detail::shared_name& name) noexcept {
  static_cast<placed_record&>(r).name_.swap(name);
}

template <class Design>
detail::shared_name shard<Design>::name_of(record& r) const noexcept {
  return r.wants_place() ? static_cast<placed_record&>(r).name_ : nullptr;
}

/// Calls the callback, measures it, and tells of it if it was slow. Without the lock.
template <class Design>
void shard<Design>::run_watched(record& r, const firing& now) noexcept {
  std::source_location armed_at;
  if (r.wants_place()) armed_at = static_cast<placed_record&>(r).armed_at_.load(seam::relaxed);
  const instant began = watch_->now();
  run(r, now);
  const duration took = watch_->now() - began;
  if (slow_callback_report* const slow = watch_->too_slow_for(took)) {
    detail::shared_name name;
    {
      const lock held(lock_);
      name = name_of(r);
    }
    try {
      slow->tell({took, armed_at, now, name == nullptr ? std::string_view() : std::string_view(*name)});
    } catch (...) {
      report(std::current_exception());
    }
  }
  const lock held(lock_);
  watch_->record(now.lateness(), took);
}

}  // namespace foliot::inline service
