// Makes a contestant of any set of timers: the workloads over it, behind the interface.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "contestant.hpp"
#include "latency.hpp"

namespace foliot::program::bench {

template <timer_set Set>
class bout_of final : public bout {
 public:
  bout_of(std::size_t count, std::uint64_t seed) : work_(count, seed) {}

  void begin(workload what) override {
    switch (what) {
      case workload::w2:
      case workload::w2p: work_.start_heartbeats(); break;
      case workload::w3:
      case workload::worst_one_slot: break;  // they start their timers themselves
      default: work_.start_uniform();
    }
  }

  tally run(workload what, std::uint64_t operations) override {
    switch (what) {
      case workload::w1: return work_.template pairs<false>(operations);
      case workload::w1p: return work_.template pairs<true>(operations);
      case workload::w2: return work_.template resets<false>(operations);
      case workload::w2p: return work_.template resets<true>(operations);
      case workload::w4: return work_.mixture(operations);
      default: break;
    }
    if constexpr (Set::time != time_kind::no_time) {
      if (what == workload::w3) return work_.fire_all();
    }
    return {.wrong = "it does not take part"};
  }

  call_times time_calls(workload what, std::uint64_t steps) override {
    if constexpr (Set::time != time_kind::no_time) {
      if (what == workload::worst_uniform) return work_.uniform(steps);
      if (what == workload::worst_one_slot) return work_.one_slot();
    }
    return {.wrong = "it does not take part"};
  }

 private:
  latency<Set> work_;
};

template <timer_set Set>
[[nodiscard]] contestant make_contestant(std::string name, std::string version = {}, std::string remark = {}) {
  return {.name = std::move(name),
          .version = std::move(version),
          .remark = std::move(remark),
          .time = Set::time,
          .make = [](std::size_t count, std::uint64_t seed) -> std::unique_ptr<bout> {
            return std::make_unique<bout_of<Set>>(count, seed);
          }};
}

}  // namespace foliot::program::bench
