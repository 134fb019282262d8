// Tasks whose awaits all complete at once: other tasks have their turn, the run ends, and a stop takes effect.
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/after.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/context.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task_mutex.hpp>
#include <foliot/runtime/task_semaphore.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/wait_group.hpp>
#include <foliot/runtime/with_timeout.hpp>

#include "small_tasks.hpp"
#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::nothing;

/// Counts the rounds of a task that never waits, and ends it: when the test has seen the expected event, or after many
/// rounds.
class rounds {
 public:
  explicit rounds(int most = 20'000) noexcept : most_(most) {}
  [[nodiscard]] bool go_on() noexcept { return !over_ && ++count_ <= most_; }
  void end() noexcept { over_ = true; }
  [[nodiscard]] bool too_many() const noexcept { return count_ > most_; }

 private:
  const int most_;
  int count_ = 0;
  bool over_ = false;
};

/// A task that never waits.
struct busy {
  std::string_view how;
  task<> (*run)(rounds& all);
  bool can_be_stopped = true;  // it awaits something that heeds a stop
};

task<> pass_through(channel<int> by) {
  co_await by.send(1);
  co_await by.receive();
}

class does_not_suspend {
 public:
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<>) const noexcept { return false; }
  void await_resume() const noexcept {}
};

const busy ways_to_be_busy[] = {
    {"buffered channel",
     [](rounds& all) -> task<> {
       channel<int> values(1);
       while (all.go_on()) {
         co_await values.send(1);
         co_await values.receive();
       }
     }},
    {"closed channel",
     [](rounds& all) -> task<> {
       channel<int> values;
       values.close();
       while (all.go_on()) co_await values.receive();
     }},
    {"mutex",
     [](rounds& all) -> task<> {
       task_mutex free;
       while (all.go_on()) {
         auto held = co_await free.lock();
       }
     }},
    {"semaphore",
     [](rounds& all) -> task<> {
       task_semaphore slots(1);
       while (all.go_on()) {
         co_await slots.acquire();
         slots.release();
       }
     }},
    {"wait group",
     [](rounds& all) -> task<> {
       wait_group empty;
       while (all.go_on()) co_await empty.wait();
     }},
    {"select",
     [](rounds& all) -> task<> {
       channel<int> values(1);
       while (all.go_on()) co_await select(values.send(1), values.receive());
     }},
    {"select with otherwise",
     [](rounds& all) -> task<> {
       channel<int> values;
       while (all.go_on()) co_await select(values.receive(), otherwise());
     }},
    {"sleep for nothing",
     [](rounds& all) -> task<> {
       while (all.go_on()) co_await sleep(duration::zero());
     }},
    {"after nothing",
     [](rounds& all) -> task<> {
       while (all.go_on()) co_await after(duration::zero());
     }},
    {"context that is done",
     [](rounds& all) -> task<> {
       auto over = with_cancel(background());
       over.cancel();
       while (all.go_on()) co_await over.done();
     }},
    {"stream that is ready",
     [](rounds& all) -> task<> {
       auto both = stream::pair();
       EXPECT_TRUE(both.has_value());
       char byte = 0;
       while (all.go_on()) {
         co_await both->first.write_all(std::string_view("x"));
         co_await both->second.read_all(std::span<char>(&byte, 1));
       }
     }},
    {"calls with as many steps as a power of two",
     [](rounds& all) -> task<> {
       channel<int> values(1);
       while (all.go_on()) co_await pass_through(values);
     }},
    {"yield, and cancelled is ignored",
     [](rounds& all) -> task<> {
       while (all.go_on()) {
         try {
           co_await yield();
         } catch (const cancelled&) {
         }
       }
     },
     false},
    {"calls of what does nothing",
     [](rounds& all) -> task<> {
       while (all.go_on()) co_await nothing();
     },
     false},
    {"foreign awaiters that are ready",
     [](rounds& all) -> task<> {
       while (all.go_on()) co_await std::suspend_never();
     },
     false},
    {"foreign awaiters that do not suspend",
     [](rounds& all) -> task<> {
       while (all.go_on()) co_await does_not_suspend();
     },
     false},
    {"stop_requested",
     [](rounds& all) -> task<> {
       while (all.go_on()) co_await stop_requested();
     },
     false},
};

/// While one task is busy, the other one has its turn.
task<> lets_others_run(const busy& way) {
  rounds all;
  auto one = spawn(way.run(all));
  auto other = spawn([](rounds& ended_here) -> task<> {
    for (int i = 0; i < 3; ++i) co_await yield();
    ended_here.end();
  }(all));
  co_await other.join();
  co_await one.join();
  EXPECT_FALSE(all.too_many()) << way.how;
}

TEST(Turns, ATaskWhoseAwaitsAreAllReadyLetsOthersRunOnVirtualTime) {
  test::in_virtual_worlds([]() -> task<> {
    for (const busy& way : ways_to_be_busy) co_await lets_others_run(way);
  });
}

TEST(Turns, JoinsOfTasksThatHaveEndedLetOthersRun) {
  test::in_virtual_worlds([]() -> task<> {
    std::vector<join_handle<>> all;
    for (int i = 0; i < 1000; ++i) all.push_back(spawn(nothing()));
    bool ended = true;
    do {
      co_await yield();
      ended = true;
      for (const auto& each : all) ended = ended && each.done();
    } while (!ended);
    bool other_ran = false;
    auto other = spawn([](bool& ran) -> task<> {
      ran = true;
      co_return;
    }(other_ran));
    for (auto& each : all) co_await each.join();
    EXPECT_TRUE(other_ran);
    co_await other.join();
  });
}

TEST(Turns, BlockingCallsOnVirtualTimeLetOthersRun) {
  test::in_virtual_worlds([]() -> task<> {
    const busy calls{"blocking",
                     [](rounds& all) -> task<> {
                       const auto call = [] {};
                       while (all.go_on()) co_await blocking(call);
                     },
                     false};
    co_await lets_others_run(calls);
  });
}

TEST(Turns, ATaskThatIsToStopAndIgnoresItLetsOthersRun) {
  test::in_virtual_worlds([]() -> task<> {
    rounds all;
    auto stubborn = spawn([](rounds& until) -> task<> {
      while (until.go_on()) {
        try {
          co_await sleep(1h);
        } catch (const cancelled&) {
        }
      }
    }(all));
    stubborn.request_stop();
    for (int i = 0; i < 3; ++i) co_await yield();
    all.end();
    co_await stubborn.join_without_cancellation();
    EXPECT_FALSE(all.too_many());
  });
}

TEST(Turns, ARunEndsAlthoughATaskWhoseAwaitsAreAllReadyGoesOnForEver) {
  for (const busy& way : ways_to_be_busy) {
    SCOPED_TRACE(way.how);
    for (const std::size_t processors : {1U, 2U}) {
      rounds for_ever(std::numeric_limits<int>::max());
      run_options options;
      options.processors = processors;
      run(
          [](const busy& each, rounds& all) -> task<> {
            spawn(each.run(all));
            co_await sleep(1ms);
          }(way, for_ever),
          options);
    }
  }
}

TEST(Turns, ATaskWhoseAwaitsAreAllReadySeesThatItIsToStop) {
  test::in_virtual_worlds([]() -> task<> {
    for (const busy& way : ways_to_be_busy) {
      if (!way.can_be_stopped) continue;
      rounds all;
      auto handle = spawn(way.run(all));
      co_await yield();
      handle.request_stop();
      bool stopped = false;
      try {
        co_await handle.join();
      } catch (const cancelled&) {
        stopped = true;
      }
      EXPECT_TRUE(stopped) << way.how;
    }
  });
}

TEST(Turns, ATaskWhoseAwaitsAreAllReadyTimesOut) {
  for (const std::size_t processors : {1U, 2U}) {
    run_options options;
    options.processors = processors;
    run(
        []() -> task<> {
          for (const busy& way : ways_to_be_busy) {
            if (!way.can_be_stopped) continue;
            rounds for_ever(std::numeric_limits<int>::max());
            auto body = way.run(for_ever);
            const auto result = co_await with_timeout(std::move(body), 1ms);
            EXPECT_FALSE(result.has_value()) << way.how;
          }
        }(),
        options);
  }
}

TEST(Turns, ASeedDecidesWhoRunsAlsoAmongTasksWhoseAwaitsAreAllReady) {
  const auto trace = [](std::uint64_t seed) {
    std::string order;
    virtual_clock clock;
    run_options options;
    options.clock = &clock;
    options.processors = 3;
    options.seed = seed;
    run(
        [](std::string& into) -> task<> {
          const auto writes = [](std::string& to, char name) -> task<> {
            for (int i = 0; i < 500; ++i) {
              to += name;
              co_await sleep(duration::zero());
            }
          };
          std::vector<join_handle<>> all;
          for (char name = 'a'; name < 'e'; ++name) all.push_back(spawn(writes(into, name)));
          for (auto& each : all) co_await each.join();
        }(order),
        options);
    return order;
  };
  EXPECT_EQ(trace(1), trace(1));
  EXPECT_NE(trace(1), trace(2));
}

TEST(Turns, ATimerThatIsDueFiresThoughATaskAlwaysRunsOnVirtualTime) {
  test::in_virtual_worlds([]() -> task<> {
    bool fired = false;
    auto due = after_func(duration::zero(), [&fired] { fired = true; });
    for (int i = 0; i < 20'000 && !fired; ++i) co_await yield();
    EXPECT_TRUE(fired);
  });
}

}  // namespace
}  // namespace foliot::runtime
