// Any queue of the project as a set of timers.
//
// A timer is what a user would embed: the queue's node, and 8 bytes of the user's own. `reserve` is called, as a server
// that knows its size would.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include <foliot/queue/timer_queue.hpp>

#include "bench/workloads/one_thread.hpp"

namespace foliot::program::bench {

template <timer_queue Queue>
struct queue_timer : Queue::node_type {
  std::uint64_t payload = 0;
};

template <timer_queue Queue>
class queue_timers : public timer_array<queue_timer<Queue>> {
 public:
  using timer = queue_timer<Queue>;
  static constexpr time_kind time = time_kind::virtual_time;

  explicit queue_timers(std::size_t count) : timer_array<timer>(count) { queue_.reserve(count); }
  ~queue_timers() {
    while (queue_.pop_any() != nullptr) {
    }
  }
  queue_timers(const queue_timers&) = delete;
  queue_timers& operator=(const queue_timers&) = delete;

  void start(timer& each, instant now, duration delay) { queue_.start(each, plain_sum(now, delay)); }
  bool stop(timer& each) { return queue_.stop(each); }
  void reset(timer& each, instant now, duration delay) { queue_.reset(each, plain_sum(now, delay)); }

  void prefetch(timer& each) {
    if constexpr (requires { queue_.prefetch(each); }) {
      queue_.prefetch(each);
    } else {
      __builtin_prefetch(&each, 1);
    }
  }

  template <class Sink>
  void refresh(instant now, Sink&& sink) {
    while (expire(now, unlimited, sink).more) {
    }
  }

  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    return queue_.expire(now, limit, [&sink](typename Queue::node_type& due) { sink(static_cast<timer&>(due)); });
  }

 private:
  Queue queue_;
};

}  // namespace foliot::program::bench
