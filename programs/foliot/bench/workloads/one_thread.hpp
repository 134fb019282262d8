// The offer of any set of timers for the workloads of one thread: makes the timers, warms up, and measures.
//
//   add_timers<multimap_timers>(to.add("multimap"), "a reset allocates nothing");
//
// W1 to W4 warm up until each timer has been touched about once, in W2 three times, or for 0.3 s: heartbeats need 30 s
// of their time, which is 3 resets a timer, before a queue has come to the work that it postpones.
//
// Thread safety: none, one thread, which should stay on one core (cores.hpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "../resident_memory.hpp"
#include "latency.hpp"

namespace foliot::program::bench {

template <timer_set Set>
class one_thread {
 public:
  one_thread(workload what, std::size_t timers, std::uint64_t seed) : what_(what), work_(timers, seed) {
    switch (what) {
      case workload::w2:
      case workload::w2p: work_.start_heartbeats(); break;
      case workload::w3:
      case workload::worst_one_slot: break;  // they start their timers themselves
      default: work_.start_uniform();
    }
  }

  /// At least so many operations of W1 to W4; of W3 always all.
  tally run(std::uint64_t operations) {
    switch (what_) {
      case workload::w1: return work_.template pairs<false>(operations);
      case workload::w1p: return work_.template pairs<true>(operations);
      case workload::w2: return work_.template resets<false>(operations);
      case workload::w2p: return work_.template resets<true>(operations);
      case workload::w4: return work_.mixture(operations);
      default: break;
    }
    if constexpr (Set::time != time_kind::no_time) {
      if (what_ == workload::w3) return work_.fire_all();
    }
    throw failure("it does not take part");
  }

  /// Single calls: so many steps of 1 ms of worst-uniform; worst-one-slot goes on until all timers have fired.
  call_times time_calls(std::uint64_t steps) {
    if constexpr (Set::time != time_kind::no_time) {
      if (what_ == workload::worst_uniform) return work_.uniform(steps);
      if (what_ == workload::worst_one_slot) return work_.one_slot();
    }
    throw failure("it does not take part");
  }

 private:
  const workload what_;
  latency<Set> work_;
};

/// Until it has lasted that long, or done so many operations.
template <timer_set Set>
tally run_for(one_thread<Set>& work, duration time, std::uint64_t operations) {
  constexpr std::uint64_t operations_between_looks = 8192;
  tally total;
  do {
    total += work.run(std::min(operations - total.operations, operations_between_looks));
  } while (total.time < time && total.operations < operations);
  return total;
}

template <timer_set Set>
samples measure_cost(const request& asked) {
  constexpr duration longest_warm_up = std::chrono::milliseconds(300);
  const bool heartbeats = asked.what == workload::w2 || asked.what == workload::w2p;
  const std::uint64_t fewest = asked.quick ? 64 : 10'000;
  one_thread<Set> work(asked.what, asked.timers, asked.seed);
  run_for(work, longest_warm_up, std::max<std::uint64_t>(fewest, (heartbeats ? 3 : 1) * asked.timers));
  const tally total = run_for(work, asked.time, UINT64_MAX);
  return {{.figure = static_cast<double>(total.time.count()) / static_cast<double>(total.operations)}};
}

template <timer_set Set>
samples measure_calls(const request& asked) {
  // 300 s of virtual time: long enough that the coarse slots of wheels open too.
  call_times times = one_thread<Set>(asked.what, asked.timers, asked.seed).time_calls(asked.quick ? 1'000 : 300'000);
  samples all{{.each = std::move(times.start), .call = "start"},
              {.each = std::move(times.stop), .call = "stop"},
              {.each = std::move(times.reset), .call = "reset"},
              {.each = std::move(times.expire), .call = "expire"}};
  if (asked.what == workload::worst_one_slot) {
    all.back().per_fired = static_cast<double>(times.expire_time.count()) / static_cast<double>(times.fired);
  }
  return all;
}

/// How many bytes each of so many timers takes, made and started by a process of its own.
template <timer_set Set>
std::optional<double> weigh_timers(std::size_t timers) {
  const auto make = [](std::size_t count) { return std::make_unique<one_thread<Set>>(workload::w1, count, 1); };
  return bytes_each(timers, make);
}

/// Adds what such a set can do in one thread: everything, or what needs no timer that fires.
template <timer_set Set>
void add_timers(contestant& to, std::string remark = {}) {
  offer made{.time = Set::time, .remark = std::move(remark), .run = [](const request& asked) {
               return kind_of(asked.what) == figure_kind::calls ? measure_calls<Set>(asked) : measure_cost<Set>(asked);
             }};
  for (const workload each : all_workloads) {
    if (in_one_thread(each) && (Set::time != time_kind::no_time || !about(each).timers_fire))
      made.takes.push_back(each);
  }
  to.offers.push_back(std::move(made));
  to.bytes_per_timer = weigh_timers<Set>;
}

}  // namespace foliot::program::bench
