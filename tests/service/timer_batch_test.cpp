// Batches against calls one by one: the same results and the same timers that fire at the same instants.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <latch>
#include <limits>
#include <new>
#include <optional>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/core/seam/random.hpp>
#include <foliot/service/timer_batch.hpp>

#include "fixture.hpp"
#include "service/batch_part.hpp"
#include "support/allocations.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

std::vector<timer_ref> refs_to(const std::vector<timer>& timers) { return {timers.begin(), timers.end()}; }

/// Timers that note what they do, and a batch of them, by one call or by one call for each.
class noted_timers {
 public:
  noted_timers(timer_service& service, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      all_.emplace_back(service, [this, i](const firing& now) {
        fired_.emplace_back(i, now.deadline, now.now);
        if (in_callback_) in_callback_();
      });
    }
  }

  /// Timers of the batch by their indexes.
  [[nodiscard]] std::vector<timer_ref> refs(const std::vector<std::size_t>& batch) const {
    std::vector<timer_ref> named;
    for (const std::size_t each : batch) named.emplace_back(all_[each]);
    return named;
  }
  timer& operator[](std::size_t index) { return all_[index]; }
  std::vector<timer>& all() { return all_; }
  [[nodiscard]] const auto& fired() const { return fired_; }
  std::function<void()> in_callback_;

 private:
  std::vector<timer> all_;
  std::vector<std::tuple<std::size_t, instant, instant>> fired_;
};

/// What a random step does, alike for the batches and for the calls.
struct random_step {
  enum class kind : std::uint8_t { delay, deadline, each, stop };
  kind does;
  std::vector<std::size_t> batch;
  duration delay;
  duration slack;
  std::vector<duration> delays;
};

random_step random_batch(random_stream& random, std::size_t timers, duration longest) {
  const auto below = [&random](std::uint64_t bound) { return random.below(bound); };
  const auto some_time = [&] {
    return duration::nanoseconds(static_cast<std::int64_t>(below(static_cast<std::uint64_t>(longest.count()))) - 1000);
  };
  random_step step{
      .does = static_cast<random_step::kind>(below(4)), .batch = {}, .delay = some_time(), .slack = {}, .delays = {}};
  if (below(3) == 0) step.slack = some_time();
  const std::uint64_t size = below(4) == 0 ? below(200) : below(20);
  for (std::uint64_t i = 0; i < size; ++i) {
    step.batch.push_back(below(timers));
    step.delays.push_back(some_time());
  }
  return step;
}

using outcome = std::variant<std::optional<reset_result>, stop_result>;

/// The step by one call.
std::vector<outcome> as_batch(const random_step& step, const noted_timers& timers, instant now) {
  const std::vector<timer_ref> refs = timers.refs(step.batch);
  if (step.does == random_step::kind::stop) {
    std::vector<stop_result> found(refs.size());
    const std::size_t stopped = stop_all(refs, found);
    EXPECT_EQ(stopped, static_cast<std::size_t>(std::ranges::count(found, stop_result::stopped)));
    return {found.begin(), found.end()};
  }
  std::vector<std::optional<reset_result>> found(refs.size());
  std::vector<instant> deadlines;
  for (const duration each : step.delays) deadlines.push_back(now + each);
  const batch_result result = step.does == random_step::kind::delay ? reset_all(refs, step.delay, step.slack, found)
                              : step.does == random_step::kind::deadline ? reset_all_at(refs, now + step.delay, found)
                                                                         : reset_all_at(refs, deadlines, found);
  EXPECT_EQ(result.done, refs.size());
  EXPECT_EQ(result.failed, 0u);
  EXPECT_EQ(result.failure, nullptr);
  return {found.begin(), found.end()};
}

/// The step by a call for each timer.
std::vector<outcome> one_by_one(const random_step& step, noted_timers& timers, instant now) {
  std::vector<outcome> found;
  for (std::size_t i = 0; i < step.batch.size(); ++i) {
    timer& each = timers[step.batch[i]];
    switch (step.does) {
      case random_step::kind::stop: found.emplace_back(each.stop()); break;
      case random_step::kind::delay: found.emplace_back(std::optional(each.reset(step.delay, step.slack))); break;
      case random_step::kind::deadline: found.emplace_back(std::optional(each.reset_at(now + step.delay))); break;
      case random_step::kind::each: found.emplace_back(std::optional(each.reset_at(now + step.delays[i]))); break;
    }
  }
  return found;
}

/// Its cheap reading is 4 us ahead, as the monotonic clock's may be.
class clock_with_two_readings final : public clock {
 public:
  [[nodiscard]] instant now() const noexcept override {
    ++readings;
    return at;
  }
  [[nodiscard]] instant now_or_later() const noexcept override {
    ++readings;
    return at + 4us;
  }
  instant at = instant::from_nanoseconds(1'000'000'000);
  mutable int readings = 0;
};

TEST(TimerBatchDeadlines, APreciseShardHasAnExactReading) {
  const clock_with_two_readings time;
  detail::batch_deadlines deadlines(2ms, 0ns);
  deadlines.begin_shard(false);
  EXPECT_EQ(deadlines.of(0, time), time.at + 4us + 2ms);
  EXPECT_EQ(deadlines.of(1, time), time.at + 4us + 2ms);
  EXPECT_EQ(time.readings, 1);
  deadlines.begin_shard(true);
  EXPECT_EQ(deadlines.of(2, time), time.at + 2ms);
  EXPECT_EQ(deadlines.of(3, time), time.at + 2ms);
  deadlines.begin_shard(false);
  EXPECT_EQ(deadlines.of(4, time), time.at + 2ms) << "an exact reading is good enough for all";
  deadlines.begin_shard(true);
  EXPECT_EQ(deadlines.of(5, time), time.at + 2ms);
  EXPECT_EQ(time.readings, 2);
}

/// A batch over two services of one clock: it reads that clock twice.
TEST(TimerBatchDeadlines, APreciseServiceDoesNotTakeTheReadingOfAnother) {
  service_options exact;
  exact.precise = true;
  timer_service coarse;
  timer_service precise(std::move(exact));
  constexpr int rounds = 20;
  int same = 0;
  for (int i = 0; i < rounds; ++i) {
    std::latch fired(2);
    std::array<instant, 2> deadlines;
    const auto note = [&fired](instant& deadline) {
      return [&](const firing& now) {
        deadline = now.deadline;
        fired.count_down();
      };
    };
    const timer first(coarse, note(deadlines[0]));
    const timer second(precise, note(deadlines[1]));
    const std::array refs{timer_ref(first), timer_ref(second)};
    EXPECT_EQ(reset_all(refs, 1ms).done, 2u);
    fired.wait();
    same += deadlines[0] == deadlines[1] ? 1 : 0;
  }
  EXPECT_LT(same, rounds) << "two readings are equal by chance only";
}

class TimerBatches : public virtual_suite {};
INSTANTIATE_TEST_SUITE_P(, TimerBatches, every_engine(), engine_as_name);

TEST_P(TimerBatches, AreTheCallsOneByOne) {
  constexpr std::size_t count = 30;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_stream random(seed);
    virtual_clock time[2];
    timer_service services[2]{timer_service(time[0], options()), timer_service(time[1], options())};
    noted_timers batched(services[0], count);
    noted_timers called(services[1], count);
    for (int turn = 0; turn < 40; ++turn) {
      const random_step step = random_batch(random, count, 3s);
      ASSERT_EQ(as_batch(step, batched, services[0].now()), one_by_one(step, called, services[1].now()));
      // Also from inside callbacks, where the timer that runs is among the others.
      const random_step inside = random_batch(random, count, 3s);
      std::vector<outcome> found[2];
      batched.in_callback_ = [&, once = false]() mutable {
        if (!std::exchange(once, true)) found[0] = as_batch(inside, batched, services[0].now());
      };
      called.in_callback_ = [&, once = false]() mutable {
        if (!std::exchange(once, true)) found[1] = one_by_one(inside, called, services[1].now());
      };
      const duration passes = duration::nanoseconds(static_cast<std::int64_t>(random.below(1'000'000'000)));
      for (virtual_clock& each : time) each.advance(passes);
      ASSERT_EQ(found[0], found[1]);
      ASSERT_EQ(batched.fired(), called.fired());
    }
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(batched[i].pending(), called[i].pending());
    const service_counters one = services[0].counters();
    const service_counters other = services[1].counters();
    EXPECT_EQ(one.started, other.started);
    EXPECT_EQ(one.superseded, other.superseded);
    EXPECT_EQ(one.stopped, other.stopped);
    EXPECT_EQ(one.fired, other.fired);
    EXPECT_GT(one.fired + one.stopped, 0u);
  }
}

/// On the system's clock most of these calls go without the lock. Nothing is due for hours.
TEST_P(TimerBatches, AreTheCallsOneByOneWithAThread) {
  constexpr std::size_t count = 30;
  random_stream random(1);
  timer_service one(options());
  timer_service other(options());
  noted_timers batched(one, count);
  noted_timers called(other, count);
  for (int turn = 0; turn < 400; ++turn) {
    random_step step = random_batch(random, count, 3h);
    step.delay = step.delay + 1h;
    for (duration& each : step.delays) each = each + 1h;
    const instant now = one.now();
    ASSERT_EQ(as_batch(step, batched, now), one_by_one(step, called, now));
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(batched[i].pending(), called[i].pending());
  }
  EXPECT_EQ(one.counters().started, other.counters().started);
  EXPECT_EQ(one.counters().superseded, other.counters().superseded);
  EXPECT_EQ(one.counters().stopped, other.counters().stopped);
  EXPECT_EQ(one.shut_down(), other.shut_down());
}

TEST_P(TimerBatches, ATimerThatIsNamedTwiceHasTheSecondDeadline) {
  std::vector<instant> fired;
  const timer t(timers, [&](const firing& now) { fired.push_back(now.deadline); });
  const std::array<timer_ref, 2> twice{t, t};
  const instant start = timers.now();
  for (const auto& [first, second] : {std::pair(10s, 20s), std::pair(20s, 10s)}) {
    fired.clear();
    std::array<std::optional<reset_result>, 2> found;
    const std::array deadlines{timers.now() + first, timers.now() + second};
    reset_all_at(twice, deadlines, found).rethrow();
    EXPECT_EQ(found[0], reset_result::idle);
    EXPECT_EQ(found[1], reset_result::superseded);
    clock.advance(1min);
    EXPECT_EQ(fired, std::vector{deadlines[1]});
  }
  reset_all(twice, 1s).rethrow();
  std::array<stop_result, 2> stopped{};
  EXPECT_EQ(stop_all(twice, stopped), 1u);
  EXPECT_EQ(stopped[0], stop_result::stopped);
  EXPECT_EQ(stopped[1], stop_result::idle);
  EXPECT_EQ(timers.now() - start, 2min);
}

TEST_P(TimerBatches, OfAServiceThatHasEndedAreClosed) {
  std::optional<virtual_clock> time(std::in_place);
  std::optional<timer_service> service(std::in_place, *time, options());
  std::vector<timer> all;
  for (int i = 0; i < 100; ++i) all.emplace_back(*service, 1h, [] {});
  const std::vector<timer_ref> refs = refs_to(all);
  service.reset();
  time.reset();  // no call may read this clock any more
  std::vector<std::optional<reset_result>> found(refs.size());
  const batch_result result = reset_all(refs, 1h, 1s, found);
  EXPECT_EQ(result.done, refs.size());
  EXPECT_EQ(result.failed, 0u);
  for (const auto& each : found) EXPECT_EQ(each, reset_result::closed);
  std::vector<stop_result> stopped(refs.size(), stop_result::stopped);
  EXPECT_EQ(stop_all(refs, stopped), 0u);
  for (const stop_result each : stopped) EXPECT_EQ(each, stop_result::idle);
}

/// The n-th allocation of a batch fails, or all from the n-th on: no timer is half armed, and the others are reset.
TEST_P(TimerBatches, ATimerThatFailsIsAsItWasAndTheOthersAreReset) {
  for (const std::size_t failures : {std::size_t{1}, std::numeric_limits<std::size_t>::max()}) {
    bool any_failed = true;
    for (std::size_t n = 0; any_failed; ++n) {
      virtual_clock time;
      timer_service service(time, options());
      noted_timers noted(service, 150);
      const std::vector<timer_ref> refs = refs_to(noted.all());
      std::vector<std::optional<reset_result>> found(refs.size(), reset_result::closed);
      batch_result result;
      {
        const failing_allocations fail(n, failures);
        result = reset_all(refs, 1s, duration::zero(), found);
        any_failed = fail.failed();
      }
      EXPECT_EQ(result.failed != 0, any_failed);
      EXPECT_EQ(result.done + result.failed, refs.size());
      if (any_failed) {
        EXPECT_THROW(result.rethrow(), std::bad_alloc);
      }
      std::vector<std::size_t> armed;
      for (std::size_t i = 0; i < refs.size(); ++i) {
        ASSERT_EQ(noted[i].pending(), found[i].has_value());
        if (!found[i]) continue;
        EXPECT_EQ(found[i], reset_result::idle);
        armed.push_back(i);
      }
      EXPECT_EQ(armed.size(), result.done);
      EXPECT_EQ(service.counters().pending, result.done);
      time.advance(2s);
      std::vector<std::size_t> fired;
      for (const auto& each : noted.fired()) fired.push_back(std::get<0>(each));
      std::ranges::sort(fired);
      EXPECT_EQ(fired, armed) << "a timer must fire if and only if its reset succeeded";
    }
  }
}

TEST_P(TimerBatches, RefuseSpansOfAnotherSizeAndDoNothing) {
  const timer t(timers, [] {});
  const std::array<timer_ref, 2> refs{t, t};
  std::array<std::optional<reset_result>, 1> reset{};
  std::array<stop_result, 1> stopped{};
  EXPECT_THROW(std::ignore = reset_all(refs, 1s, duration::zero(), reset), std::invalid_argument);
  EXPECT_THROW(std::ignore = reset_all_at(refs, timers.now(), reset), std::invalid_argument);
  EXPECT_THROW(std::ignore = reset_all_at(refs, std::array{timers.now()}), std::invalid_argument);
  EXPECT_THROW(std::ignore = reset_all_at(refs, std::array{timers.now(), timers.now()}, reset), std::invalid_argument);
  EXPECT_THROW(std::ignore = stop_all(refs, stopped), std::invalid_argument);
  EXPECT_THROW(std::ignore = reset_all_at(refs, std::chrono::steady_clock::now()), std::invalid_argument)
      << "the timers are on virtual time";
  EXPECT_FALSE(t.pending());
  EXPECT_EQ(reset_all({}, 1s).done, 0u);
  EXPECT_EQ(stop_all({}), 0u);
}

TEST_P(TimerBatches, NameTheSameTimersWhenHandlesHaveMoved) {
  int fired = 0;
  timer t(timers, [&] { ++fired; });
  const timer_ref named = t;
  const timer moved = std::move(t);
  named.prefetch();
  moved.prefetch();
  EXPECT_EQ(reset_all({&named, 1}, 1s).done, 1u);
  EXPECT_TRUE(moved.pending());
  clock.advance(1min);
  EXPECT_EQ(fired, 1);
  EXPECT_THROW(std::ignore = timer_ref(t), std::logic_error) << "its handle is empty";
  t.prefetch();
}

/// The places where timers were armed, which reports show, are those of the batches.
TEST_P(TimerBatches, ArmTheirTimersWhereTheyAreCalled) {
  service_options chosen = options();
  std::vector<std::uint_least32_t> armed_at;
  chosen.on_exception = [&](const callback_failure& failure) { armed_at.push_back(failure.armed_at.line()); };
  timer_service service(clock, std::move(chosen));
  const timer t(service, [] { throw 1; });
  const timer_ref named = t;
  const auto here = std::source_location::current();
  reset_all({&named, 1}, 1s).rethrow();
  clock.advance(1min);
  reset_all_at({&named, 1}, service.now()).rethrow();
  clock.advance(1min);
  EXPECT_EQ(armed_at, (std::vector{here.line() + 1, here.line() + 3}));
}

/// Each timer of a batch is earlier than all before it, so that one call for each may wake a sleeping thread each time.
TEST(TimerBatchWakeUps, AreAtMostOneForABatch) {
  timer_service service(service_options{.shards = 1});
  std::vector<timer> all;
  for (int i = 0; i < 64; ++i) all.emplace_back(service, [] {});
  const std::vector<timer_ref> refs = refs_to(all);
  instant earliest = service.now() + 10h;
  std::vector<instant> deadlines(refs.size());
  // The thread must have gone to sleep again before a batch wakes it.
  for (std::uint64_t woken = 0; woken < 3;) {
    for (instant& each : deadlines) each = earliest -= 1us;
    const std::uint64_t before = service.counters().wake_ups;
    reset_all_at(refs, deadlines).rethrow();
    const std::uint64_t wake_ups = service.counters().wake_ups - before;
    ASSERT_LE(wake_ups, 1u);
    woken += wake_ups;
  }
}

class BatchesAcrossShards : public engine_suite {};
INSTANTIATE_TEST_SUITE_P(, BatchesAcrossShards, every_exact_engine_of_shards(), engine_as_name);

/// A batch of the timers of four shards, in turn.
TEST_P(BatchesAcrossShards, FireAllTimers) {
  constexpr std::size_t each_shard = 50;
  service_options chosen = options();
  chosen.shards = timer_service(options()).shards() == 1 ? 1 : 4;
  timer_service service(std::move(chosen));
  constexpr std::ptrdiff_t all = 4 * each_shard;
  std::latch fired(all);
  std::vector<timer> made[4];
  for (std::vector<timer>& part : made) {
    std::thread([&] {
      for (std::size_t i = 0; i < each_shard; ++i) part.emplace_back(service, [&fired] { fired.count_down(); });
    }).join();
  }
  std::vector<timer_ref> mixed;
  for (std::size_t i = 0; i < all; ++i) mixed.emplace_back(made[i % 4][i / 4]);
  std::vector<std::optional<reset_result>> found(mixed.size());
  const auto all_are = [&found](reset_result expected) {
    return std::ranges::all_of(found, [expected](const auto& each) { return each == expected; });
  };
  reset_all(mixed, 1h, duration::zero(), found).rethrow();
  EXPECT_TRUE(all_are(reset_result::idle));
  reset_all(mixed, 2h, duration::zero(), found).rethrow();
  EXPECT_TRUE(all_are(reset_result::superseded));
  std::vector<stop_result> stopped(mixed.size());
  EXPECT_EQ(stop_all(mixed, stopped), mixed.size());
  EXPECT_EQ(stop_all(mixed, stopped), 0u);
  reset_all(mixed, 3h, duration::zero(), found).rethrow();
  EXPECT_TRUE(all_are(reset_result::idle));
  const std::vector<instant> now(mixed.size(), service.now());
  reset_all_at(mixed, now, found).rethrow();
  EXPECT_TRUE(all_are(reset_result::superseded));
  fired.wait();
  EXPECT_EQ(service.drain(1h), 0u);
  EXPECT_EQ(service.counters().fired, mixed.size());
}

/// Two threads reset and stop the same timers while they fire: each start has one outcome.
TEST_P(BatchesAcrossShards, RacesOfBatchesCountEachStartOnce) {
  timer_service service(options());
  constexpr std::size_t count = 80;
  std::atomic<std::uint64_t> fired = 0;
  std::vector<timer> all;
  for (std::size_t i = 0; i < count; ++i) all.emplace_back(service, [&fired] { ++fired; });
  const std::vector<timer_ref> refs = refs_to(all);
  std::atomic<std::uint64_t> started = 0;
  std::atomic<std::uint64_t> stopped = 0;
  const auto work = [&](std::uint64_t seed) {
    random_stream random(seed);
    std::vector<std::optional<reset_result>> found(count);
    for (int round = 0; round < 200; ++round) {
      const std::size_t first = random.below(count);
      const auto some = std::span(refs).subspan(first, random.below(count - first) + 1);
      if (random.below(3) == 0) {
        stopped += stop_all(some);
        continue;
      }
      const duration delay =
          random.below(2) == 0 ? duration(1h) : duration::nanoseconds(static_cast<std::int64_t>(random.below(50'000)));
      reset_all(some, delay, duration::zero(), found).rethrow();
      for (std::size_t i = 0; i < some.size(); ++i) started += found[i] != reset_result::superseded ? 1 : 0;
    }
  };
  std::thread other(work, 1u);
  work(2u);
  other.join();
  stopped += stop_all(refs);
  EXPECT_EQ(service.drain(1h), 0u);
  EXPECT_EQ(started, stopped + fired);
  const service_counters counted = service.counters();
  EXPECT_EQ(counted.fired, fired);
  EXPECT_EQ(counted.stopped, stopped);
  EXPECT_EQ(counted.started, started);
}

}  // namespace
}  // namespace foliot::test
