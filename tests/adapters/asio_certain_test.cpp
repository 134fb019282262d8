// What foliot::asio_timer promises beyond steady_timer: a certain cancel, order to the nanosecond, and errors of
// memory that lose nothing.
#include "asio_library.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "support/allocations.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

/// Two timers that are due at once, so that the second one's handler is queued when the first one's runs.
class AsioCertain : public testing::Test {
 protected:
  template <class InFirst>
  void run(InFirst&& in_first) {
    first.async_wait([&](error_code error) {
      EXPECT_FALSE(error);
      in_first();
    });
    second->async_wait([&](error_code error) { outcomes.push_back(error); });
    context.run();
  }

  asio::io_context context;
  const clock_type::time_point past = clock_type::now();
  asio_timer first{context, past};
  std::optional<asio_timer> second{std::in_place, context, past};
  std::vector<error_code> outcomes;
  const std::vector<error_code> aborted{asio::error::operation_aborted};
  const std::vector<error_code> succeeded{error_code()};
};

TEST_F(AsioCertain, ACancelReachesAHandlerThatIsQueued) {
  run([&] {
    EXPECT_EQ(second->cancel(), 1u);
    EXPECT_EQ(second->cancel(), 0u);
  });
  EXPECT_EQ(outcomes, aborted);
}

TEST_F(AsioCertain, SoDoesCancelOne) {
  run([&] { EXPECT_EQ(second->cancel_one(), 1u); });
  EXPECT_EQ(outcomes, aborted);
}

TEST_F(AsioCertain, SoDoesAChangeOfTheExpiry) {
  bool again = false;
  run([&] {
    EXPECT_EQ(second->expires_after(1ms), 1u);
    second->async_wait([&](error_code error) { again = !error; });
  });
  EXPECT_EQ(outcomes, aborted);
  EXPECT_TRUE(again);
}

TEST_F(AsioCertain, SoDoesTheEndOfTheTimer) {
  run([&] { second.reset(); });
  EXPECT_EQ(outcomes, aborted);
}

TEST_F(AsioCertain, AMoveTakesAHandlerThatIsQueuedAlong) {
  std::optional<asio_timer> third;
  run([&] {
    third.emplace(std::move(*second));
    EXPECT_EQ(second->cancel(), 0u);
    EXPECT_EQ(third->cancel(), 1u);
  });
  EXPECT_EQ(outcomes, aborted);
}

#ifdef FOLIOT_TEST_CANCELLATION_SLOTS
TEST_F(AsioCertain, ACancellationSlotReachesAHandlerThatIsQueued) {
  asio::cancellation_signal signal;
  first.async_wait([&](error_code) { signal.emit(asio::cancellation_type::all); });
  second->async_wait(asio::bind_cancellation_slot(signal.slot(), [&](auto error) { outcomes.push_back(error); }));
  context.run();
  EXPECT_EQ(outcomes, aborted);
  signal.emit(asio::cancellation_type::all);  // of a wait that is gone
}
#endif

TEST_F(AsioCertain, AHandlerThatHasBegunIsNotCounted) {
  second->async_wait([&](error_code error) {
    EXPECT_EQ(second->cancel(), 0u);
    outcomes.push_back(error);
  });
  context.run();
  EXPECT_EQ(outcomes, succeeded);
}

TEST_F(AsioCertain, TimersFireInOrderToTheNanosecond) {
  const auto start = clock_type::now();
  std::vector<asio_timer> some;
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) {
    const int at = i * 389 % 1000;  // each once
    some.emplace_back(context, start + std::chrono::nanoseconds(at));
    some.back().async_wait([&order, at](error_code) { order.push_back(at); });
  }
  context.run();
  ASSERT_EQ(order.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_F(AsioCertain, AHandlerNeverSeesSuccessAfterACancelOfAnotherThread) {
  auto open = asio::make_work_guard(context);
  std::vector<std::thread> runners;
  for (int i = 0; i < 2; ++i) runners.emplace_back([&] { context.run(); });
  std::atomic<int> ended = 0;
  constexpr int rounds = 2000;
  for (int i = 0; i < rounds; ++i) {
    // 0: waiting, 1: the cancel has returned, 2: the handler got success
    const auto state = std::make_shared<std::atomic<int>>(0);
    asio_timer timer(context, std::chrono::microseconds(i % 20));
    timer.async_wait([&ended, state](error_code error) {
      if (!error) {
        int expected = 0;
        EXPECT_TRUE(state->compare_exchange_strong(expected, 2))
            << "the handler got success although the cancel counted the wait";
      }
      ++ended;
    });
    if (i % 3 != 0) std::this_thread::yield();
    if (timer.cancel() == 1) {
      int expected = 0;
      EXPECT_TRUE(state->compare_exchange_strong(expected, 1)) << "the cancel counted a wait whose handler got success";
    }
  }
  open.reset();
  for (std::thread& each : runners) each.join();
  EXPECT_EQ(ended, rounds);
}

TEST_F(AsioCertain, ATimerMayOutliveItsContext) {
  std::optional<asio::io_context> ending(std::in_place);
  asio_timer left(*ending, 1h);
  left.async_wait([](error_code) { FAIL() << "the handler was called"; });
  ending.reset();
}

TEST_F(AsioCertain, AWaitThatFindsNoMemoryIsNone) {
  bool any_failed = true;
  std::size_t n = 0;
  for (; any_failed; ++n) {
    asio::io_context fresh;
    int others = 0;
    int ended = 0;
    asio_timer other(fresh, 1ms);
    other.async_wait([&](error_code error) { others += error ? 0 : 1; });
    asio_timer timer(fresh, 500us);
    bool waits = true;
    {
      const failing_allocations fail(n);
      try {
        timer.async_wait([&](error_code error) { ended += error ? 0 : 1; });
      } catch (const std::bad_alloc&) {
        waits = false;
      }
      any_failed = fail.failed();
    }
    EXPECT_EQ(waits, !any_failed);
    fresh.run();
    EXPECT_EQ(others, 1);
    EXPECT_EQ(ended, waits ? 1 : 0);
  }
  EXPECT_GT(n, 2u);
}

TEST_F(AsioCertain, AHandlerThatCannotBePostedIsPostedLater) {
  bool any_failed = true;
  for (std::size_t n = 0; any_failed; ++n) {
    asio::io_context fresh;
    int ended = 0;
    std::vector<asio_timer> some;
    for (int i = 0; i < 3; ++i) {
      some.emplace_back(fresh, clock_type::now());
      some.back().async_wait([&](error_code error) { ended += error ? 0 : 1; });
    }
    any_failed = false;
    for (bool again = true; again;) {
      const failing_allocations fail(n);
      try {
        fresh.run();
        again = false;
      } catch (const std::bad_alloc&) {
      }
      any_failed = any_failed || fail.failed();
      if (fail.failed()) break;
    }

    fresh.restart();
    asio_timer next(fresh, clock_type::now());
    next.async_wait([](error_code) {});
    fresh.run();
    EXPECT_EQ(ended, 3) << n;
    if (!any_failed) {
      EXPECT_GT(n, 0u) << "no allocation failed";
    }
  }
}

/// An executor that refuses all functions while `broken`.
struct may_refuse {
  asio::io_context* of;
  const bool* broken;
  asio::execution_context& query(asio::execution::context_t) const noexcept { return *of; }
  may_refuse require(asio::execution::blocking_t::never_t) const noexcept { return *this; }
  template <class Function>
  void execute(Function function) const {
    if (*broken) throw std::runtime_error("broken");
    asio::post(*of, [run = std::move(function)]() mutable { run(); });
  }
  bool operator==(const may_refuse&) const noexcept = default;
};

TEST_F(AsioCertain, AnExecutorThatFailsHoldsUpNoOther) {
  bool broken = true;
  bool refused = true;
  first.async_wait(asio::bind_executor(may_refuse{&context, &broken}, [&](error_code error) { refused = !!error; }));
  second->async_wait([&](error_code error) { outcomes.push_back(error); });
  asio_timer third(context, 1ms);
  third.async_wait([&](error_code error) { outcomes.push_back(error); });
  const auto limit = clock_type::now() + 60s;
  while (outcomes.size() < 2 && clock_type::now() < limit) EXPECT_THROW(context.run(), std::runtime_error);
  EXPECT_EQ(outcomes, (std::vector{error_code(), error_code()}));
  EXPECT_TRUE(refused);
  third.async_wait([](error_code) {});
  EXPECT_NO_THROW(third.expires_after(1h)) << "the refused wait is not this timer's";
  asio_timer later(context, 1h);
  later.async_wait([](error_code) {});
  broken = false;
  while (refused && clock_type::now() < limit) context.run_one_for(1s);
  EXPECT_FALSE(refused) << "a wait that an executor had refused was lost, or waits for a later timer";
  later.cancel();
  context.run();
}

}  // namespace
}  // namespace foliot::test
