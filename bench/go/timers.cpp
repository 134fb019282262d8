// Timers: AfterFunc1000, After, Stop, SimultaneousAfterFunc1000, StartStop1000, Reset, AdjustTimers10000. Tickers:
// Ticker, TickerReset, TickerResetNaive. Tasks that sleep: Sleep1000, SleepingTasks100000. Contexts: WithTimeout,
// CancelTree.
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/context.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/ticker.hpp>
#include <foliot/runtime/timer.hpp>
#include <foliot/runtime/wait_group.hpp>
#include <malloc.h>

#include "bench/resident_memory.hpp"
#include "go_benchmarks.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;
using runtime::after_func;
using runtime::background;
using runtime::callback_timer;
using runtime::cancel_context;
using runtime::channel;
using runtime::context;
using runtime::spawn;
using runtime::task;
using runtime::ticker;
using runtime::timer;
using runtime::with_cancel;

/// 1,001 timers, each started by the callback of the one before; the last one sends to `done`.
class timer_chain {
 public:
  timer_chain() : timers_(1'001) {}

  void begin() { start(0); }
  [[nodiscard]] channel<bool>& done() noexcept { return done_; }
  /// First to last: destroying a timer waits for its callback, in which the next one is made.
  void clear() noexcept {
    for (callback_timer& each : timers_) each = callback_timer();
  }

 private:
  void start(std::size_t index) {
    timers_[index] = after_func(0ns, [this, index] {
      if (index + 1 < timers_.size()) return start(index + 1);
      static_cast<void>(done_.try_send(true));
    });
  }

  std::vector<callback_timer> timers_;
  channel<bool> done_{1};  // has room, for a callback cannot wait until a task receives
};

task<> chains(share& mine) {
  timer_chain chain;
  while (mine.next()) {
    chain.begin();
    static_cast<void>(co_await chain.done().receive());
    chain.clear();
  }
}

task<> waits(share& mine) {
  while (mine.next()) {
    auto next = runtime::after(1ns);
    co_await next;
  }
}

/// Go's newTimerFunc: a timer whose callback sends the time.
callback_timer sending_timer(duration delay) {
  channel<instant> to(1);
  return after_func(delay, [to] { static_cast<void>(to.try_send(runtime::now())); });
}

task<> stops_of_channels(share& mine) {
  while (mine.next()) timer(1s).stop();
  co_return;
}

task<> stops_of_callbacks(share& mine) {
  while (mine.next()) sending_timer(1s).stop();
  co_return;
}

task<> simultaneous(share& mine) {
  runtime::wait_group group;
  std::vector<callback_timer> timers(1'000);
  while (mine.next()) {
    group.add(timers.size());
    for (callback_timer& each : timers) each = after_func(0ns, [&group] { group.done(); });
    co_await group.wait();
  }
}

task<> starts_and_stops(share& mine) {
  std::vector<callback_timer> timers(1'000);
  while (mine.next()) {
    for (callback_timer& each : timers) each = after_func(1h, [] {});
    for (callback_timer& each : timers) each.stop();
  }
  co_return;
}

task<> resets_of_channels(share& mine) {
  timer each(1h);
  while (mine.next()) each.reset(1h);
  co_return;
}

task<> resets_of_callbacks(share& mine) {
  callback_timer each = sending_timer(1h);
  while (mine.next()) each.reset(1h);
  co_return;
}

task<> adjustments(share& mine) {
  constexpr std::size_t count = 10'000;
  while (mine.next()) {
    std::vector<callback_timer> timers;
    timers.reserve(count);
    for (std::size_t i = 0; i < count; ++i) timers.push_back(after_func(1h, [] {}));
    timers.back().reset(1ns);
    co_await runtime::sleep(1us);
    for (callback_timer& each : timers) each.stop();
  }
}

task<> ticks(share& mine) {
  ticker each(1ns);
  while (mine.next()) co_await each;
}

task<> resets_of_tickers(share& mine) {
  ticker each(1ns);
  while (mine.next()) each.reset(2ns);
  co_return;
}

task<> replacements_of_tickers(share& mine) {
  ticker each(1ns);
  while (mine.next()) {
    each.stop();
    each = ticker(2ns);
  }
  co_return;
}

// ---------------------------------------------------------------- tasks that sleep

task<> short_sleep(runtime::wait_group& group) {
  co_await runtime::sleep(1ns);
  group.done();
}

task<> thousand_sleeps(share& mine) {
  constexpr std::size_t count = 1'000;
  runtime::wait_group group;
  while (mine.next()) {
    group.add(count);
    for (std::size_t i = 0; i < count; ++i) static_cast<void>(spawn(short_sleep(group), "sleeper"));
    co_await group.wait();
  }
}

constexpr std::size_t many = 100'000;

task<> long_sleep(seam::atomic<std::size_t>& asleep) {
  asleep.fetch_add(1, seam::relaxed);  // a number, which publishes nothing
  co_await runtime::sleep(1h);
}

/// Spawns tasks that sleep until the runtime ends.
task<> put_to_sleep(std::size_t count, seam::atomic<std::size_t>& asleep) {
  for (std::size_t i = 0; i < count; ++i) static_cast<void>(spawn(long_sleep(asleep), "sleeper"));
  while (asleep.load(seam::relaxed) < count) co_await runtime::yield();
}

task<sample> sleeping_tasks(request) {
  seam::atomic<std::size_t> asleep{0};
#ifdef __GLIBC__
  ::malloc_trim(0);  // what other measurements have freed, in this process or in the one that it was forked from
#endif
  const auto memory_before = resident_kibibytes();
  const monotonic_clock& clock = monotonic_clock::instance();
  const instant begin = clock.now();
  co_await put_to_sleep(many, asleep);
  const auto length = static_cast<double>((clock.now() - begin).count());
  const auto memory_after = resident_kibibytes();
  sample found{.figure = length / static_cast<double>(many)};
  if (memory_before >= 0 && memory_after >= memory_before) {
    found.bytes = 1024 * static_cast<double>(memory_after - memory_before) / static_cast<double>(many);
  }
  co_return found;
}

// ---------------------------------------------------------------- contexts

task<> tens(share& mine) {
  constexpr std::size_t count = 10;
  std::vector<cancel_context> ten;
  ten.reserve(count);
  while (mine.next()) {
    ten.clear();
    for (std::size_t i = 0; i < count; ++i) ten.push_back(with_timeout(background(), 1h));
    for (cancel_context& each : ten) each.cancel();
  }
  co_return;
}

/// While so many contexts with a timeout are alive, an equal part of them made on each processor.
task<sample> timeouts(std::size_t concurrency, request asked) {
  const auto processors = static_cast<std::size_t>(asked.threads);
  const std::size_t each = concurrency / processors;
  std::vector<std::vector<cancel_context>> alive(processors);
  const auto make = [&alive, each](std::size_t index) {
    alive[index].reserve(each);
    for (std::size_t i = 0; i < each; ++i) alive[index].push_back(with_timeout(background(), 1h));
  };
  co_await on_every_processor(processors, make);
  counted_work what = in_shares(tens);
  sample found;
  found.figure = co_await calibrated(what, asked.time, processors);
  co_return found;
}

/// Makes a chain of so many contexts: the first below `root`, each other one below the one before.
void make_chain(const context& root, std::uint64_t depth, std::vector<cancel_context>& into) {
  into.clear();
  for (std::uint64_t i = 0; i < depth; ++i) into.push_back(with_cancel(i == 0 ? root : into.back()));
}

task<duration> cancelled_chains(std::uint64_t depth, stretch asked) {
  std::vector<cancel_context> chain;
  chain.reserve(depth);
  const instant begin = monotonic_clock::instance().now();
  for (std::uint64_t i = 0; i < asked.operations; ++i) {
    make_chain(background(), depth, chain);
    cancel_context open = with_cancel(background());
    make_chain(open, depth, chain);
    open.cancel();
    cancel_context closed = with_cancel(background());
    closed.cancel();
    make_chain(closed, depth, chain);
  }
  chain.clear();
  co_return monotonic_clock::instance().now() - begin;
}

}  // namespace

void add_timer_benchmarks(go_benchmarks& to) {
  to["AfterFunc1000"] = beside_pending_timers(chains);
  to["After"] = beside_pending_timers(waits);
  to["Stop/impl=chan"] = beside_pending_timers(stops_of_channels);
  to["Stop/impl=func"] = beside_pending_timers(stops_of_callbacks);
  to["SimultaneousAfterFunc1000"] = beside_pending_timers(simultaneous);
  to["StartStop1000"] = beside_pending_timers(starts_and_stops);
  to["Reset/impl=chan"] = beside_pending_timers(resets_of_channels);
  to["Reset/impl=func"] = beside_pending_timers(resets_of_callbacks);
  to["Ticker"] = beside_pending_timers(ticks);
  to["TickerReset"] = beside_pending_timers(resets_of_tickers);
  to["TickerResetNaive"] = beside_pending_timers(replacements_of_tickers);
  to["AdjustTimers10000"] = beside_pending_timers(adjustments);
  to["Sleep1000"] = beside_pending_timers(thousand_sleeps);
  to["SleepingTasks100000"] = sleeping_tasks;
  for (const std::size_t concurrency : {40U, 4'000U, 400'000U}) {
    to[fmt::format("WithTimeout/concurrency={}", concurrency)] = [concurrency](const request& asked) {
      return timeouts(concurrency, asked);
    };
  }
  for (const std::uint64_t depth : {1U, 10U, 100U, 1'000U}) {
    to[fmt::format("CancelTree/depth={}", depth)] =
        alone([depth](const stretch& asked) { return cancelled_chains(depth, asked); });
  }
}

}  // namespace foliot::program::bench
