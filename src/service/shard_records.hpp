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

namespace foliot::detail {

template <class Design>
timer_record* shard<Design>::make(timer_callback callback, duration period) {
  record* const made = period > duration::zero() || extends_all()
                           ? new_record<extended>(std::move(callback), period, location())
                           : new_record<record>(std::move(callback));
  const lock held(lock_);
  hold();
  return made;
}

/// Throws std::bad_alloc.
template <class Design>
template <class Record, class... Arguments>
Record* shard<Design>::new_record(timer_callback callback, Arguments... arguments) {
  if constexpr (pools_records) {
    static_assert(std::is_nothrow_constructible_v<Record, engine&, timer_callback, Arguments...>);
    if (sizeof(Record) == pooled_size()) {
      void* cell = nullptr;
      {
        const lock held(lock_);
        cell = pool_.get();
      }
      return new (cell) Record(*this, std::move(callback), arguments...);  // without the lock: the closure is a user's
    }
  }
  return new Record(*this, std::move(callback), arguments...);
}

template <class Design>
template <class Record>
void shard<Design>::delete_record(Record& r) noexcept {
  if constexpr (pools_records) {
    if (sizeof(Record) == pooled_size()) {
      std::destroy_at(&r);
      return pool_.put(&r);
    }
  }
  delete &r;
}

/// Gets the memory, and returns a function that puts it to use: see shard_base.hpp.
template <class Design>
callable<void()> shard<Design>::room_for(std::size_t count) {
  refuse_impossible(count);
  if (lockless && !options_.by_hand) count += lockless_counts::most_stopped;
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

/// Frees the record. The record of a sleep wakes its thread instead.
template <class Design>
void shard<Design>::forget(record& r) noexcept {
  if (r.sleeps_) [[unlikely]]
    return forget_alarm(static_cast<sleeping&>(r));
  is_extended(r) ? delete_record(as_extended(r)) : delete_record(r);
  --holders_;
}

template <class Design>
void shard<Design>::set_location(timer_record& timer, std::source_location location) noexcept {
  as_extended(timer).armed_at_.store(location, seam::relaxed);
}

template <class Design>
void shard<Design>::set_name(timer_record& timer, std::string_view name) {
  auto swapped = std::make_shared<const std::string>(name);  // the old name is freed without the lock
  at_home<&shard::name_here>(*this, as_record(timer), swapped);
}

template <class Design>
void shard<Design>::name_here(record& r, shared_name& name) noexcept {
  as_extended(r).name_.swap(name);
}

template <class Design>
shared_name shard<Design>::name_of(record& r) const noexcept {
  return r.has_location() ? as_extended(r).name_ : nullptr;
}

/// Calls the callback, measures it, and tells of it if it was slow. Without the lock.
template <class Design>
void shard<Design>::run_watched(record& r, const firing& now) noexcept {
  std::source_location armed_at;
  if (r.has_location()) armed_at = as_extended(r).armed_at_.load(seam::relaxed);
  const instant began = watch_->now();
  run(r, now);
  const duration took = watch_->now() - began;
  if (slow_callback_report* const slow = watch_->too_slow_for(took)) {
    shared_name name;
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

}  // namespace foliot::detail
