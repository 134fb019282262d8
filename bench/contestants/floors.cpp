// Floors, which no queue can undercut: the cost of the harness, and of the timer object itself.
//
//   floor-store  one store into the timer, for each start, stop and reset.
//   floor-load   reads the timer first and branches on its state: the least that a stop which returns whether the timer
//                was pending can do.
#include <cstddef>
#include <cstdint>

#include "bench/roster.hpp"
#include "bench/workloads/one_thread.hpp"

namespace foliot::program::bench {

namespace {

struct alignas(64) floor_timer {
  instant deadline{};
  std::uint64_t payload = 0;
  std::uint64_t pending = 0;
};

struct floor_timers : timer_array<floor_timer> {
  static constexpr time_kind time = time_kind::no_time;
  using timer_array::timer_array;

  template <class Sink>
  void refresh(instant /*now*/, Sink&& /*sink*/) {}
  template <class Sink>
  expiry expire(instant /*now*/, budget /*limit*/, Sink&& /*sink*/) {
    return {};
  }
};

struct store_timers : floor_timers {
  using floor_timers::floor_timers;
  void start(timer& each, instant now, duration delay) { each.deadline = plain_sum(now, delay); }
  bool stop(timer& each) {
    each.deadline = instant();
    return true;
  }
  void reset(timer& each, instant now, duration delay) { each.deadline = plain_sum(now, delay); }
};

struct load_timers : floor_timers {
  using floor_timers::floor_timers;
  void start(timer& each, instant now, duration delay) {
    if (each.pending != 0) return;
    each.pending = 1;
    each.deadline = plain_sum(now, delay);
  }
  bool stop(timer& each) {
    if (each.pending == 0) return false;
    each.pending = 0;
    return true;
  }
  void reset(timer& each, instant now, duration delay) {
    if (each.pending == 0) each.pending = 1;
    each.deadline = plain_sum(now, delay);
  }
};

}  // namespace

void add_floors(roster& to) {
  add_timers<store_timers>(to.add("floor-store"), "one store a call; nothing fires");
  add_timers<load_timers>(to.add("floor-load"), "reads the timer, then stores; nothing fires");
}

}  // namespace foliot::program::bench
