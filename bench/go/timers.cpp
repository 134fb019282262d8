// Timers: AfterFunc1000, After, Stop, SimultaneousAfterFunc1000, StartStop1000, Reset, AdjustTimers10000. Tickers:
// Ticker, TickerReset, TickerResetNaive.
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <foliot/runtime/after.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/ticker.hpp>
#include <foliot/runtime/timer.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "go_benchmarks.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;
using runtime::after_func;
using runtime::callback_timer;
using runtime::channel;
using runtime::task;
using runtime::ticker;
using runtime::timer;

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
}

}  // namespace foliot::program::bench
