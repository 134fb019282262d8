// When the captures of callbacks are destroyed, and when the memory of handles is freed: contract 4 and 5.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fixture.hpp"
#include "support/allocations.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class Lifetime : public virtual_suite {
 protected:
  /// A capture whose destruction the test observes.
  std::shared_ptr<int> capture = std::make_shared<int>(0);
  [[nodiscard]] bool captured() const { return capture.use_count() > 1; }
  auto keep() {
    return [held = capture] { ++*held; };
  }
};

INSTANTIATE_TEST_SUITE_P(, Lifetime, every_engine_and_pinned(), kind_as_name);

TEST_P(Lifetime, StopKeepsTheCallbackForTheNextReset) {
  tested_timer t(timers, 1ms, keep());
  t.stop();
  EXPECT_TRUE(captured());
  t.reset(1ms);
  clock.advance(1ms);
  EXPECT_EQ(*capture, 1);
}

TEST_P(Lifetime, StopAndWaitDestroysWhatWasCaptured) {
  tested_timer idle(timers, keep());
  EXPECT_EQ(idle.stop_and_wait(), stop_result::idle);
  EXPECT_FALSE(captured());
  tested_timer pending(timers, 1ms, keep());
  EXPECT_EQ(pending.stop_and_wait(), stop_result::stopped);
  EXPECT_FALSE(captured());
  EXPECT_EQ(pending.stop_and_wait(), stop_result::idle);
  clock.advance(1s);
  EXPECT_EQ(*capture, 0);
}

TEST_P(Lifetime, NoResetBringsBackWhatStopAndWaitEnded) {
  tested_timer t(timers, 1ms, keep());
  t.stop_and_wait();
  EXPECT_EQ(t.reset(1ms), reset_result::closed);
  EXPECT_FALSE(t.pending());
  t = tested_timer(timers, 1ms, keep());
  clock.advance(1ms);
  EXPECT_EQ(*capture, 1);
}

TEST_P(Lifetime, DestroyingAHandleDestroysWhatWasCaptured) {
  for (const duration delay : {duration(1ms), duration::forever()}) {
    {
      const tested_timer t(timers, delay, keep());
    }
    EXPECT_FALSE(captured());
  }
  {
    const ticker t(timers, 1ms, keep());
  }
  EXPECT_FALSE(captured());
  clock.advance(1s);
  EXPECT_EQ(*capture, 0);
}

TEST_P(Lifetime, StopAndWaitFromInsideReturnsAtOnce) {
  std::optional<tested_timer> t;
  bool alive_after = false;
  t.emplace(timers, 1ms, [&, held = capture] {
    EXPECT_EQ(t->stop_and_wait(), stop_result::running);
    EXPECT_EQ(t->reset(1ms), reset_result::closed);
    alive_after = held.use_count() > 1;  // the captures live as long as the callback runs
  });
  clock.advance(1ms);
  EXPECT_TRUE(alive_after);
  EXPECT_FALSE(captured()) << "the captures must be destroyed after the callback";
}

TEST_P(Lifetime, AHandleMayBeDestroyedFromInside) {
  std::optional<tested_timer> t;
  t.emplace(timers, 1ms, [&, held = capture] {
    t.reset();
    EXPECT_TRUE(captured());
    ++*held;
  });
  clock.advance(1ms);
  EXPECT_EQ(*capture, 1);
  EXPECT_FALSE(captured());
}

TEST_P(Lifetime, AHandleMayBeReplacedFromInside) {
  tested_timer t;
  t = tested_timer(timers, 1ms, [&, held = capture] { t = tested_timer(timers, 1ms, [&] { ++*capture; }); });
  clock.advance(1ms);
  EXPECT_FALSE(captured());
  clock.advance(1ms);
  EXPECT_EQ(*capture, 1);
}

TEST_P(Lifetime, ATickerMayBeDestroyedFromInside) {
  std::optional<ticker> t;
  t.emplace(timers, 1ms, [&, held = capture] {
    if (++*held == 3) t.reset();
  });
  clock.advance(1s);
  EXPECT_EQ(*capture, 3);
  EXPECT_FALSE(captured());
}

/// The usual cycle in servers: a session owns its timer, and the callback owns the session.
TEST_P(Lifetime, ACallbackMayOwnTheObjectThatOwnsItsTimer) {
  struct session {
    tested_timer idle;
    std::shared_ptr<int> capture;
  };
  for (const bool from_inside : {true, false}) {
    auto owned = std::make_shared<session>();
    owned->capture = capture;
    owned->idle = tested_timer(timers, 1ms, [self = owned, from_inside] {
      if (from_inside) self->idle.stop_and_wait();
    });
    tested_timer* idle = &owned->idle;
    const std::weak_ptr<session> watch = owned;
    owned.reset();
    EXPECT_FALSE(watch.expired());
    clock.advance(1ms);
    if (!from_inside)
      idle->stop_and_wait();  // destroys the closure, which destroys the session, which destroys the timer
    EXPECT_TRUE(watch.expired());
    EXPECT_FALSE(captured());
  }
}

TEST_P(Lifetime, ADetachedTimerFreesItselfWhenItHasFired) {
  timer(timers, 1ms, keep()).detach();
  EXPECT_TRUE(captured());
  clock.advance(1ms);
  EXPECT_EQ(*capture, 1);
  EXPECT_FALSE(captured());
}

TEST_P(Lifetime, AnIdleTimerThatIsDetachedGoesAtOnce) {
  timer(timers, keep()).detach();
  EXPECT_FALSE(captured());
}

TEST_P(Lifetime, ATimerMayDetachItselfFromInside) {
  std::optional<timer> t;
  t.emplace(timers, 1ms, [&, held = capture] {
    t->detach();
    ++*held;
  });
  clock.advance(1ms);
  EXPECT_EQ(*capture, 1);
  EXPECT_FALSE(captured());
}

TEST_P(Lifetime, HandlesMayOutliveTheirService) {
  std::optional<timer_service> short_lived(std::in_place, clock, options());
  tested_timer pending(*short_lived, 1ms, keep());
  tested_timer idle(*short_lived, keep());
  ticker beat(*short_lived, 1ms, keep());
  timer(*short_lived, 1ms, keep()).detach();
  short_lived.reset();
  clock.advance(1s);
  EXPECT_EQ(*capture, 0);
  EXPECT_FALSE(pending.pending());
  EXPECT_EQ(pending.stop(), stop_result::idle);
  EXPECT_EQ(pending.reset(1ms), reset_result::closed);
  EXPECT_EQ(idle.reset(1ms), reset_result::closed);
  EXPECT_EQ(beat.reset(1ms), reset_result::closed);
  idle = tested_timer();
  EXPECT_FALSE(captured()) << "the closure of a dropped tested_timer must be destroyed, with or without a handle";
}

TEST_P(Lifetime, AServiceMayBeDestroyedFromInsideACallback) {
  std::optional<timer_service> short_lived(std::in_place, clock, options());
  int later = 0;
  tested_timer second(*short_lived, 2ms, [&] { ++later; });
  tested_timer first(*short_lived, 1ms, [&, held = capture] {
    short_lived.reset();
    ++*held;
  });
  clock.advance(1s);
  EXPECT_EQ(*capture, 1);
  EXPECT_EQ(later, 0);
}

TEST_P(Lifetime, AnotherTimerMayBeDestroyedByACallbackWhileItIsDue) {
  std::vector<tested_timer> victims;
  tested_timer first(timers, 1ms, [&] { victims.clear(); });
  for (int i = 0; i < 10; ++i) victims.emplace_back(timers, 1ms, keep());
  clock.advance(1ms);
  EXPECT_EQ(*capture, 0);
  EXPECT_FALSE(captured());
}

TEST_P(Lifetime, HandlesMayOutliveTheClockToo) {
  tested_timer t;
  ticker beat;
  {
    virtual_clock short_lived;
    timer_service on_it(short_lived, options());
    t = tested_timer(on_it, 1ms, keep());
    beat = ticker(on_it, 1ms, keep());
  }
  EXPECT_EQ(t.reset(1ms), reset_result::closed) << "a closed tested_timer must not read the clock, which is gone";
  EXPECT_EQ(beat.reset(1ms), reset_result::closed);
}

TEST_P(Lifetime, AServiceMayBeOwnedByAClosureThatItDrops) {
  auto owned = std::make_unique<timer_service>(clock, options());
  timer_service& service = *owned;
  timer(service, 1h, [owned = std::move(owned), held = capture] {}).detach();
  EXPECT_EQ(service.shut_down(), 1u);
  EXPECT_FALSE(captured());
}

TEST_P(Lifetime, TheEndOfTheServiceFromADestructorOfACapture) {
  struct ends_the_service {
    std::optional<timer_service>* service;
    explicit ends_the_service(std::optional<timer_service>& which) : service(&which) {}
    ends_the_service(ends_the_service&& other) noexcept : service(std::exchange(other.service, nullptr)) {}
    ~ends_the_service() {
      if (service != nullptr) service->reset();
    }
  };
  std::optional<timer_service> short_lived(std::in_place, clock, options());
  int later = 0;
  tested_timer second(*short_lived, 2ms, [&] { ++later; });
  timer(*short_lived, 1ms, [last = ends_the_service(short_lived)] {}).detach();
  clock.advance(1s);
  EXPECT_FALSE(short_lived);
  EXPECT_EQ(later, 0);
}

TEST_P(Lifetime, AServiceGoesAlsoWhereItsLastTimerWasDetached) {
  std::size_t before = 0;
  for (const bool fires :
       {true, true, false}) {  // in the first round threads and libraries allocate memory that they keep
    {
      virtual_clock own;
      timer_service alone(own, options());
      timer(alone, 1ms, [] {}).detach();
      if (fires) own.advance(1ms);
    }
    if (before == 0) before = live_bytes();
    EXPECT_EQ(live_bytes(), before) << (fires ? "it fired" : "it was dropped");
  }
}

TEST_P(Lifetime, MemoryComesBack) {
  const auto churn = [&](int pairs) {
    for (int i = 0; i < pairs; ++i) {
      tested_timer t(timers, 1h, [] {});
      t.stop();
    }
  };
  churn(10);
  const std::size_t before = live_bytes();
#if defined(FOLIOT_SANITIZED)
  churn(20'000);
#else
  churn(tested_timer::pinned ? 100'000 : 10'000'000);
#endif
  EXPECT_EQ(live_bytes(), before) << "pairs of start and stop must not change the memory in use";
}

TEST_P(Lifetime, StartStopAndResetDoNotAllocateOnceThereIsRoom) {
  timers.reserve(100);
  std::vector<tested_timer> many;
  for (int i = 0; i < 100; ++i) many.emplace_back(timers, [] {});
  clock.advance(0ns);  // the clock allocates for the number of its services
  const allocation_count allocations;
  for (int round = 0; round < 10; ++round) {
    for (tested_timer& t : many) t.reset(1ms);
    for (tested_timer& t : many) t.reset(2ms);
    for (tested_timer& t : many) t.stop();
    for (tested_timer& t : many) t.reset(1ms);
    clock.advance(1ms);
  }
  EXPECT_EQ(allocations.so_far(), 0u);
}

}  // namespace
}  // namespace foliot::test
