// What a contestant provides, so that several threads can work on its timers at once: N timers, by their
// index, and the calls of the service or the library that keeps them, on the real clock.
//
// Each thread has a `hand`: what it keeps for itself, such as the time when it last looked. A timer is
// made by the thread that owns it; which thread makes which call on it after that is the workload's
// affair, but no two make one on the same timer at the same time, and a timer that is started is idle.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace foliot::program::bench {

template <class Set>
concept shared_timers = requires(Set set, typename Set::hand hand, std::size_t index, std::int64_t delay) {
  requires std::default_initializable<typename Set::hand>;
  set.make(index);
  set.start(hand, index, delay);
  { set.stop(hand, index) } -> std::same_as<bool>;
  set.reset(hand, index, delay);
  set.refresh(hand);  // now and then: after each 64 operations of this thread
};

}  // namespace foliot::program::bench
