// Timers by handle, for who does not want to embed a node: each has a value, which its firing hands out.
//
//   foliot::timer_slab<connection*> timers;
//   foliot::timer_slab<connection*>::handle idle = timers.start(now + 30s, &connection);
//   timers.reset(idle, now + 60s);
//   timers.expire(now, 100, [](connection* gone) { gone->close(); });
//   timers.stop(idle);                                   // false: it has fired; the handle names nothing
//
// A handle is 64 bits, an index and a generation: one whose timer has fired or been stopped is known to
// be stale in O(1), for ever, and never acts on a stranger that has the place now.
//
// Complexity: the queue's. Memory: the node, 16 bytes, and the value; a place is used again, and stays with
// the slab until the slab is destroyed. What is pending then ends without firing.
// Thread safety: none, one owner.
//
// Invariant (check): a place is out exactly while its timer is pending.
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

template <class T, timer_queue Queue = foliot_queue>
  requires std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>
class timer_slab {
  struct record : Queue::node_type {
    alignas(T) std::byte storage[sizeof(T)];
    [[nodiscard]] T& value() noexcept { return *std::launder(reinterpret_cast<T*>(storage)); }
  };
  using pool = node_pool<record>;

 public:
  /// Names one timer, from its start until it fires or is stopped. A default one names none.
  using handle = typename pool::ticket;

  timer_slab() noexcept = default;
  timer_slab(const timer_slab&) = delete;
  timer_slab& operator=(const timer_slab&) = delete;
  ~timer_slab() {
    while (auto* node = queue_.pop_any()) static_cast<void>(take_value(static_cast<record&>(*node)));
  }

  /// Starts a timer. Throws std::bad_alloc, with nothing changed but the value, which is gone.
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

  /// Stops a timer, and destroys its value; false if the handle is stale. Never fails.
  bool stop(handle timer) noexcept {
    record* found = pool_.find(timer);
    if (found == nullptr) return false;
    queue_.stop(*found);
    static_cast<void>(take_value(*found));
    return true;
  }

  /// Moves a pending timer's deadline; false if the handle is stale. Throws as the queue's reset does; the
  /// timer keeps its old deadline then.
  bool reset(handle timer, instant deadline) {
    record* found = pool_.find(timer);
    if (found == nullptr) return false;
    queue_.reset(*found, deadline);
    return true;
  }

  /// The value of a pending timer; null if the handle is stale.
  [[nodiscard]] T* find(handle timer) const noexcept {
    record* found = pool_.find(timer);
    return found == nullptr ? nullptr : &found->value();
  }

  [[nodiscard]] instant next_deadline() noexcept { return queue_.next_deadline(); }

  /// As the queue's expire; `sink(T value)` gets the value of each timer that fires, whose handle is stale by
  /// then. It may start, stop and reset others.
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    return queue_.expire(now, limit,
                         [&](typename Queue::node_type& due) { sink(take_value(static_cast<record&>(due))); });
  }

  /// Makes room for `count` pending timers: up to there no start allocates. Throws std::bad_alloc, with nothing
  /// changed.
  void reserve(std::size_t count) {
    auto places = pool_.room_for(count);
    queue_.reserve(count);
    pool_.take(std::move(places));
  }

  [[nodiscard]] std::size_t size() const noexcept { return queue_.size(); }

  [[nodiscard]] check_result check() const {
    if (check_result sound = pool_.check(); !sound) return sound;
    if (pool_.in_use() != queue_.size())
      return std::unexpected("timer_slab: a place is out, and its timer is not pending");
    return queue_.check();
  }

 private:
  /// Ends the use of a place whose timer is not pending any more.
  T take_value(record& ended) noexcept {
    T value = std::move(ended.value());
    std::destroy_at(&ended.value());
    pool_.put(ended);
    return value;
  }

  pool pool_;  // outlives the queue, which must be empty first
  Queue queue_;
};

}  // namespace foliot::inline queue
