// One suite over steady_timer and foliot's timer, for Asio and for Boost.Asio: a program behaves the same with either
// type.
#include "asio_library.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/fork.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

template <class Timer>
class AsioTimer : public testing::Test {
 protected:
  /// Records the end of a wait: its name, with a minus if it was aborted.
  auto note(int name) {
    return [this, name](error_code error) {
      EXPECT_TRUE(!error || error == asio::error::operation_aborted);
      outcomes.push_back(error ? -name : name);
    };
  }

  asio::io_context context;
  std::vector<int> outcomes;
};

struct type_names {
  template <class Timer>
  static std::string GetName(int) {
    return std::is_same_v<Timer, asio::steady_timer> ? "asio" : "foliot";
  }
};
using timers = testing::Types<asio::steady_timer, asio_timer>;
TYPED_TEST_SUITE(AsioTimer, timers, type_names);

TYPED_TEST(AsioTimer, AForkOfWhichTheContextIsToldLeavesBothTimersPending) {
  TypeParam timer(this->context, 1ms);
  timer.async_wait(this->note(1));
  this->context.notify_fork(asio::io_context::fork_prepare);
  expect_in_child([&] {
    this->context.notify_fork(asio::io_context::fork_child);
    this->context.run_for(60s);
    return this->outcomes == std::vector{1};
  });
  this->context.notify_fork(asio::io_context::fork_parent);
  this->context.run_for(60s);
  EXPECT_EQ(this->outcomes, std::vector{1});
}

TYPED_TEST(AsioTimer, AWaitEndsAtTheExpiryAndNotBefore) {
  const auto before = clock_type::now();
  TypeParam timer(this->context, 3ms);
  EXPECT_GE(timer.expiry(), before + 3ms);
  timer.async_wait([&](error_code error) {
    EXPECT_FALSE(error);
    EXPECT_GE(clock_type::now(), timer.expiry());
    this->outcomes.push_back(1);
  });
  EXPECT_TRUE(this->outcomes.empty());
  this->context.run();
  EXPECT_EQ(this->outcomes, std::vector{1});
}

TYPED_TEST(AsioTimer, ATimeThatHasComeEndsTheWaitButNotInsideTheCall) {
  TypeParam fresh(this->context);
  TypeParam past(this->context, clock_type::now() - 1h);
  TypeParam negative(this->context, -1h);
  EXPECT_EQ(fresh.expiry(), clock_type::time_point());
  for (TypeParam* each : {&fresh, &past, &negative}) each->async_wait(this->note(1));
  EXPECT_TRUE(this->outcomes.empty());
  this->context.run();
  EXPECT_EQ(this->outcomes, (std::vector{1, 1, 1}));
}

TYPED_TEST(AsioTimer, TimersFireInTheOrderOfTheirExpiry) {
  const auto start = clock_type::now();
  std::vector<TypeParam> some;
  for (const int at : {5, 1, 4, 2, 3}) {
    some.emplace_back(this->context, start + at * 1ms);
    some.back().async_wait(this->note(at));
  }
  TypeParam(this->context, start + 6ms).wait();
  this->context.run();
  EXPECT_EQ(this->outcomes, (std::vector{1, 2, 3, 4, 5}));
}

TYPED_TEST(AsioTimer, ManyWaitsOfOneTimerEndInTheirOrder) {
  TypeParam timer(this->context, 1ms);
  for (int i = 1; i <= 5; ++i) timer.async_wait(this->note(i));
  this->context.run();
  EXPECT_EQ(this->outcomes, (std::vector{1, 2, 3, 4, 5}));
}

TYPED_TEST(AsioTimer, CancelAbortsAllWaitsAndSaysHowMany) {
  TypeParam timer(this->context, 1h);
  EXPECT_EQ(timer.cancel(), 0u);
  timer.async_wait(this->note(1));
  timer.async_wait(this->note(2));
  EXPECT_EQ(timer.cancel(), 2u);
  EXPECT_EQ(timer.cancel(), 0u);
  EXPECT_TRUE(this->outcomes.empty()) << "a handler ran inside the call";
  this->context.run();  // returns: nothing waits for the hour
  EXPECT_EQ(this->outcomes, (std::vector{-1, -2}));
}

TYPED_TEST(AsioTimer, CancelOneAbortsTheOldestWait) {
  TypeParam timer(this->context, 2ms);
  EXPECT_EQ(timer.cancel_one(), 0u);
  timer.async_wait(this->note(1));
  timer.async_wait(this->note(2));
  EXPECT_EQ(timer.cancel_one(), 1u);
  this->context.run();
  EXPECT_EQ(this->outcomes, (std::vector{-1, 2}));
}

TYPED_TEST(AsioTimer, AChangeOfTheExpiryAbortsTheWaitsAndSaysHowMany) {
  TypeParam timer(this->context, 1h);
  EXPECT_EQ(timer.expires_after(2h), 0u);
  timer.async_wait(this->note(1));
  EXPECT_EQ(timer.expires_after(1ms), 1u);
  timer.async_wait(this->note(2));
  timer.async_wait(this->note(3));
  const auto soon = clock_type::now() + 1ms;
  EXPECT_EQ(timer.expires_at(soon), 2u);
  EXPECT_EQ(timer.expiry(), soon);
  timer.async_wait(this->note(4));
  this->context.run();
  EXPECT_EQ(this->outcomes, (std::vector{-1, -2, -3, 4}));
}

TYPED_TEST(AsioTimer, TheEndOfATimerAbortsItsWaits) {
  std::optional<TypeParam> timer(std::in_place, this->context, 1h);
  timer->async_wait(this->note(1));
  timer.reset();
  this->context.run();
  EXPECT_EQ(this->outcomes, std::vector{-1});
}

TYPED_TEST(AsioTimer, PastTheEndOfTimeIsNever) {
  TypeParam never(this->context, clock_type::time_point::max());
  TypeParam longest(this->context, clock_type::duration::max());
  EXPECT_EQ(longest.expiry(), clock_type::time_point::max());
  never.async_wait(this->note(1));
  longest.async_wait(this->note(2));
  this->context.poll();
  EXPECT_TRUE(this->outcomes.empty());
  EXPECT_EQ(never.cancel() + longest.cancel(), 2u);
  this->context.run();
  EXPECT_EQ(this->outcomes, (std::vector{-1, -2}));
}

TYPED_TEST(AsioTimer, MovingATimerMovesItsWaits) {
  TypeParam first(this->context, 1ms);
  first.async_wait(this->note(1));
  TypeParam second(std::move(first));
  TypeParam third(this->context, 1h);
  third.async_wait(this->note(3));
  third = std::move(second);  // aborts what waited for the hour
  this->context.run();
  EXPECT_EQ(this->outcomes, (std::vector{-3, 1}));
  first.expires_after(1ms);  // what was moved from is as if new
  first.async_wait(this->note(2));
  this->context.restart();
  this->context.run();
  EXPECT_EQ(this->outcomes.back(), 2);
}

TYPED_TEST(AsioTimer, ATimerIsStartedAgainFromItsHandler) {
  TypeParam timer(this->context, 0ms);
  int beats = 0;
  const std::function<void(error_code)> beat = [&](error_code error) {
    EXPECT_FALSE(error);
    if (++beats == 10) return;
    timer.expires_at(timer.expiry() + 100us);
    timer.async_wait(beat);
  };
  timer.async_wait(beat);
  this->context.run();
  EXPECT_EQ(beats, 10);
}

TYPED_TEST(AsioTimer, AnEarlierTimerIsNotHeldUpByALaterOne) {
  TypeParam late(this->context, 1h);
  TypeParam soon(this->context, 1ms);
  late.async_wait(this->note(1));
  this->context.poll();
  soon.async_wait([&](error_code error) {
    EXPECT_FALSE(error);
    EXPECT_EQ(late.cancel(), 1u);
  });
  this->context.run();
  EXPECT_EQ(this->outcomes, std::vector{-1});
}

TYPED_TEST(AsioTimer, ABlockingWait) {
  const auto before = clock_type::now();
  TypeParam timer(this->context, 2ms);
  timer.wait();
  EXPECT_GE(clock_type::now(), before + 2ms);
  error_code error = asio::error::operation_aborted;
  timer.wait(error);
  EXPECT_FALSE(error);
}

TYPED_TEST(AsioTimer, CompletionTokens) {
  TypeParam timer(this->context, 1ms);
  std::future<void> done = timer.async_wait(asio::use_future);
  std::future<void> aborted = TypeParam(this->context, 1h).async_wait(asio::use_future);
  int resumed = 0;
  asio::co_spawn(
      this->context,
      [](asio::io_context& where, int& count) -> asio::awaitable<void> {
        TypeParam own(where, 1ms);
        co_await own.async_wait(asio::use_awaitable);
        EXPECT_GE(clock_type::now(), own.expiry());
        ++count;
      }(this->context, resumed),
      asio::detached);
  this->context.run();
  EXPECT_NO_THROW(done.get());
  EXPECT_THROW(aborted.get(), system_error);
  EXPECT_EQ(resumed, 1);
}

TYPED_TEST(AsioTimer, AMoveOnlyHandler) {
  TypeParam timer(this->context, 1ms);
  timer.async_wait([this, kept = std::make_unique<int>(5)](error_code) { this->outcomes.push_back(*kept); });
  this->context.run();
  EXPECT_EQ(this->outcomes, std::vector{5});
}

TYPED_TEST(AsioTimer, HandlersRunOnTheirOwnExecutor) {
  auto strand = asio::make_strand(this->context);
  TypeParam timer(this->context, 1ms);
  timer.async_wait(asio::bind_executor(strand, [&](error_code error) {
    EXPECT_FALSE(error);
    EXPECT_TRUE(strand.running_in_this_thread());
    this->outcomes.push_back(1);
  }));
  typename TypeParam::template rebind_executor<decltype(strand)>::other stranded(strand, 2ms);
  EXPECT_EQ(stranded.get_executor(), strand);
  stranded.async_wait([&](error_code error) {
    EXPECT_FALSE(error);
    EXPECT_TRUE(strand.running_in_this_thread());
    this->outcomes.push_back(2);
  });
  TypeParam converted(std::move(stranded));
  this->context.run();
  EXPECT_EQ(this->outcomes, (std::vector{1, 2}));
}

TYPED_TEST(AsioTimer, AnExecutorMayBeOfTheNetworkingTS) {
  asio::io_context::strand strand(this->context);
  typename TypeParam::template rebind_executor<asio::io_context::strand>::other timer(strand, 1ms);
  timer.async_wait([&](error_code error) {
    EXPECT_FALSE(error);
    EXPECT_TRUE(strand.running_in_this_thread());
    this->outcomes.push_back(1);
  });
  this->context.run();
  EXPECT_EQ(this->outcomes, std::vector{1});
}

TYPED_TEST(AsioTimer, WhatIsDueAtOnceIsInOrderWhicheverWayItComesToAnExecutor) {
  auto strand = asio::make_strand(this->context);
  const auto long_ago = clock_type::now() - 1h;
  TypeParam timer(this->context, long_ago);
  timer.async_wait(asio::bind_executor(strand, this->note(1)));
  typename TypeParam::template rebind_executor<decltype(strand)>::other stranded(strand, long_ago + 1ns);
  stranded.async_wait(this->note(2));
  this->context.run();
  EXPECT_EQ(this->outcomes, (std::vector{1, 2}));
}

/// The smallest executor that Asio accepts: it runs each function at once.
struct runs_at_once {
  asio::io_context* of;
  asio::execution_context& query(asio::execution::context_t) const noexcept { return *of; }
  template <class Function>
  void execute(Function function) const {
    std::move(function)();
  }
  bool operator==(const runs_at_once&) const noexcept = default;
};

TYPED_TEST(AsioTimer, AHandlersExecutorMayRunAtOnce) {
  TypeParam timer(this->context, 1ms);
  timer.async_wait(asio::bind_executor(runs_at_once{&this->context}, this->note(1)));
  EXPECT_TRUE(this->outcomes.empty()) << "a handler ran inside async_wait";
  this->context.run();
  EXPECT_EQ(this->outcomes, std::vector{1});
}

TYPED_TEST(AsioTimer, AHandlersExecutorKeepsItsOwnContextAtWork) {
  asio::io_context other;
  TypeParam timer(this->context, 2ms);
  timer.async_wait(asio::bind_executor(other, this->note(1)));
  EXPECT_EQ(other.poll(), 0u);
  EXPECT_FALSE(other.stopped()) << "the context stopped although a handler is to come";
  this->context.run();
  EXPECT_TRUE(this->outcomes.empty());
  EXPECT_EQ(other.run(), 1u);
  EXPECT_EQ(this->outcomes, std::vector{1});
}

struct allocations {
  int made = 0;
  int freed = 0;
};
template <class T>
struct counting_allocator {
  using value_type = T;
  explicit counting_allocator(allocations& into) : count(&into) {}
  template <class Other>
  counting_allocator(const counting_allocator<Other>& other) : count(other.count) {}
  T* allocate(std::size_t n) {
    ++count->made;
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* memory, std::size_t n) {
    ++count->freed;
    std::allocator<T>().deallocate(memory, n);
  }
  friend bool operator==(const counting_allocator&, const counting_allocator&) = default;
  allocations* count;
};
struct with_allocator {
  using allocator_type = counting_allocator<int>;
  allocator_type get_allocator() const noexcept { return allocator_type(*count); }
  void operator()(error_code) const {
    EXPECT_EQ(count->made, count->freed) << "the handler ran before the memory of its wait was freed";
  }
  allocations* count;
};
struct owns_its_allocator : with_allocator {
  std::shared_ptr<allocations> owned;
};

TYPED_TEST(AsioTimer, TheHandlersAllocatorIsUsed) {
  allocations count;
  TypeParam timer(this->context, 1ms);
  timer.async_wait(with_allocator{&count});
  EXPECT_GE(count.made, 1);
  this->context.run();
  EXPECT_EQ(count.made, count.freed);
}

/// An executor that calls each function on another thread, and returns after that: so the thread that posts is late.
struct runs_elsewhere {
  asio::io_context* of;
  asio::execution_context& query(asio::execution::context_t) const noexcept { return *of; }
  runs_elsewhere require(asio::execution::blocking_t::never_t) const noexcept { return *this; }
  template <class Function>
  void execute(Function function) const {
    std::thread(std::function<void()>(std::move(function))).join();
  }
  bool operator==(const runs_elsewhere&) const noexcept = default;
};

TYPED_TEST(AsioTimer, NoThreadKeepsTheMemoryOfAWaitWhoseHandlerRuns) {
  allocations count;
  TypeParam timer(this->context, 1ms);
  timer.async_wait(asio::bind_executor(runs_elsewhere{&this->context}, with_allocator{&count}));
  this->context.run();
  EXPECT_GE(count.made, 1);

  auto open = asio::make_work_guard(this->context);
  this->context.restart();
  std::thread runner([&] { this->context.run(); });
  for (int i = 0; i < 300; ++i) {
    const auto own = std::make_shared<allocations>();
    TypeParam due(this->context, clock_type::now());
    due.async_wait(asio::bind_executor(this->context, owns_its_allocator{{own.get()}, own}));
  }
  open.reset();
  runner.join();
}

/// The executor of a context, of which each copy shares a life.
struct with_life {
  asio::io_context* of;
  std::shared_ptr<int> life;
  asio::execution_context& query(asio::execution::context_t) const noexcept { return *of; }
  template <class Function>
  void execute(Function function) const {
    asio::post(*of, [run = std::move(function)]() mutable { run(); });
  }
  bool operator==(const with_life&) const noexcept = default;
};

TYPED_TEST(AsioTimer, AHandlerThatIsQueuedElsewhereKeepsNoExecutorOfTheTimer) {
  asio::io_context other;
  const std::weak_ptr<int> life = [&] {
    const with_life executor{&this->context, std::make_shared<int>()};
    typename TypeParam::template rebind_executor<with_life>::other timer(executor, 1ms);
    timer.async_wait(asio::bind_executor(other, [this](error_code) { this->outcomes.push_back(1); }));
    this->context.run();
    return executor.life;
  }();
  EXPECT_TRUE(life.expired()) << "an executor is left, whose context may end before the handler is called";
  other.run();
  EXPECT_EQ(this->outcomes, std::vector{1});
}

#ifdef FOLIOT_TEST_CANCELLATION_SLOTS
TYPED_TEST(AsioTimer, ACancellationSlotKeepsNoMemoryOfAWaitThatHasEnded) {
  asio::cancellation_signal signal;
  allocations count;
  TypeParam timer(this->context, 1ms);
  for (int i = 0; i < 2; ++i) {  // the second takes the slot from the first
    timer.async_wait(asio::bind_cancellation_slot(signal.slot(), with_allocator{&count}));
    this->context.run();
    this->context.restart();
    EXPECT_EQ(count.made, count.freed);
  }
  EXPECT_GE(count.made, 2);
  signal.emit(asio::cancellation_type::all);
}

TYPED_TEST(AsioTimer, ACancellationSlotAbortsItsOwnWaitOnly) {
  asio::cancellation_signal signal;
  TypeParam timer(this->context, 1ms);
  timer.async_wait(this->note(1));
  timer.async_wait(asio::bind_cancellation_slot(signal.slot(), this->note(2)));
  timer.async_wait(this->note(3));
  signal.emit(asio::cancellation_type::total);
  signal.emit(asio::cancellation_type::total);
  this->context.run();
  EXPECT_EQ(this->outcomes, (std::vector{-2, 1, 3}));
}
#endif

TYPED_TEST(AsioTimer, TheContextRunsAsLongAsSomebodyWaits) {
  EXPECT_EQ(this->context.run(), 0u);
  this->context.restart();
  TypeParam timer(this->context, 1h);
  EXPECT_EQ(this->context.run(), 0u) << "a handler ran although no wait is left";
  this->context.restart();
  timer.async_wait(this->note(1));
  asio::post(this->context, [&] { timer.cancel(); });
  this->context.run();
  EXPECT_EQ(this->outcomes, std::vector{-1});
}

TYPED_TEST(AsioTimer, AnExceptionComesOutOfRunAndNothingIsLost) {
  TypeParam timer(this->context, 1ms);
  timer.async_wait([](error_code) { throw std::runtime_error("once"); });
  timer.async_wait(this->note(1));
  EXPECT_THROW(this->context.run(), std::runtime_error);
  this->context.run();
  EXPECT_EQ(this->outcomes, std::vector{1});
}

TYPED_TEST(AsioTimer, AContextThatEndsDestroysHandlersWithoutACall) {
  std::weak_ptr<TypeParam> waiting;
  std::weak_ptr<TypeParam> queued;
  {
    asio::io_context ending;
    auto make = [&](std::chrono::nanoseconds length) {
      auto timer = std::make_shared<TypeParam>(ending, length);
      timer->async_wait([timer](error_code) { FAIL() << "the handler was called"; });
      return timer;
    };
    waiting = make(1h);
    queued = make(1h);
    queued.lock()->cancel();
    EXPECT_FALSE(waiting.expired());
  }
  EXPECT_TRUE(waiting.expired());
  EXPECT_TRUE(queued.expired());
}

TYPED_TEST(AsioTimer, AThreadPool) {
  asio::thread_pool pool(2);
  std::atomic<int> fired = 0;
  std::vector<TypeParam> some;
  for (int i = 0; i < 50; ++i) {
    some.emplace_back(pool, i * 50us);
    some.back().async_wait([&](error_code error) { fired += error ? 0 : 1; });
  }
  pool.join();
  EXPECT_EQ(fired, 50);
}

TYPED_TEST(AsioTimer, TimersOfSeveralThreadsInOneContext) {
  auto open = asio::make_work_guard(this->context);
  std::atomic<int> succeeded = 0;
  std::atomic<int> aborted = 0;
  std::vector<std::thread> runners;
  for (int i = 0; i < 2; ++i) runners.emplace_back([&] { this->context.run(); });
  std::vector<std::thread> users;
  for (int user = 0; user < 2; ++user) {
    users.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        TypeParam timer(this->context, i % 3 == 0 ? 0us : (i % 3 == 1 ? 20us : 1h));
        timer.async_wait([&](error_code error) { ++(error ? aborted : succeeded); });
        if (i % 7 == 0) std::this_thread::yield();
        if (i % 2 == 0) timer.cancel();
      }
    });
  }
  for (std::thread& each : users) each.join();
  open.reset();
  for (std::thread& each : runners) each.join();
  EXPECT_EQ(succeeded + aborted, 1000);
}

}  // namespace
}  // namespace foliot::test
