// How long it takes until a task goes on after another one has woken it: WakeupParallelSpinning, WakeupParallelSyscall.
//
// Two tasks send to each other in turn. Before that the sending task works for a delay and 5 us, the receiving task for
// the delay. The time of a round beyond 10 us and twice the delay is the scheduler's.
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <time.h>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/spawn.hpp>

#include "go_benchmarks.hpp"

namespace foliot::program::bench {

namespace {

using runtime::task;
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

void add_wake_up_benchmarks(go_benchmarks& to) {
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
