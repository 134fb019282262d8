// How long it takes until a task goes on after another one has woken it: WakeupParallelSpinning, WakeupParallelSyscall.
//
// Two tasks send to each other in turn. The sending task works before for a delay and 5 us more, the receiving task for
// the delay. What a round takes beyond 10 us and twice the delay is the scheduler's.
#include <array>
#include <chrono>
#include <cstdint>

#include <time.h>

#include <foliot/core/clock.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/spawn.hpp>

#include "go_benchmark.hpp"

namespace foliot::program::bench {

namespace {

using runtime::task;
using worker = void (*)(duration length);
using signals = runtime::channel<char>;

constexpr duration longer = std::chrono::microseconds(5);

void spin(duration length) { compute_for(length); }

/// In the kernel: the runtime does not know of it. Precondition: shorter than a second.
void sleep_in_kernel(duration length) {
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

go_benchmark wake_up(worker work) {
  return alone([work](std::string_view variant) -> counted_work {
    return [work, delay = time_in(variant, "")](const stretch& asked) { return in_turn(work, delay, asked); };
  });
}

}  // namespace

void add_wake_up_benchmarks(go_benchmarks& to) {
  to["WakeupParallelSpinning"] = wake_up(spin);
  to["WakeupParallelSyscall"] = wake_up(sleep_in_kernel);
}

}  // namespace foliot::program::bench
