// The memory of a shard: records, and room in the queue. A part of shard.hpp.
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
  retain();
  return made;
}

/// Throws std::bad_alloc.
template <class Design>
template <class Record, class... Arguments>
Record* shard<Design>::new_record(timer_callback&& callback, Arguments... arguments) {
  if constexpr (pools_records) {
    static_assert(std::is_nothrow_constructible_v<Record, engine&, timer_callback, Arguments...>);
    if (sizeof(Record) == pooled_size()) {
      void* cell = nullptr;
      {
        const lock held(lock_);
        cell = pool_.get();
      }
      return new (cell)
          Record(*this, std::move(callback), arguments...);  // without the lock: it moves a user's closure
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

/// The last thread that uses the record frees it. The record of a sleep wakes its thread instead.
template <class Design>
void shard<Design>::free_record(record& r) noexcept {
  if (r.is_sleep_) [[unlikely]]
    return end_sleep(static_cast<sleeping&>(r));
  is_extended(r) ? delete_record(as_extended(r)) : delete_record(r);
  --references_;
}

template <class Design>
callable<void()> shard<Design>::room_for(std::size_t count) {
  lock_.assert_held();
  refuse_impossible(count);
  if (!options_.on_virtual_time) count += lockless_.most_stopped;
  if constexpr (pools_records) {
    return [this, room = queue_.room_for(count), cells = pool_.room_for(count)]() mutable {
      lock_.assert_held();
      queue_.take(std::move(room));
      pool_.take(std::move(cells));
    };
  } else if constexpr (requires { queue_.take(queue_.room_for(count)); }) {
    return [this, room = queue_.room_for(count)]() mutable {
      lock_.assert_held();
      queue_.take(std::move(room));
    };
  } else {
    queue_.reserve(count);  // a queue without the two steps allocates nothing
    return [] {};
  }
}

template <class Design>
void shard<Design>::set_location(timer_record& timer, std::source_location location) noexcept {
  as_extended(timer).armed_at_.store(location, seam::relaxed);
}

template <class Design>
void shard<Design>::set_name(timer_record& timer, std::string_view name) {
  auto swapped = std::make_shared<const std::string>(name);  // the old name is freed without the lock
  probes::name(&timer, swapped->c_str());
  at_home<&shard::set_name_here>(*this, as_record(timer), swapped);
}

template <class Design>
void shard<Design>::set_name_here(record& r, shared_name& name) noexcept {
  as_extended(r).name_.swap(name);
}

template <class Design>
shared_name shard<Design>::name_of(const record& r) const noexcept {
  return r.has_location() ? as_extended(r).name_ : nullptr;
}

}  // namespace foliot::detail
