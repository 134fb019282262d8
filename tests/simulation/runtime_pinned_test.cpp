// The end of a pinned_callback_timer against its call, under seeded schedules: in its own callback, in that of another
// timer that is due at the same time, in a task and in a thread outside. What was the timer is overwritten at once, so
// that any later use of it is found.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/pinned_callback_timer.hpp>

#include "runtime_worlds.hpp"

namespace foliot::simulation {
namespace {

using namespace std::chrono_literals;
using runtime::callback_timer;
using runtime::join_handle;
using runtime::pinned_callback_timer;
using runtime::sleep;
using runtime::spawn;
using runtime::task;

constexpr std::uint64_t worlds = 60;

template <class Make>
void explore_ends(Make make) {
  for (const char* const kind : {"foliot", "processor-heaps", "processor-heaps-1.14"}) {
    for (const faults& with : {quiet, interrupted}) {
      explore(worlds, with, [&] {
        runtime::run_options options;
        options.processors = 1 + choose(3);
        options.seed = choose(1'000'000);
        options.timers = kind;
        runtime::run(make(), options);
      });
    }
  }
}

/// A timer in a place that is overwritten when it ends. The thread that takes it ends it.
class object {
 public:
  using timer = pinned_callback_timer<std::function<void()>>;

  object() = default;
  object(const object&) = delete;
  object& operator=(const object&) = delete;

  void make(std::function<void()> function) {
    alive_ = std::make_shared<bool>(true);
    new (room_.data()) timer([this, call = std::move(function), alive = alive_] {
      require(*alive, "the callback ran after the end of its timer");
      require(!runs_, "two calls of one timer overlap");
      runs_ = true;
      point();
      ++calls_;
      const std::weak_ptr<bool> captured = alive;
      call();
      require(!captured.expired(), "the captures went before the callback had returned");
      point();
      runs_ = false;
    });
  }
  timer& get() { return *std::launder(reinterpret_cast<timer*>(room_.data())); }
  [[nodiscard]] bool take() { return !taken_.exchange(true); }
  /// By the thread that has taken it. `inside`: in its own callback.
  void end(bool inside) {
    std::destroy_at(&get());
    room_.fill(std::byte{0xdd});
    *alive_ = false;
    if (inside) return;
    require(!runs_, "the callback runs after the end of its timer");
    require(alive_.use_count() == 1, "the captures are left after the end of the timer");
  }
  [[nodiscard]] bool is_taken() const { return taken_.load(); }
  /// After its end: whether nothing has written to it since.
  [[nodiscard]] bool is_untouched() const {
    return std::ranges::all_of(room_, [](std::byte each) { return each == std::byte{0xdd}; });
  }
  [[nodiscard]] int calls() const { return calls_; }
  [[nodiscard]] bool runs() const { return runs_; }

 private:
  alignas(timer) std::array<std::byte, sizeof(timer)> room_{};
  seam::atomic<bool> taken_{false};
  std::shared_ptr<bool> alive_;
  bool runs_ = false;  // simulated threads are no threads: nothing here races
  int calls_ = 0;
};

/// Calls the function in a thread outside of the runtime, at some time.
seam::thread outside(std::function<void()> what) {
  return seam::thread("outside", [what = std::move(what)] {
    for (std::uint64_t left = choose(150); left > 0; --left) point();
    what();
  });
}

/// All are due at about the same time. A callback ends itself, or timers behind its own: two callbacks must not end
/// each other's timers.
task<> end_each_other() {
  constexpr std::size_t count = 5;
  std::vector<std::unique_ptr<object>> all(count);
  std::vector<callback_timer> handles;
  bool armed = false;
  const auto end = [&all](std::size_t which, bool inside) {
    if (all[which]->take()) all[which]->end(inside);
  };
  for (std::size_t i = 0; i < count; ++i) {
    const auto call = [&, i] {
      require(armed, "called before it was due");
      if (i + 1 < count && choose(2) == 0) end(i + 1 + choose(count - i - 1), false);
      if (choose(3) == 0) end(i, true);
    };
    all[i] = std::make_unique<object>();
    all[i]->make(call);
    if (choose(2) == 0) handles.emplace_back([] { point(); });
  }
  armed = true;
  // Time moves only when all threads are blocked: no callback ends a timer while this arms it.
  const instant due = runtime::now() + 20us;
  for (std::size_t i = 0; i < count; ++i) {
    all[i]->get().reset_at(due);
    if (i < handles.size()) handles[i].reset_at(due);
  }
  seam::thread other = outside([&] {
    for (std::size_t i = 0; i < count; i += 1 + choose(2)) end(choose(count), false);
  });
  if (choose(2) == 0) co_await sleep(up_to(60us));
  for (std::size_t i = 0; i < count; ++i) {
    if (choose(3) != 0) end(i, false);
  }
  co_await joined(other);
  co_await sleep(200us);  // the last callbacks have returned
  for (const auto& each : all) {
    require(each->calls() <= 1 && !each->runs(), "a start was called twice");
    require(each->calls() == 1 || each->is_taken(), "a timer was due, was not ended, and was not called");
  }
  for (std::size_t i = 0; i < count; ++i) end(i, false);
  for (const auto& each : all) require(each->is_untouched(), "a timer was used after its end");
}

TEST(RuntimePinned, CallbacksTasksAndThreadsEndTimersThatAreDueAtOnce) { explore_ends(end_each_other); }

/// Threads that run all the time: the timers are due at once, and end while they are added to a list, and called.
task<> end_as_they_come_due() {
  constexpr std::size_t count = 4;
  std::vector<std::unique_ptr<object>> all(count);
  for (auto& each : all) {
    each = std::make_unique<object>();
    each->make([] { point(); });
  }
  std::size_t armed = 0;
  seam::thread other = outside([&] {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t which = choose(count);
      if (which >= armed) continue;  // no call of another thread may be under way
      object& each = *all[which];
      if (each.take()) each.end(false);
    }
  });
  for (auto& each : all) {
    each->get().reset(0ns);
    ++armed;
    if (choose(4) == 0) co_await runtime::yield();
  }
  for (auto& each : all) {
    if (choose(2) == 0 && each->take()) each->end(false);
  }
  co_await joined(other);
  co_await sleep(50us);
  for (const auto& each : all) require(each->calls() == 1 || each->is_taken(), "a timer was due and was not called");
  for (auto& each : all) {
    if (each->take()) each->end(false);
    require(each->calls() <= 1 && each->is_untouched(), "a timer was used after its end");
  }
}

TEST(RuntimePinned, OtherThreadsEndTimersThatComeDue) { explore_ends(end_as_they_come_due); }

/// Stops and resets by a thread outside, against the calls; each start has one outcome.
task<> outcomes_agree() {
  object one;
  int starts = 0;
  int taken_back = 0;
  const bool resets_itself = choose(2) == 0;
  one.make([&] {
    if (!resets_itself || one.calls() > 3) return;
    const reset_result result = one.get().reset(up_to(5us));
    if (result != reset_result::closed) ++starts;
    if (result == reset_result::superseded) ++taken_back;  // a start of the other thread
  });
  const auto interfere = [&] {
    for (int i = 0; i < 6; ++i) {
      if (choose(3) == 0) {
        if (one.get().stop() == stop_result::stopped) ++taken_back;
      } else {
        ++starts;
        if (one.get().reset(up_to(10us)) == reset_result::superseded) ++taken_back;
      }
      for (std::uint64_t left = choose(30); left > 0; --left) point();
    }
  };
  seam::thread other = outside(interfere);
  co_await sleep(up_to(30us));
  co_await joined(other);
  stop_result last{};
  const bool waits = choose(2) == 0;
  if (waits) {
    auto end = one.get().stop_and_wait();
    last = co_await end;
    require(!one.runs(), "the callback runs after stop_and_wait()");
  } else {
    last = one.get().stop();
    co_await sleep(200us);
    if (resets_itself && one.get().stop() == stop_result::stopped) ++taken_back;
  }
  if (last == stop_result::stopped) ++taken_back;
  const int calls = one.calls();
  require(calls + taken_back == starts, "each start is called, stopped or superseded");
  if (one.take()) one.end(false);
  co_await sleep(100us);
  require(one.calls() == calls, "the callback ran after the end of its timer");
}

TEST(RuntimePinned, EachStartHasOneOutcome) { explore_ends(outcomes_agree); }

/// The runtime ends while timers are pending, due and called; they end after it.
TEST(RuntimePinned, TheRuntimeEndsMeanwhile) {
  for (const char* const kind : {"foliot", "processor-heaps", "processor-heaps-1.14"}) {
    explore(worlds, quiet, [&] {
      std::vector<std::unique_ptr<object>> all(4);
      runtime::run_options options;
      options.processors = 1 + choose(3);
      options.seed = choose(1'000'000);
      options.timers = kind;
      const auto main = [](std::vector<std::unique_ptr<object>>& of) -> task<> {
        for (auto& each : of) {
          each = std::make_unique<object>();
          each->make([] {});
          each->get().reset(up_to(10us));
        }
        if (choose(2) == 0) co_await sleep(up_to(10us));
      };
      runtime::run(main(all), options);
      for (auto& each : all) {
        require(each->get().stop() == stop_result::idle, "the runtime has ended");
        if (each->take()) each->end(false);
      }
    });
  }
}

}  // namespace
}  // namespace foliot::simulation
