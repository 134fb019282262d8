// A call that the system refuses is reported to its caller, by name: the timer is as it was, no other is lost,
// nothing leaks, and the next attempt finds everything in order.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <latch>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <foliot/service.hpp>

#include "failing_calls.hpp"
#include "support/allocations.hpp"
#include "support/engines.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

class Refusals : public engine_suite {
 protected:
  static service_options on(service_clock clock) {
    service_options chosen = options();
    chosen.clock = clock;
    return chosen;
  }

  /// Checks that the first start of a service on this clock fails with this error under this name, and that the second
  /// start succeeds.
  static void refused(service_clock clock, call which, int error, const char* name) {
    const std::size_t descriptors = open_descriptors();
    {
      timer_service timers(on(clock));
      const auto captured = std::make_shared<int>(0);
      std::latch fired(1);
      timer t(timers, [captured, &fired] { fired.count_down(); });
      {
        const failing_calls fail(which, error);
        const auto names_it = [&](auto&& attempt) {
          try {
            attempt();
            ADD_FAILURE() << "the start was not refused";
          } catch (const std::system_error& refusal) {
            EXPECT_EQ(refusal.code(), std::error_code(error, std::generic_category()));
            EXPECT_NE(std::string(refusal.what()).find(name), std::string::npos) << refusal.what();
            EXPECT_NE(std::string(refusal.what()).find("foliot"), std::string::npos) << refusal.what();
          }
        };
        names_it([&] { t.reset(1ns); });
        names_it([&] { t.reset_at(instant::never()); });
        names_it([&] { const timer other(timers, 1ns, [captured] {}); });
        names_it([&] { const ticker other(timers, 1ms, [captured] {}); });
        names_it([&] { after_func(timers, 1ns, [captured] {}).detach(); });
        names_it([&] { sleep_for(timers, 1h); });
        EXPECT_TRUE(fail.failed());
      }
      EXPECT_FALSE(t.pending());
      EXPECT_EQ(t.stop(), stop_result::idle);
      EXPECT_EQ(timers.counters(), service_counters{});
      EXPECT_EQ(captured.use_count(), 2) << "the captures of the other timers must be destroyed";
      EXPECT_EQ(t.reset(1ns), reset_result::idle);
      fired.wait();
      EXPECT_EQ(timers.drain(1h), 0u);
      EXPECT_EQ(timers.counters().started, 1u);
      EXPECT_EQ(timers.counters().fired, 1u);
    }
    EXPECT_EQ(open_descriptors(), descriptors);
  }
};

INSTANTIATE_TEST_SUITE_P(, Refusals, every_engine(), engine_as_name);

TEST_P(Refusals, AThread) {
  for (const service_clock clock : {service_clock::monotonic, service_clock::boottime, service_clock::wall}) {
    for (const int error : {EAGAIN, ENOMEM}) refused(clock, call::thread, error, "thread");
  }
}

TEST_P(Refusals, AFileDescriptor) {
  for (const service_clock clock : {service_clock::boottime, service_clock::wall}) {
    for (const int error : {EMFILE, ENFILE, ENOMEM})
      refused(clock, call::timerfd_create, error, "cannot make a timerfd");
  }
  if (GetParam() == "goim") refused(service_clock::monotonic, call::timerfd_create, EMFILE, "cannot make a timerfd");
}

/// Each shard makes a thread and a descriptor of its own: if one shard is refused, the other shards go on.
TEST_P(Refusals, TheNthOfSeveralShards) {
  for (const call which : {call::thread, call::timerfd_create}) {
    bool any_failed = true;
    for (std::size_t n = 0; any_failed; ++n) {
      timer_service timers(on(service_clock::boottime));
      constexpr std::size_t count = 4;
      std::latch fired(count);
      std::array<timer, count> all;
      for (timer& each : all) {
        std::thread([&] { each = timer(timers, [&fired] { fired.count_down(); }); }).join();
      }
      std::vector<timer*> refused;
      {
        const failing_calls fail(which, which == call::thread ? EAGAIN : EMFILE, n, 1);
        for (timer& each : all) {
          try {
            each.reset(1us);
          } catch (const std::system_error&) {
            refused.push_back(&each);
          }
        }
        any_failed = fail.failed();
      }
      EXPECT_EQ(refused.size(), any_failed ? 1u : 0u);
      for (timer* each : refused) EXPECT_EQ(each->reset(1us), reset_result::idle);
      fired.wait();
      EXPECT_EQ(timers.drain(1h), 0u);
      EXPECT_EQ(timers.counters().started, count);
      EXPECT_EQ(timers.counters().fired, count);
    }
  }
}

/// The first start of a service makes its thread, which allocates, too.
TEST_P(Refusals, TheNthAllocationOfAFirstStart) {
  bool any_failed = true;
  for (std::size_t n = 0; any_failed; ++n) {
    timer_service timers(on(service_clock::boottime));
    std::latch fired(1);
    timer t(timers, [&fired] { fired.count_down(); });
    bool refused = false;
    {
      const failing_allocations fail(n);
      try {
        t.reset(1us);
      } catch (const std::bad_alloc&) {
        refused = true;
      }
      any_failed = fail.failed();
    }
    EXPECT_EQ(refused, any_failed);
    if (refused) {
      EXPECT_FALSE(t.pending());
      EXPECT_EQ(timers.counters().started, 0u);
      EXPECT_EQ(t.reset(1us), reset_result::idle);
    }
    fired.wait();
    EXPECT_EQ(timers.drain(1h), 0u);
    EXPECT_EQ(timers.counters().fired, 1u);
  }
}

/// The constructor of a service either succeeds, or throws and leaves nothing behind.
TEST_P(Refusals, TheNthAllocationOfAService) {
  bool any_failed = true;
  std::size_t n = 0;
  for (; any_failed; ++n) {
    service_options chosen = on(service_clock::boottime);
    const failing_allocations fail(n);
    try {
      const timer_service timers(std::move(chosen));
      EXPECT_FALSE(fail.failed());
    } catch (const std::bad_alloc&) {
      EXPECT_TRUE(fail.failed());
    }
    any_failed = fail.failed();
  }
  EXPECT_GT(n, 2u);
}

}  // namespace
}  // namespace foliot::test
