#include <foliot/service/timer_service.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <exception>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "watch_fixture.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class Service : public virtual_suite {};

INSTANTIATE_TEST_SUITE_P(, Service, every_engine(), engine_as_name);

TEST(ServiceOptions, AnEngineThatDoesNotExistIsRefusedWithTheListOfThoseThatDo) {
  try {
    const timer_service timers(with_engine("sundial"));
    FAIL() << "a sundial was accepted";
  } catch (const std::invalid_argument& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("there is no engine 'sundial'"), std::string::npos) << said;
    for (const std::string_view name : timer_service::engines()) EXPECT_NE(said.find(name), std::string::npos) << said;
  }
}

TEST(ServiceLateness, IsWhatTheEngineGivesUp) {
  for (const char* exact : {"foliot", "global-heap", "quad-heap-lazy", "goim-heap", "epoll-heap", "red-black-tree"}) {
    EXPECT_EQ(timer_service::lateness(exact, 30min), duration::zero()) << exact;
  }
  for (const char* ticking : {"hashed-wheel", "hierarchical-wheel", "erlang-wheel"}) {
    EXPECT_EQ(timer_service::lateness(ticking, 30min), duration(1ms)) << ticking;
  }
  EXPECT_EQ(timer_service::lateness("linux-wheel", 1ms), duration(1ms));
  EXPECT_EQ(timer_service::lateness("linux-wheel", 30min), duration(32'768ms));
}

TEST(ServiceLateness, IsNotKnownOfAnEngineThatDoesNotExist) {
  EXPECT_THROW(static_cast<void>(timer_service::lateness("sundial", 1s)), std::invalid_argument);
}

TEST(ServiceOptions, CopiesShareTheirFunctions) {
  int failures = 0;
  service_options options;
  options.on_exception = [only = std::make_unique<int>(1), &failures](const std::exception_ptr&) { failures += *only; };
  options.executor.emplace([](posted_callback job) { job(); });
  virtual_clock clock;
  timer_service first(clock, options);
  timer_service second(clock, options);
  const auto fail = [] { throw std::runtime_error("as it must"); };
  const timer one(first, 1ms, fail);
  const timer other(second, 1ms, fail);
  clock.advance(1ms);
  EXPECT_EQ(failures, 2);
}

TEST(ServiceOptions, ATurnOfZeroIsRefused) {
  service_options options;
  options.turn = 0;
  EXPECT_THROW(timer_service{std::move(options)}, std::invalid_argument);
}

TEST(ServiceOptions, ATurnIsTheEnginesOwnUnlessItIsSet) {
  for (const std::string_view name : timer_service::engines()) {
    EXPECT_EQ(timer_service::turn(name), name == "erlang-wheel" ? 100u : 256u) << name;
  }
  EXPECT_THROW(static_cast<void>(timer_service::turn("sundial")), std::invalid_argument);
}

/// Between two turns a loop serves its descriptors. The test counts there how many timers a turn has fired.
TEST(ServiceOptions, ATurnFiresAsManyTimersAsItIsTold) {
  constexpr std::size_t due = 1000;
  for (const std::size_t turn : {std::size_t{0}, std::size_t{7}, std::size_t{300}}) {
    service_options options = with_engine("epoll-heap");
    if (turn > 0) options.turn = turn;
    const std::size_t expected = turn > 0 ? turn : timer_service::turn("epoll-heap");
    timer_service loop(std::move(options));
    const connection ends;
    std::size_t fired = 0;
    std::size_t seen = 0;
    std::latch all(2);
    const watch input(loop, ends.here(), readiness::readable, [&] {
      if (!ends.read()) return;
      seen = fired;
      all.count_down();
    });
    std::vector<timer> many;
    const timer first(loop, 0ns, [&] {
      ++fired;
      ends.write();
      const instant past = loop.now() - 1h;  // due in this turn
      for (std::size_t i = 1; i < due; ++i) {
        many.emplace_back(loop, past, [&] {
          if (++fired == due) all.count_down();
        });
      }
    });
    all.wait();
    EXPECT_EQ(seen, expected);
  }
}

TEST(ServiceWheel, IsChosenAndRefusedWithWhatCanBe) {
  const auto refused = [](const char* engine, wheel_shape wheel) -> std::string {
    service_options options = with_engine(engine);
    options.wheel = wheel;
    std::string asked;
    try {
      static_cast<void>(timer_service::lateness(options, 1s));
    } catch (const std::invalid_argument& error) {
      asked = error.what();
    }
    try {
      const timer_service service(std::move(options));
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(asked, error.what());
      return error.what();
    }
    EXPECT_EQ(asked, "");
    return "accepted";
  };
  EXPECT_EQ(refused("hashed-wheel", {.tick = 100ms, .slots = 512}), "accepted");
  EXPECT_EQ(refused("hierarchical-wheel", {.tick = 1ns, .slots = 2}), "accepted");
  EXPECT_EQ(refused("hierarchical-wheel", {}), "accepted");
  EXPECT_EQ(refused("hashed-wheel", {.tick = 0ns}), "foliot: the tick of a wheel must be from 1 ns to 24 h, got 0 ns");
  for (const char* other : {"foliot", "goim", "linux-wheel", "erlang-wheel"}) {
    EXPECT_EQ(refused(other, {}), "foliot: the engine '" + std::string(other) +
                                      "' has no wheel whose tick and size can be chosen: choose 'hashed-wheel' or "
                                      "'hierarchical-wheel', or set no wheel");
  }
}

TEST(ServiceWheel, IsLateByItsTickAtMost) {
  for (const char* engine : {"hashed-wheel", "hierarchical-wheel"}) {
    for (const duration tick : {duration(1ns), duration(3us), duration(100ms), duration(1h)}) {
      for (const std::size_t slots : {std::size_t{1}, std::size_t{20}, std::size_t{512}}) {
        service_options options = with_engine(engine);
        options.wheel = wheel_shape{.tick = tick, .slots = slots};
        EXPECT_EQ(timer_service::lateness(options, 30min), tick);
        virtual_clock clock{instant::from_nanoseconds(-12'345)};
        timer_service timers(clock, std::move(options));
        std::vector<timer> many;
        int fired = 0;
        duration latest{};
        for (const duration timeout : {duration(1ns), duration(99ms), duration(3s), duration(1h) + 1ns}) {
          many.emplace_back(timers, timeout, [&](const firing& f) {
            ++fired;
            EXPECT_GE(f.lateness(), duration::zero());
            EXPECT_LE(f.lateness(), tick);
            latest = std::max(latest, f.lateness());
          });
        }
        clock.advance(3h);
        EXPECT_EQ(fired, 4);
        if (tick >= duration(100ms)) {
          EXPECT_GT(latest, duration::zero()) << "the lateness must be that of the chosen tick";
        }
      }
    }
  }
}

TEST_P(Service, ShowsItsClock) {
  clock.advance(5s);
  EXPECT_EQ(timers.now(), clock.now());
}

TEST_P(Service, CountsWhatItDoes) {
  std::vector<timer> many;
  for (int i = 0; i < 10; ++i) many.emplace_back(timers, 1ms * (i + 1), [] {});
  many[0].reset(1s);
  many[1].stop();
  many[1].stop();
  many[2].stop_and_wait();
  many[3] = timer();
  clock.advance(7ms);
  const service_counters now = timers.counters();
  EXPECT_EQ(now.started, 10u);
  EXPECT_EQ(now.superseded, 1u);
  EXPECT_EQ(now.stopped, 3u);
  EXPECT_EQ(now.fired, 3u);
  EXPECT_EQ(now.skipped, 0u);
  EXPECT_EQ(now.wake_ups, 0u);
  EXPECT_EQ(now.pending, 4u);
  EXPECT_EQ(now.peak_pending, 10u);
  EXPECT_EQ(now.started, now.stopped + now.fired + now.pending) << "each start must have one outcome";
}

TEST_P(Service, ATurnOnAVirtualClockIsBounded) {
  std::vector<timer> many;
  int fired = 0;
  for (int i = 0; i < 10; ++i) many.emplace_back(timers, 1ms, [&] { ++fired; });
  EXPECT_EQ(clock.advance(1s, 3), (expiry{3, true}));
  EXPECT_EQ(fired, 3);
  EXPECT_EQ(clock.advance(1s, 7), (expiry{7, false}));
  EXPECT_EQ(clock.advance(1s), expiry{});
}

TEST_P(Service, ShutDownDropsWhatIsPendingAndSaysHowMuch) {
  int fired = 0;
  std::vector<timer> many;
  for (int i = 0; i < 10; ++i) many.emplace_back(timers, 1ms * (i + 1), [&] { ++fired; });
  clock.advance(4ms);
  EXPECT_EQ(timers.shut_down(), 6u);
  EXPECT_EQ(timers.shut_down(), 0u);
  EXPECT_EQ(timers.counters().dropped, 6u);
  EXPECT_EQ(timers.counters().stopped, 0u);
  clock.advance(1s);
  EXPECT_EQ(fired, 4);
  EXPECT_EQ(many[0].reset(1ms), reset_result::closed);
  EXPECT_EQ(timers.counters().pending, 0u);
}

TEST_P(Service, ShutDownFromInsideACallbackDoesNotWaitForItself) {
  int later = 0;
  timer second(timers, 2ms, [&] { ++later; });
  timer first(timers, 1ms, [&] { EXPECT_EQ(timers.shut_down(), 1u); });
  clock.advance(1s);
  EXPECT_EQ(later, 0);
}

TEST_P(Service, ServicesOnOneClockFireInOneOrder) {
  timer_service other(clock, options());
  std::vector<int> order;
  timer c(other, 3ms, [&] { order.push_back(3); });
  timer b(other, 2ms, [&] { order.push_back(2); });
  timer b2(timers, 2ms, [&] { order.push_back(1); });  // the same instant, but its service joined the clock first
  timer a(timers, 1ms, [&] { order.push_back(0); });
  clock.advance(10ms);
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
}

TEST_P(Service, ACallbackMayAdvanceAnotherClock) {
  virtual_clock inner;
  timer_service on_it(inner, options());
  int fired = 0;
  timer t(on_it, 1ms, [&] { ++fired; });
  timer outer(timers, 1ms, [&] { inner.advance(1ms); });
  clock.advance(1ms);
  EXPECT_EQ(fired, 1);
}

TEST_P(Service, WhatACallbackStartsOnAnotherServiceOfTheClockIsRunOnTheWay) {
  timer_service other(clock, options());
  std::vector<int> order;
  timer inner(other, [&] { order.push_back(2); });
  timer outer(timers, 1ms, [&] {
    order.push_back(1);
    inner.reset(1ms);
  });
  timer last(timers, 3ms, [&] { order.push_back(3); });
  clock.advance(10ms);
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

}  // namespace
}  // namespace foliot::test
