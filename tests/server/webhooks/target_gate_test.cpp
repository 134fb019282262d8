// When a delivery may begin: limits, the circuit, and turns on virtual time.
#include "server/webhooks/target_gate.hpp"

#include <random>

#include <gmock/gmock.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "server/webhooks/target_turns.hpp"

namespace foliot::program::webhooks {
namespace {

using namespace std::chrono_literals;
using kind = permission::kind;
using runtime::task;

instant at(duration since_start) { return instant{} + duration(1h) + since_start; }

bool enters(target_gate& gate, duration when) { return gate.try_enter(at(when)).what == kind::granted; }

void fail(target_gate& gate, duration when, std::size_t times = 1) {
  for (std::size_t i = 0; i < times; ++i) {
    const permission may = gate.try_enter(at(when));
    ASSERT_EQ(may.what, kind::granted);
    gate.settle(went::badly, may.is_probe, at(when));
  }
}

TEST(TargetGate, LimitsWhatIsUnderWay) {
  target_gate gate({.most_at_once = 2});
  EXPECT_TRUE(enters(gate, 0s));
  EXPECT_TRUE(enters(gate, 0s));
  EXPECT_EQ(gate.try_enter(at(1h)).what, kind::after_a_delivery);
  gate.settle(went::well, false, at(1h));
  EXPECT_TRUE(enters(gate, 1h));
  EXPECT_EQ(gate.state().under_way, 2U);
}

TEST(TargetGate, LimitsTheRate) {
  target_gate gate({.most_at_once = 1000, .each_second = 10, .burst = 3});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(enters(gate, 0s)) << i;
  const permission later = gate.try_enter(at(0s));
  EXPECT_EQ(later.what, kind::not_before);
  EXPECT_EQ(later.when, at(100ms));
  EXPECT_FALSE(enters(gate, 99ms));
  EXPECT_TRUE(enters(gate, 100ms));
  EXPECT_FALSE(enters(gate, 199ms));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(enters(gate, 10s)) << "a silence fills the bucket, and no more";
  EXPECT_FALSE(enters(gate, 10s));
}

TEST(TargetGate, OpensItsCircuitAfterFailuresInARow) {
  target_gate gate({.failures_to_open = 3, .first_pause = 5s, .longest_pause = 15s});
  fail(gate, 0s, 2);
  EXPECT_TRUE(enters(gate, 0s));
  gate.settle(went::answered, false, at(0s));  // it is up
  fail(gate, 0s, 2);
  EXPECT_EQ(gate.state().state, circuit::closed);
  fail(gate, 0s);
  EXPECT_EQ(gate.state().state, circuit::open);
  const permission later = gate.try_enter(at(4s));
  EXPECT_EQ(later.what, kind::not_before);
  EXPECT_EQ(later.when, at(5s));
  // One probe at a time; each that fails doubles the pause, up to the longest.
  duration when = 5s;
  for (const duration pause : {10s, 15s, 15s}) {
    const permission probe = gate.try_enter(at(when));
    ASSERT_EQ(probe.what, kind::granted);
    EXPECT_TRUE(probe.is_probe);
    EXPECT_EQ(gate.state().state, circuit::half_open);
    EXPECT_EQ(gate.try_enter(at(when + 1h)).what, kind::after_a_delivery);
    gate.settle(went::badly, probe.is_probe, at(when));
    EXPECT_EQ(gate.try_enter(at(when)).when, at(when + pause));
    when += pause;
  }
  EXPECT_EQ(gate.state().times_opened, 4U);
  const permission probe = gate.try_enter(at(when));
  gate.settle(went::well, probe.is_probe, at(when));
  EXPECT_EQ(gate.state().state, circuit::closed);
  // And the next time the pause is the first one again.
  fail(gate, when, 3);
  EXPECT_EQ(gate.try_enter(at(when)).when, at(when + 5s));
}

TEST(TargetGate, ProbesAgainAfterAProbeWasGivenUp) {
  target_gate gate({.failures_to_open = 1, .first_pause = 5s});
  fail(gate, 0s);
  const permission probe = gate.try_enter(at(5s));
  gate.settle(went::nowhere, probe.is_probe, at(5s));
  const permission next = gate.try_enter(at(5s));
  EXPECT_EQ(next.what, kind::granted);
  EXPECT_TRUE(next.is_probe);
}

TEST(TargetGate, LearnsFromLateDeliveries) {
  target_gate gate({.failures_to_open = 1, .first_pause = 5s});
  ASSERT_TRUE(enters(gate, 0s));
  ASSERT_TRUE(enters(gate, 0s));
  fail(gate, 0s);
  gate.settle(went::badly, false, at(4s));  // it began before
  EXPECT_EQ(gate.try_enter(at(4s)).when, at(5s)) << "a late failure does not lengthen the pause";
  gate.settle(went::well, false, at(4s));
  EXPECT_EQ(gate.state().state, circuit::closed);
}

TEST(TargetGate, HoldsAndDisables) {
  target_gate gate({});
  gate.hold_until(at(10s));
  gate.hold_until(at(5s));
  EXPECT_EQ(gate.try_enter(at(9s)).when, at(10s));
  gate.disable();
  EXPECT_EQ(gate.try_enter(at(1h)).what, kind::disabled);
  gate.enable();
  EXPECT_TRUE(enters(gate, 0s));
}

TEST(TargetGate, RefusesLimitsOutOfRange) {
  EXPECT_THROW(target_gate({.most_at_once = 0}), std::invalid_argument);
  EXPECT_THROW(target_gate({.each_second = 1'000'001}), std::invalid_argument);
  EXPECT_THROW(target_gate({.first_pause = 0s}), std::invalid_argument);
  EXPECT_THROW(target_gate({.first_pause = 2s, .longest_pause = 1s}), std::invalid_argument);
  target_gate gate({.most_at_once = 1});
  EXPECT_THROW(gate.set_limits({.most_at_once = 0}), std::invalid_argument);
  EXPECT_TRUE(enters(gate, 0s));
  EXPECT_FALSE(enters(gate, 0s));
  gate.set_limits({.most_at_once = 2});
  EXPECT_TRUE(enters(gate, 0s));
}

// Whatever happens in which order: never more under way than allowed, one probe at a time, and the gate opens again.
TEST(TargetGate, KeepsItsPromisesInRandomOrders) {
  const auto seed = static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const target_limits limits{.most_at_once = 1 + random() % 4,
                               .each_second = random() % 2 * 5,
                               .failures_to_open = random() % 3,
                               .first_pause = 1s,
                               .longest_pause = 8s};
    target_gate gate(limits);
    std::vector<bool> under_way;  // whether each is a probe
    duration time = 0s;
    for (int step = 0; step < 200; ++step) {
      if (random() % 3 == 0) time += std::chrono::milliseconds(random() % 2000);
      if (random() % 2 == 0) {
        const permission may = gate.try_enter(at(time));
        EXPECT_TRUE(may.what != kind::not_before || may.when > at(time));
        EXPECT_TRUE(may.what != kind::after_a_delivery || !under_way.empty()) << "nothing would ever wake it";
        if (may.what == kind::granted) under_way.push_back(may.is_probe);
      } else if (!under_way.empty()) {
        const std::size_t which = random() % under_way.size();
        gate.settle(static_cast<went>(random() % 4), under_way[which], at(time));
        under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(which));
      }
      EXPECT_LE(under_way.size(), limits.most_at_once);
      EXPECT_EQ(gate.state().under_way, under_way.size());
      // A half-open circuit waits for a probe, and nothing else would end its wait.
      EXPECT_TRUE(gate.state().state != circuit::half_open || std::ranges::count(under_way, true) > 0);
    }
    for (const bool probe : under_way) gate.settle(went::nowhere, probe, at(time));
    EXPECT_TRUE(enters(gate, time + 1h));
  }
}

// ---------------------------------------------------------------- turns

/// Enters, and notes when and in which order.
struct entry {
  int who;
  duration when;
  friend bool operator==(const entry&, const entry&) = default;
};

using turns_ptr = std::shared_ptr<target_turns>;

task<> enter_and_settle(turns_ptr turns, int who, went how, duration takes, std::vector<entry>& log, instant start) {
  auto turn = co_await target_turns::enter(turns);
  if (!turn) {
    log.push_back({-who, runtime::now() - start});
    co_return;
  }
  log.push_back({who, runtime::now() - start});
  if (takes > duration::zero()) co_await runtime::sleep(takes);
  turn->settle(how, runtime::now());
}

template <class Main>
void on_virtual_time(Main main) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    virtual_clock clock;
    runtime::run(main(), {.clock = &clock, .seed = seed});
  }
}

TEST(TargetTurns, ComeInOrderAndInTime) {
  on_virtual_time([]() -> task<> {
    shared_room room(100);
    const auto turns = std::make_shared<target_turns>(target_limits{.most_at_once = 2}, room);
    const instant start = runtime::now();
    std::vector<entry> log;
    for (int who = 1; who <= 4; ++who) {
      spawn(enter_and_settle(turns, who, went::well, 10s, log, start));
      co_await runtime::wait_idle();
    }
    EXPECT_EQ(turns->waiting(), 2U);
    co_await runtime::sleep(1min);
    EXPECT_EQ(log, (std::vector<entry>{{1, 0s}, {2, 0s}, {3, 10s}, {4, 10s}}));
  });
}

// A target that is down delays its own deliveries by its pauses, and those of others not at all.
TEST(TargetTurns, OfATargetThatIsDownCostOthersNothing) {
  on_virtual_time([]() -> task<> {
    shared_room room(3);
    const auto down = std::make_shared<target_turns>(
        target_limits{.most_at_once = 4, .failures_to_open = 1, .first_pause = 100s, .longest_pause = 100s}, room);
    const auto up = std::make_shared<target_turns>(target_limits{.most_at_once = 1}, room);
    const instant start = runtime::now();
    std::vector<entry> log_of_down, log;
    for (int who = 1; who <= 50; ++who) spawn(enter_and_settle(down, who, went::badly, 30s, log_of_down, start));
    co_await runtime::sleep(1s);
    for (int who = 1; who <= 50; ++who) spawn(enter_and_settle(up, who, went::well, 1s, log, start));
    co_await runtime::sleep(51s);
    EXPECT_EQ(log.size(), 50U);
    for (std::size_t i = 0; i < log.size(); ++i)
      EXPECT_EQ(log[i].when, duration(1s) * static_cast<std::int64_t>(i + 1));
    EXPECT_LE(log_of_down.size(), 4U);
    EXPECT_EQ(down->state().state, circuit::open);
    down->disable();
    co_await runtime::wait_idle();
    EXPECT_EQ(log_of_down.size(), 50U) << "those that waited are told";
    EXPECT_EQ(down->waiting(), 0U);
  });
}

// The shared room is full of one target's deliveries: another target still gets its first one.
TEST(TargetTurns, ShareARoomInWhichEachTargetHasAPlace) {
  on_virtual_time([]() -> task<> {
    shared_room room(2);
    const auto hanging = std::make_shared<target_turns>(target_limits{.most_at_once = 100}, room);
    const auto other = std::make_shared<target_turns>(target_limits{.most_at_once = 100}, room);
    const instant start = runtime::now();
    std::vector<entry> log_of_hanging, log;
    for (int who = 1; who <= 10; ++who) spawn(enter_and_settle(hanging, who, went::well, 1h, log_of_hanging, start));
    co_await runtime::sleep(1s);
    EXPECT_EQ(log_of_hanging.size(), 3U) << "its first one, and the room";
    for (int who = 1; who <= 3; ++who) spawn(enter_and_settle(other, who, went::well, 1s, log, start));
    co_await runtime::sleep(10s);
    std::vector<duration> times;
    for (const entry& each : log) times.push_back(each.when);
    EXPECT_EQ(times, (std::vector<duration>{1s, 2s, 3s}));
    co_await runtime::sleep(10h);
    EXPECT_EQ(log_of_hanging.size(), 10U);
  });
}

// A target whose last delivery has ended, and which waits for a job with the turn that it took meanwhile, holds no
// place.
TEST(TargetTurns, OfAnIdleTargetHoldNoPlace) {
  on_virtual_time([]() -> task<> {
    shared_room room(2);
    std::vector<turns_ptr> idle;
    std::vector<delivery_turn> waiting;
    for (int i = 0; i < 5; ++i) {
      idle.push_back(std::make_shared<target_turns>(target_limits{.most_at_once = 10}, room));
      auto first = target_turns::enter(idle.back());
      std::optional<delivery_turn> delivering = co_await first;
      auto second = target_turns::enter(idle.back());
      std::optional<delivery_turn> next = co_await second;
      delivering->settle(went::well, runtime::now());
      waiting.push_back(std::move(*next));
    }
    const auto busy = std::make_shared<target_turns>(target_limits{.most_at_once = 10}, room);
    std::vector<entry> log;
    for (int who = 1; who <= 5; ++who) spawn(enter_and_settle(busy, who, went::well, 1h, log, runtime::now()));
    co_await runtime::sleep(1s);
    EXPECT_EQ(log.size(), 3U) << "its first one, and all places of the room";
    co_await runtime::sleep(10h);
    EXPECT_EQ(log.size(), 5U);
    waiting.clear();
    for (const turns_ptr& each : idle) EXPECT_EQ(each->state().under_way, 0U);
  });
}

TEST(TargetTurns, PassOnWhenAWaitIsGivenUp) {
  on_virtual_time([]() -> task<> {
    shared_room room(100);
    const auto turns = std::make_shared<target_turns>(
        target_limits{.most_at_once = 1, .failures_to_open = 1, .first_pause = 10s}, room);
    const instant start = runtime::now();
    std::vector<entry> log;
    spawn(enter_and_settle(turns, 1, went::badly, 1s, log, start));
    co_await runtime::wait_idle();
    auto second = spawn(enter_and_settle(turns, 2, went::well, 0s, log, start));
    co_await runtime::wait_idle();
    spawn(enter_and_settle(turns, 3, went::well, 0s, log, start));
    co_await runtime::sleep(2s);
    second.request_stop();
    co_await runtime::sleep(1min);
    EXPECT_EQ(log, (std::vector<entry>{{1, 0s}, {3, 11s}}));
    EXPECT_EQ(turns->waiting(), 0U);
    EXPECT_EQ(turns->state().under_way, 0U);
    EXPECT_EQ(turns->state().state, circuit::closed);
  });
}

/// A task that waits for a job has its turn for long: what has become of the target meanwhile counts.
TEST(TargetTurns, GrowBad) {
  on_virtual_time([]() -> task<> {
    shared_room room(100);
    const auto turns = std::make_shared<target_turns>(
        target_limits{.most_at_once = 3, .failures_to_open = 1, .first_pause = 10s}, room);
    const auto enter = [&turns]() -> task<delivery_turn> {
      auto entering = target_turns::enter(turns);
      std::optional<delivery_turn> turn = co_await entering;
      co_return std::move(*turn);
    };
    auto first = enter();
    delivery_turn old = co_await first;
    EXPECT_TRUE(old.is_good(runtime::now()));
    auto second = enter();
    delivery_turn failing = co_await second;
    failing.settle(went::badly, runtime::now());
    EXPECT_FALSE(old.is_good(runtime::now())) << "the circuit is open";
    auto third = enter();
    delivery_turn probe = co_await third;
    EXPECT_TRUE(probe.is_good(runtime::now())) << "it is there to find out";
    EXPECT_FALSE(old.is_good(runtime::now()));
    probe.settle(went::well, runtime::now());
    EXPECT_TRUE(old.is_good(runtime::now()));
    old.hold_until(runtime::now() + 5s);
    EXPECT_FALSE(old.is_good(runtime::now()));
    EXPECT_TRUE(old.is_good(runtime::now() + 5s));
    turns->disable();
    EXPECT_FALSE(old.is_good(runtime::now() + 5s));
    turns->enable();
    EXPECT_TRUE(old.is_good(runtime::now()));
  });
}

TEST(TargetTurns, EndWithTheRuntime) {
  shared_room room(100);
  const auto turns = std::make_shared<target_turns>(target_limits{.most_at_once = 1}, room);
  std::vector<entry> log;
  on_virtual_time([&]() -> task<> {
    for (int who = 1; who <= 3; ++who) spawn(enter_and_settle(turns, who, went::well, 1h, log, runtime::now()));
    co_await runtime::sleep(1s);
  });
  EXPECT_EQ(turns->state().under_way, 0U);
  EXPECT_EQ(turns->waiting(), 0U);
}

}  // namespace
}  // namespace foliot::program::webhooks
