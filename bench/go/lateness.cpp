// How late timers fire while tasks compute: ParallelTimerLatency, StaggeredTickerLatency. How long it takes until a
// task goes on after another one has woken it: WakeupParallelSpinning, WakeupParallelSyscall.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/ticker.hpp>
#include <foliot/runtime/wait_group.hpp>
#include <time.h>

#include "bench/resident_memory.hpp"
#include "go_benchmarks.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;
using runtime::callback_timer;
using runtime::task;

constexpr duration millisecond = 1ms;

duration late_for(instant expected) noexcept { return std::max(now() - expected, duration::zero()); }

/// Gives each processor a thread that has run. (Go: warmupScheduler.)
task<> warm_up(std::size_t processors) {
  const auto spin = [](std::size_t) { compute_for(millisecond); };
  co_await on_every_processor(processors, spin);
}

/// Starts a timer for each processor but its own, and keeps its own processor until all have fired. Each timer that
/// fires spawns a task which keeps another processor until then. The callback cannot do so itself, because the next
/// timer may be due on the same thread. (Go calls each function in a goroutine.)
class parallel_round {
 public:
  explicit parallel_round(std::size_t timers) : late_(timers), timers_(timers) {}

  /// Returns when those tasks have ended.
  task<> run() {
    kept_.store(0, seam::relaxed);  // no timer of this round has started
    keepers_.add(timers_.size());
    for (std::size_t i = 0; i < timers_.size(); ++i) {
      const instant expected = now() + duration(1ms);
      timers_[i] = runtime::after_func(1ms, [this, i, expected] {
        late_[i] = late_for(expected);
        static_cast<void>(runtime::spawn(keep_a_processor(*this), "fired"));
      });
    }
    wait();
    co_await keepers_.wait();
  }
  [[nodiscard]] const std::vector<duration>& late() const noexcept { return late_; }

 private:
  static task<> keep_a_processor(parallel_round& round) {
    round.kept_.fetch_add(1, seam::acq_rel);  // publishes the lateness
    round.wait();
    round.keepers_.done();
    co_return;
  }

  void wait() const noexcept {
    while (kept_.load(seam::acquire) < timers_.size()) {  // pairs with the fetch_add
    }
  }

  std::vector<duration> late_;
  seam::atomic<std::size_t> kept_{0};  // how many processors have a task whose timer has fired
  runtime::wait_group keepers_;
  std::vector<callback_timer> timers_;  // last: destroyed before the members that their callbacks write
};

task<sample> parallel_latency(request asked) {
  const auto processors = static_cast<std::size_t>(asked.threads);
  co_await warm_up(processors);
  compute_for(30 * millisecond);  // the runtime's monitor of idle processors goes to sleep
  parallel_round round(processors - 1);
  std::vector<duration> all;
  const instant begin = now();
  do {
    co_await round.run();
    all.insert(all.end(), round.late().begin(), round.late().end());
    compute_for(millisecond);  // the other processors become idle
  } while (now() - begin < asked.time);
  co_return average_of(all);
}

constexpr duration period = 3ms;

task<> ticks(runtime::ticker own, instant expected, duration work, std::vector<duration>& late) {
  for (duration& each : late) {
    co_await own;
    each = late_for(expected);
    expected = expected + period;
    compute_for(work);
  }
}

/// So many tickers for each processor, whose tasks compute for `work` after each tick.
task<sample> staggered_latency(duration work, std::size_t tickers, request asked) {
  const auto processors = static_cast<std::size_t>(asked.threads);
  const auto ticks_of_each = static_cast<std::size_t>(std::max<std::int64_t>(asked.time / period, 3));
  std::vector<std::vector<duration>> late(tickers * processors, std::vector<duration>(ticks_of_each));
  co_await warm_up(processors);
  std::vector<runtime::join_handle<>> running;
  for (std::vector<duration>& each : late) {
    compute_for(period / static_cast<std::int64_t>(processors));
    const instant expected = now() + period;
    runtime::ticker own(period);
    running.push_back(runtime::spawn(ticks(std::move(own), expected, work, each), "ticker"));
  }
  for (auto& each : running) co_await each.join();
  std::vector<duration> all;
  for (const auto& each : late) all.insert(all.end(), each.begin(), each.end());
  co_return average_of(all);
}

// ---------------------------------------------------------------- how long a wake-up takes

// Two tasks send to each other in turn. Before that the sending task works for a delay and 5 us, the receiving task for
// the delay. The time of a round beyond 10 us and twice the delay is the scheduler's.

using worker = void (*)(duration length) noexcept;
using signals = runtime::channel<char>;

constexpr duration longer = std::chrono::microseconds(5);

/// Sleeps in the kernel, unknown to the runtime. Precondition: shorter than a second.
void sleep_in_kernel(duration length) noexcept {
  timespec left{.tv_sec = 0, .tv_nsec = length.count()};
  while (::nanosleep(&left, &left) != 0) {  // tidy: allow(seam-sleep) it is measured
  }
}

struct both {
  signals ping;
  signals pong;
  worker work;
  duration delay;
  std::uint64_t rounds;
};

task<> first(both each) {
  for (std::uint64_t i = 0; i < each.rounds; ++i) {
    each.work(each.delay + longer);
    co_await each.ping.send(0);
    each.work(each.delay);
    co_await each.pong.receive();
  }
}

task<> second(both each) {
  for (std::uint64_t i = 0; i < each.rounds; ++i) {
    each.work(each.delay);
    co_await each.ping.receive();
    each.work(each.delay + longer);
    co_await each.pong.send(0);
  }
}

task<duration> in_turn(worker work, duration delay, stretch asked) {
  const both all{.ping = signals(), .pong = signals(), .work = work, .delay = delay, .rounds = asked.operations};
  const instant begin = monotonic_clock::instance().now();
  std::array two = {runtime::spawn(first(all), "first"), runtime::spawn(second(all), "second")};
  for (auto& each : two) co_await each.join();
  co_return monotonic_clock::instance().now() - begin;
}

}  // namespace

void add_lateness_benchmarks(go_benchmarks& to) {
  to["ParallelTimerLatency"] = parallel_latency;
  const auto staggered = [](duration work, std::size_t tickers) {
    return [work, tickers](const request& asked) { return staggered_latency(work, tickers, asked); };
  };
  for (const std::size_t tickers : {1U, 2U, 5U, 10U}) {
    to[fmt::format("StaggeredTickerLatency/work=300us/tickers={}", tickers)] = staggered(300us, tickers);
  }
  to["StaggeredTickerLatency/work=2ms/tickers=1"] = staggered(2ms, 1);
  const auto add = [&to](std::string_view family, worker work) {
    for (const int microseconds : {0, 1, 2, 5, 10, 20, 50, 100}) {
      const std::string delay = microseconds == 0 ? "0s" : fmt::format("{}us", microseconds);
      to[fmt::format("{}/{}", family, delay)] = alone([work, microseconds](const stretch& asked) {
        return in_turn(work, std::chrono::microseconds(microseconds), asked);
      });
    }
  };
  add("WakeupParallelSpinning", compute_for);
  add("WakeupParallelSyscall", sleep_in_kernel);
}

}  // namespace foliot::program::bench
