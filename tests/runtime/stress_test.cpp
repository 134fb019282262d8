// Everything at once on real workers, for ThreadSanitizer: tasks that are spawned, joined and stopped, timers moved
// from other threads, blocking calls, and processors that come and go. Only outcomes are compared; a seed shuffles what
// each task does, not when.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/seam/random.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

class counter : private detail::timer_entry {
 public:
  explicit counter(detail::scheduler& owner) : timer_entry(what), owner_(owner) {}
  ~counter() { detail::stop_timer(*this); }
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;

  /// Each counter is used by one thread at a time.
  void reset(duration length) {
    ++starts_;
    taken_back_ += detail::reset_timer(owner_, *this, detail::now(owner_) + length) ? 1 : 0;
  }
  void stop() { taken_back_ += detail::stop_timer(*this) ? 1 : 0; }
  [[nodiscard]] bool each_start_has_one_outcome() const { return starts_ == taken_back_ + fired_.load(); }

 private:
  static then fire(timer_entry& self, detail::ready_list&) noexcept {
    static_cast<counter&>(self).fired_.fetch_add(1);
    return then::nothing;
  }
  static constexpr actions what{fire, nullptr};

  detail::scheduler& owner_;
  std::int64_t starts_ = 0;
  std::int64_t taken_back_ = 0;
  std::atomic<std::int64_t> fired_{0};
};

struct sums {
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  std::atomic<int> stopped{0};
};

task<> live(sums& all, std::uint64_t seed, int depth) {
  random_stream random(seed);
  all.begun.fetch_add(1);
  std::vector<join_handle<>> children;
  for (int i = 0; i < 6; ++i) {
    switch (random.below(7)) {
      case 0: co_await yield(); break;
      case 1: co_await sleep(duration::nanoseconds(static_cast<std::int64_t>(random.below(200'000)))); break;
      case 2:
      case 3:
        if (depth < 3) children.push_back(spawn(live(all, random.next(), depth + 1)));
        break;
      case 4: {
        auto nothing = [] {};
        co_await blocking(nothing);
        break;
      }
      case 5: set_processors(1 + random.below(4)); break;
      default: {
        const auto sleeps = [](sums& of) -> task<> {
          try {
            co_await sleep(1h);
          } catch (const cancelled&) {
            of.stopped.fetch_add(1);
          }
        };
        auto victim = spawn(sleeps(all));
        if (random.below(2) == 0) co_await yield();
        victim.request_stop();
        co_await victim.join();
        break;
      }
    }
  }
  for (auto& each : children) co_await each.join();
  all.ended.fetch_add(1);
}

task<> move_timers(std::uint64_t seed) {
  random_stream random(seed);
  std::array<counter, 3> timers{counter(detail::this_scheduler("a timer")), counter(detail::this_scheduler("a timer")),
                                counter(detail::this_scheduler("a timer"))};
  auto from_outside = [&timers, &random] {
    for (int i = 0; i < 200; ++i) {
      counter& which = timers[random.below(timers.size())];
      if (random.below(4) == 0) {
        which.stop();
      } else {
        which.reset(duration::nanoseconds(static_cast<std::int64_t>(random.below(300'000))));
      }
    }
  };
  for (int i = 0; i < 3; ++i) {
    co_await blocking(from_outside);
    co_await sleep(100us);
    from_outside();
  }
  for (counter& each : timers) {
    each.stop();
    EXPECT_TRUE(each.each_start_has_one_outcome());
  }
}

TEST(Stress, EverythingAtOnce) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    sums all;
    run_options options;
    options.processors = 1 + seed % 4;
    options.seed = seed;
    const auto main = [](sums& of, std::uint64_t with) -> task<> {
      std::vector<join_handle<>> handles;
      for (std::uint64_t i = 0; i < 4; ++i) {
        handles.push_back(spawn(live(of, with * 100 + i, 0)));
        handles.push_back(spawn(move_timers(with * 100 + i)));
      }
      for (auto& each : handles) co_await each.join();
    };
    run(main(all, seed), options);
    EXPECT_EQ(all.begun.load(), all.ended.load());
  }
}

/// The main task ends while all other tasks go on.
TEST(Stress, TheEndComesMeanwhile) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    sums all;
    run_options options;
    options.processors = 1 + seed % 4;
    const auto main = [](sums& of, std::uint64_t with) -> task<> {
      for (std::uint64_t i = 0; i < 4; ++i) static_cast<void>(spawn(live(of, with * 100 + i, 0)));
      co_await sleep(duration::nanoseconds(static_cast<std::int64_t>(with * 20'000)));
    };
    run(main(all, seed), options);
    EXPECT_LE(all.ended.load(), all.begun.load());
  }
}

}  // namespace
}  // namespace foliot::runtime
