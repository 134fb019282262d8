// Timers by handle, for users who do not want to embed a node: each timer has a value, which expire passes to the sink.
//
//   foliot::timer_slab<connection*> timers;
//   foliot::timer_slab<connection*>::handle idle = timers.start(now + 30s, &connection);
//   timers.reset(idle, now + 60s);
//   timers.expire(now, 100, [](connection* gone) { gone->close(); });
//   timers.stop(idle);                                   // false: the timer has fired, and the handle is stale
//
// A handle is 64 bits: an index and a generation. Once its timer has fired or been stopped it is stale for ever: every
// member recognises that in O(1), and never acts on another timer that uses the same record.
//
// Complexity: that of the queue. Memory: the node, 16 bytes and the value. Records are reused, and belong to the slab
// until it is destroyed; timers that are pending then end without firing.
// Thread safety: none, one owner.
//
// Invariant (check): a record is in use if and only if its timer is pending.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/queue/foliot_queue.hpp>
#include <foliot/queue/node_pool.hpp>
#include <foliot/queue/timer_queue.hpp>

namespace foliot::inline queue {

/// Timers with a value of type T each, in a queue of type Queue. One owner.
template <class T, timer_queue Queue = foliot_queue>
  requires std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>
class timer_slab {
  struct record : Queue::node_type {
    alignas(T) std::byte storage[sizeof(T)];
    [[nodiscard]] T& value() noexcept { return *std::launder(reinterpret_cast<T*>(storage)); }
  };
  using pool = node_pool<record>;

 public:
  /// Identifies one timer from its start until it fires or is stopped. A default-constructed handle is stale.
  using handle = typename pool::ticket;

  timer_slab() noexcept = default;
  timer_slab(const timer_slab&) = delete;
  timer_slab& operator=(const timer_slab&) = delete;
  /// Destroys the values of all pending timers.
  ~timer_slab() {
    while (auto* node = queue_.pop_any()) static_cast<void>(take_value(static_cast<record&>(*node)));
  }

  /// Starts a timer. Throws std::bad_alloc; then no timer was started, and the value is destroyed.
  [[nodiscard]] handle start(instant deadline, T value) {
    record& started = pool_.get();
    try {
      queue_.start(started, deadline);
    } catch (...) {
      pool_.put(started);
      throw;
    }
    std::construct_at(reinterpret_cast<T*>(started.storage), std::move(value));
    return pool_.ticket_of(started);
  }

  /// Stops a timer and destroys its value; returns false if the handle is stale.
  bool stop(handle timer) noexcept {
    record* found = pool_.find(timer);
    if (found == nullptr) return false;
    queue_.stop(*found);
    static_cast<void>(take_value(*found));
    return true;
  }

  /// Gives a pending timer a new deadline; returns false if the handle is stale. Throws as the queue's reset does; then
  /// the timer keeps its old deadline.
  bool reset(handle timer, instant deadline) {
    record* found = pool_.find(timer);
    if (found == nullptr) return false;
    queue_.reset(*found, deadline);
    return true;
  }

  /// The value of a pending timer; null if the handle is stale. Valid until the timer fires or is stopped.
  [[nodiscard]] T* find(handle timer) const noexcept {
    record* found = pool_.find(timer);
    return found == nullptr ? nullptr : &found->value();
  }

  /// The queue's next_deadline().
  [[nodiscard]] instant next_deadline() noexcept { return queue_.next_deadline(); }

  /// As the queue's expire. Calls `sink(T value)` with the value of each timer that fires, whose handle is stale by
  /// then. The sink may start, stop and reset other timers.
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    return queue_.expire(now, limit,
                         [&](typename Queue::node_type& due) { sink(take_value(static_cast<record&>(due))); });
  }

  /// Reserves memory for `count` pending timers: up to that number no start allocates. Throws std::bad_alloc with
  /// nothing changed.
  void reserve(std::size_t count) {
    auto records = pool_.room_for(count);
    queue_.reserve(count);
    pool_.take(std::move(records));
  }

  /// How many timers are pending.
  [[nodiscard]] std::size_t size() const noexcept { return queue_.size(); }

  /// Checks all invariants. O(n).
  [[nodiscard]] check_result check() const {
    if (check_result sound = pool_.check(); !sound) return sound;
    if (pool_.in_use() != queue_.size())
      return std::unexpected("timer_slab: the number of records in use is not the number of pending timers");
    return queue_.check();
  }

 private:
  /// Moves the value out of a record whose timer is not pending any more, and returns the record to the pool.
  T take_value(record& ended) noexcept {
    T value = std::move(ended.value());
    std::destroy_at(&ended.value());
    pool_.put(ended);
    return value;
  }

  pool pool_;  // before queue_, so that the queue is destroyed first
  Queue queue_;
};

}  // namespace foliot::inline queue
