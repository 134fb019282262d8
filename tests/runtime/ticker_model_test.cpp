// A ticker and the tasks that wait for it, at random against a model on virtual time, with each kind of timers: which
// task gets which tick and when, how many ticks are skipped, and whether the processors have a timer for it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/seam/random.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/ticker.hpp>
#include <foliot/runtime/timer_stopped.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "worlds.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;

/// The tick that a waiting task received, and when; or the end of its wait by a stop.
struct given {
  instant tick = instant::never();
  instant at = instant::never();
  bool stopped = false;
  friend bool operator==(const given&, const given&) = default;
};

/// The model of a ticker. The test passes the time to it.
class model {
 public:
  model(instant now, duration period) : next_(now + period), period_(period) {}

  void reset(instant now, duration period) {
    armed_ = true;
    next_ = now + period;
    period_ = period;
  }
  /// Stops the ticker and ends the waits. Returns whether it was armed.
  bool stop() {
    for (given* const each : waiting_) each->stopped = true;
    waiting_.clear();
    return std::exchange(armed_, false);
  }
  std::optional<instant> take(instant now) {
    if (!armed_ || next_ > now) return std::nullopt;
    const instant tick = next_;
    for (next_ += period_; next_ <= now; next_ += period_) ++skipped_;
    return tick;
  }
  void wait(given& who) {
    if (armed_) {
      waiting_.push_back(&who);
    } else {
      who.stopped = true;  // a ticker that is not armed was stopped
    }
  }
  void leave(given& who) { std::erase(waiting_, &who); }
  /// Time stops at each tick that a task waits for.
  void move_to(instant target) {
    while (pending() && next_ <= target) give(next_);
  }
  /// Time reaches `target` at once: a waiting task receives the ticker only then.
  void jump_to(instant target) {
    if (pending() && next_ <= target) give(target);
  }
  [[nodiscard]] bool pending() const { return armed_ && !waiting_.empty(); }
  [[nodiscard]] bool waits(const given& who) const { return std::ranges::find(waiting_, &who) != waiting_.end(); }
  [[nodiscard]] bool has_room() const { return waiting_.size() < 5; }
  [[nodiscard]] std::uint64_t skipped() const { return skipped_; }

 private:
  void give(instant now) {
    given& who = *waiting_.front();
    waiting_.pop_front();
    who.at = now;
    who.tick = *take(now);
  }

  bool armed_ = true;
  instant next_;
  duration period_;
  std::uint64_t skipped_ = 0;
  std::deque<given*> waiting_;
};

struct waiter {
  given real;
  given wanted;
  join_handle<> task;
};

task<> receives(const ticker& from, given& into) {
  try {
    const instant tick = co_await from;
    into = {tick, now(), false};
  } catch (const timer_stopped&) {
    into.stopped = true;
  }
}

task<> steps(virtual_clock& clock, std::uint64_t seed, int count) {
  random_stream random(seed);
  const auto some_time = [&random] { return duration::nanoseconds(1 + std::int64_t(random.below(400))); };
  const duration first = some_time();
  ticker beat{first};
  model wanted(now(), first);
  std::vector<std::unique_ptr<waiter>> all;
  for (int step = 0; step < count; ++step) {
    switch (random.below(9)) {
      case 0:
      case 1: {
        if (!wanted.has_room()) break;
        all.push_back(std::make_unique<waiter>());
        waiter& fresh = *all.back();
        if (const std::optional<instant> has_come = wanted.take(now())) {
          fresh.wanted = {*has_come, now(), false};
        } else {
          wanted.wait(fresh.wanted);
        }
        fresh.task = spawn(receives(beat, fresh.real));
        break;
      }
      case 2: {
        if (all.empty()) break;
        waiter& some = *all[random.below(all.size())];
        if (!wanted.waits(some.wanted)) break;
        wanted.leave(some.wanted);
        some.task.request_stop();
        break;
      }
      case 3: {
        const duration period = some_time();
        beat.reset(period);
        wanted.reset(now(), period);
        break;
      }
      case 4:
        if (random.below(4) == 0) {
          EXPECT_EQ(beat.stop() == stop_result::stopped, wanted.stop());
        }
        break;
      case 5: EXPECT_EQ(beat.try_receive(), wanted.take(now())); break;
      case 6: {
        const duration length = some_time() * 3;
        clock.stall(length);
        wanted.jump_to(now());
        break;
      }
      default: {
        const instant target = now() + some_time() * std::int64_t(1 + random.below(4));
        co_await sleep_until(target);
        wanted.move_to(target);
      }
    }
    co_await wait_idle();
    for (const auto& each : all) EXPECT_EQ(each->real, each->wanted);
    EXPECT_EQ(beat.skipped(), wanted.skipped());
    EXPECT_EQ(counters().timers, wanted.pending() ? 1U : 0U) << "a ticker that no task waits for costs nothing";
    if (testing::Test::HasFailure()) co_return;
  }
}

TEST(TickerModel, DoesWhatAModelDoes) {
  const char* const chosen = std::getenv("FOLIOT_RUNTIME_SEED");
  const std::uint64_t first = chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : 1;
  for (std::uint64_t seed = first; seed < first + (chosen != nullptr ? 1 : 30); ++seed) {
    for (const std::string_view kind : test::kinds_of_timers) {
      virtual_clock clock;
      run_options options;
      options.clock = &clock;
      options.timers = kind;
      options.processors = 1 + seed % 3;
      options.seed = seed;
      run(steps(clock, seed, 400), options);
      ASSERT_FALSE(HasFailure()) << "to repeat it: FOLIOT_RUNTIME_SEED=" << seed << ", with " << kind;
    }
  }
}

}  // namespace
}  // namespace foliot::runtime
