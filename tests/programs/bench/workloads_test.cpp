// Every contestant does what the workloads ask of it, and a queue that does not is found out.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <foliot/queue/quad_heap.hpp>
#include <foliot/queue/reference_queue.hpp>

#include "bench/bout_of.hpp"
#include "bench/contestants/queue_timers.hpp"
#include "bench/roster.hpp"

namespace foliot::program::bench {

void PrintTo(const contestant& each, std::ostream* out) { *out << each.name; }

namespace {

constexpr std::size_t timers = 50;
constexpr std::uint64_t operations = 6400;
constexpr std::uint64_t seed = 7;

tally run(const contestant& who, workload what, std::uint64_t at_least = operations) {
  const auto bout = who.make(timers, seed);
  bout->begin(what);
  return bout->run(what, at_least);
}

/// What an exact queue fires, by the queue that is too simple to be wrong.
tally expected(workload what) { return run(make_contestant<queue_timers<reference_queue>>("reference"), what); }

class EveryContestant : public testing::TestWithParam<contestant> {};

TEST_P(EveryContestant, DoesEachWorkload) {
  for (const workload what : all_workloads) {
    if (times_calls(what) || !GetParam().takes_part(what)) continue;
    const tally done = run(GetParam(), what);
    EXPECT_EQ(done.wrong, "") << name(what);
    EXPECT_EQ(done.operations, what == workload::w3 ? timers : operations) << name(what);
    if (what == workload::w3) {
      EXPECT_EQ(done.fired, timers);
    }
  }
}

TEST_P(EveryContestant, GoesOnWhereItWas) {
  for (const auto& [first, second] : {std::pair(workload::w1, workload::w1p),
                                      {workload::w2, workload::w2p},
                                      {workload::w4, workload::w4},
                                      {workload::w3, workload::w3}}) {
    if (!GetParam().takes_part(first)) continue;
    const auto bout = GetParam().make(timers, seed);
    bout->begin(first);
    for (const workload each : {first, second, first}) EXPECT_EQ(bout->run(each, 64).wrong, "") << name(each);
  }
}

TEST_P(EveryContestant, WorksWithOneTimer) {
  for (const workload what : all_workloads) {
    if (!GetParam().takes_part(what)) continue;
    const auto bout = GetParam().make(1, seed);
    bout->begin(what);
    EXPECT_EQ(times_calls(what) ? bout->time_calls(what, 5).wrong : bout->run(what, 64).wrong, "") << name(what);
  }
}

TEST_P(EveryContestant, FiresAboutAsManyAsTheReferenceOnVirtualTime) {
  if (GetParam().time != time_kind::virtual_time) return;
  for (const workload what : {workload::w1, workload::w2, workload::w2p, workload::w4}) {
    // What fires draws its next timeout, so that queues which order ties otherwise go ways of their own.
    const auto wanted = static_cast<double>(expected(what).fired);
    EXPECT_NEAR(static_cast<double>(run(GetParam(), what).fired), wanted, 3 + wanted / 4) << name(what);
  }
}

TEST_P(EveryContestant, TimesEachCall) {
  for (const workload what : {workload::worst_uniform, workload::worst_one_slot}) {
    if (!GetParam().takes_part(what)) continue;
    const auto bout = GetParam().make(timers, seed);
    bout->begin(what);
    const call_times times = bout->time_calls(what, 200);
    EXPECT_EQ(times.wrong, "");
    EXPECT_GE(times.expire.size(), 1u);
    EXPECT_GE(times.start.size(), 200u);
    EXPECT_EQ(times.start.size(), times.stop.size());
    EXPECT_EQ(times.start.size(), times.reset.size());
    if (what == workload::worst_one_slot) {
      EXPECT_EQ(times.fired, timers);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Bench, EveryContestant, testing::ValuesIn(everybody().contestants), [](const auto& each) {
  std::string name = each.param.name;
  std::erase(name, '-');
  return name;
});

TEST(Workloads, AreTheSameForExactQueues) {
  const contestant exact = make_contestant<queue_timers<quad_heap>>("quad-heap");
  for (const workload what : {workload::w1, workload::w2, workload::w2p, workload::w4}) {
    EXPECT_EQ(run(exact, what).fired, expected(what).fired) << name(what);
  }
}

TEST(Workloads, HeartbeatsFireOneInTwentyResets) {
  // Random resets leave e^-3 of the gaps above 30 s.
  const tally done = run(make_contestant<queue_timers<quad_heap>>("quad-heap"), workload::w2, 64'000);
  EXPECT_NEAR(static_cast<double>(done.fired) / static_cast<double>(done.operations), 0.05, 0.01);
}

TEST(Workloads, AHundredthOfTheMixtureFires) {
  const tally done = run(make_contestant<queue_timers<quad_heap>>("quad-heap"), workload::w4, 64'000);
  EXPECT_NEAR(static_cast<double>(done.fired) / static_cast<double>(done.operations), 0.01, 0.003);
}

// ---------------------------------------------------------------- canaries

/// Forgets one firing in ten.
class forgetful_timers : public queue_timers<quad_heap> {
 public:
  using queue_timers::queue_timers;
  template <class Sink>
  void refresh(std::int64_t now, Sink&& sink) {
    expire(now, unlimited, sink);
  }
  template <class Sink>
  expiry expire(std::int64_t now, budget limit, Sink&& sink) {
    return queue_timers::expire(now, limit, [&](timer& due) {
      if (++count_ % 10 != 0) sink(due);
    });
  }

 private:
  int count_ = 0;
};

/// Says of every stop that there was nothing to stop.
class lying_timers : public queue_timers<quad_heap> {
 public:
  using queue_timers::queue_timers;
  bool stop(timer& each) { return queue_timers::stop(each) && false; }
};

TEST(Workloads, FindOutWhoFiresTooLittle) {
  const contestant forgetful = make_contestant<forgetful_timers>("forgetful");
  EXPECT_NE(run(forgetful, workload::w3).wrong, "");
  EXPECT_NE(run(forgetful, workload::w4).wrong, "");
  EXPECT_NE(forgetful.make(timers, seed)->time_calls(workload::worst_one_slot, 1).wrong, "");
}

TEST(Workloads, FindOutWhoStopsNothing) {
  const contestant lying = make_contestant<lying_timers>("lying");
  EXPECT_NE(run(lying, workload::w1).wrong, "");
  EXPECT_NE(run(lying, workload::w4).wrong, "");
}

}  // namespace

}  // namespace foliot::program::bench
