// Every contestant does what the workloads ask of it, and a queue that does not is detected.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <foliot/queue/erlang_wheel.hpp>
#include <foliot/queue/foliot_queue.hpp>
#include <foliot/queue/goim_heap.hpp>
#include <foliot/queue/hashed_wheel.hpp>
#include <foliot/queue/hierarchical_wheel.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/quad_heap_lazy.hpp>
#include <foliot/queue/red_black_tree.hpp>
#include <foliot/queue/reference_queue.hpp>

#include "bench/contestants/queue_timers.hpp"
#include "bench/workloads/one_thread.hpp"
#include "contestant_names.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::size_t timers = 50;
constexpr std::uint64_t operations = 6400;
constexpr std::uint64_t seed = 7;

request quick(workload what, std::size_t count = timers) {
  return {.what = what, .timers = count, .time = std::chrono::microseconds(1), .seed = seed, .quick = true};
}

class EveryContestant : public testing::TestWithParam<contestant> {};

TEST_P(EveryContestant, DoesEachWorkload) {
  for (const std::size_t count : {std::size_t{1}, timers}) {
    for (const workload what : taken_by(GetParam(), figure_kind::cost)) {
      EXPECT_GT(run(GetParam(), quick(what, count)).front().figure, 0) << name(what);
    }
    for (const workload what : taken_by(GetParam(), figure_kind::calls)) {
      EXPECT_EQ(run(GetParam(), quick(what, count)).size(), 4u) << name(what);
    }
  }
}

TEST_P(EveryContestant, TimesEachCall) {
  for (const workload what : taken_by(GetParam(), figure_kind::calls)) {
    const samples found = run(GetParam(), quick(what));
    ASSERT_EQ(found.size(), 4u);
    const std::array names = {"start", "stop", "reset", "expire"};
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].call, names[i]);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found[i].each.size(), found.front().each.size());
    EXPECT_GE(found.front().each.size(), 1'000u);
    EXPECT_GE(found.back().each.size(), 1u);
    EXPECT_EQ(found.back().per_fired.has_value(), what == workload::worst_one_slot);
  }
}

INSTANTIATE_TEST_SUITE_P(Bench, EveryContestant, testing::ValuesIn(that_take(figure_kind::cost)), test_name);

// ---------------------------------------------------------------- sets of timers

template <class Queue>
tally done_by(workload what, std::uint64_t at_least = operations) {
  return one_thread<queue_timers<Queue>>(what, timers, seed).run(at_least);
}

/// What an exact queue fires, by the reference queue.
tally expected(workload what) { return done_by<reference_queue>(what); }

template <class Queue>
class EveryQueue : public testing::Test {};
using queues = testing::Types<foliot_queue, quad_heap, quad_heap_lazy, goim_heap, red_black_tree, hashed_wheel,
                              hierarchical_wheel, linux_wheel, erlang_wheel>;
TYPED_TEST_SUITE(EveryQueue, queues);

TYPED_TEST(EveryQueue, DoesAsMuchAsAsked) {
  for (const workload what : {workload::w1, workload::w1p, workload::w2, workload::w2p, workload::w4}) {
    EXPECT_EQ(done_by<TypeParam>(what).operations, operations) << name(what);
  }
  EXPECT_EQ(done_by<TypeParam>(workload::w3).operations, timers);
  EXPECT_EQ(done_by<TypeParam>(workload::w3).fired, timers);
}

TYPED_TEST(EveryQueue, GoesOnWhereItWas) {
  for (const workload what : {workload::w1, workload::w1p, workload::w2, workload::w2p, workload::w3, workload::w4}) {
    one_thread<queue_timers<TypeParam>> work(what, timers, seed);
    for (int i = 0; i < 3; ++i) EXPECT_NO_THROW(work.run(64)) << name(what);
  }
}

TYPED_TEST(EveryQueue, FiresAboutAsManyAsTheReference) {
  for (const workload what : {workload::w1, workload::w2, workload::w2p, workload::w4}) {
    // A timer that fires draws its next timeout, so that queues with another order of ties get other timeouts.
    const auto wanted = static_cast<double>(expected(what).fired);
    EXPECT_NEAR(static_cast<double>(done_by<TypeParam>(what).fired), wanted, 3 + wanted / 4) << name(what);
  }
}

TEST(Workloads, AreTheSameForExactQueues) {
  for (const workload what : {workload::w1, workload::w2, workload::w2p, workload::w4}) {
    EXPECT_EQ(done_by<quad_heap>(what).fired, expected(what).fired) << name(what);
  }
}

TEST(Workloads, HeartbeatsFireOneInTwentyResets) {
  // Random resets leave e^-3 of the gaps above 30 s.
  const tally done = done_by<quad_heap>(workload::w2, 64'000);
  EXPECT_NEAR(static_cast<double>(done.fired) / static_cast<double>(done.operations), 0.05, 0.01);
}

TEST(Workloads, AHundredthOfTheMixtureFires) {
  const tally done = done_by<quad_heap>(workload::w4, 64'000);
  EXPECT_NEAR(static_cast<double>(done.fired) / static_cast<double>(done.operations), 0.01, 0.003);
}

// ---------------------------------------------------------------- canaries

/// Forgets one firing in ten.
class forgetful_timers : public queue_timers<quad_heap> {
 public:
  using queue_timers::queue_timers;
  template <class Sink>
  void refresh(instant now, Sink&& sink) {
    expire(now, unlimited, sink);
  }
  template <class Sink>
  expiry expire(instant now, budget limit, Sink&& sink) {
    return queue_timers::expire(now, limit, [&](timer& due) {
      if (++count_ % 10 != 0) sink(due);
    });
  }

 private:
  int count_ = 0;
};

/// Returns false from every stop.
class lying_timers : public queue_timers<quad_heap> {
 public:
  using queue_timers::queue_timers;
  bool stop(timer& each) { return queue_timers::stop(each) && false; }
};

template <class Set>
void run_once(workload what) {
  one_thread<Set>(what, timers, seed).run(operations);
}

TEST(Workloads, DetectASetThatFiresTooLittle) {
  EXPECT_THROW(run_once<forgetful_timers>(workload::w3), failure);
  EXPECT_THROW(run_once<forgetful_timers>(workload::w4), failure);
  EXPECT_THROW(one_thread<forgetful_timers>(workload::worst_one_slot, timers, seed).time_calls(1), failure);
}

TEST(Workloads, DetectASetThatStopsNothing) {
  EXPECT_THROW(run_once<lying_timers>(workload::w1), failure);
  EXPECT_THROW(run_once<lying_timers>(workload::w4), failure);
}

}  // namespace

}  // namespace foliot::program::bench
