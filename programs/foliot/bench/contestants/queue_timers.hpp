// Any queue of the project as a set of timers.
//
// A timer is what a user would embed: the queue's node, and 8 bytes of the user's own. `reserve` is
// called, as a server would that knows its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <foliot/queue/timer_queue.hpp>

#include "../timer_set.hpp"

namespace foliot::program::bench {

template <timer_queue Queue>
class queue_timers {
 public:
  struct timer : Queue::node_type {
    std::uint64_t payload = 0;
  };
  static constexpr time_kind time = time_kind::virtual_time;

  explicit queue_timers(std::size_t count) : timers_(std::make_unique<timer[]>(count)) { queue_.reserve(count); }
  ~queue_timers() {
    while (queue_.pop_any() != nullptr) {
    }
  }
  queue_timers(const queue_timers&) = delete;
  queue_timers& operator=(const queue_timers&) = delete;

  timer& operator[](std::size_t index) noexcept { return timers_[index]; }

  void start(timer& each, std::int64_t now, std::int64_t delay) { queue_.start(each, at(now + delay)); }
  bool stop(timer& each) { return queue_.stop(each); }
  void reset(timer& each, std::int64_t now, std::int64_t delay) { queue_.reset(each, at(now + delay)); }

  void prefetch(timer& each) {
    if constexpr (requires { queue_.prefetch(each); }) {
      queue_.prefetch(each);
    } else {
      __builtin_prefetch(&each, 1);
    }
  }

  template <class Sink>
  void refresh(std::int64_t now, Sink&& sink) {
    while (expire(now, unlimited, sink).more) {
    }
  }

  template <class Sink>
  expiry expire(std::int64_t now, budget limit, Sink&& sink) {
    return queue_.expire(at(now), limit, [&sink](typename Queue::node_type& due) { sink(static_cast<timer&>(due)); });
  }

 private:
  static instant at(std::int64_t nanoseconds) noexcept { return instant::from_nanoseconds(nanoseconds); }

  std::unique_ptr<timer[]> timers_;
  Queue queue_;
};

}  // namespace foliot::program::bench
