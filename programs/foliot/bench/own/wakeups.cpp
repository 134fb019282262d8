// How long it takes until a task goes on that was waited for: WakeupParallelSpinning, WakeupParallelSyscall.
//
// Two tasks send to each other in turn. Who sends works for so long and 5 us more, who receives for so long. What a
// round takes beyond 10 us and twice that length is the scheduler's.
#include <array>
#include <cstdint>

#include <time.h>

#include <foliot/core/clock.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/spawn.hpp>

#include "own_benchmarks.hpp"

namespace foliot::program::bench {

namespace {

using runtime::task;
using worker = void (*)(std::int64_t nanoseconds);
using signals = runtime::channel<char>;

constexpr std::int64_t longer = 5'000;

void spin(std::int64_t nanoseconds) { compute_for(nanoseconds); }

/// In the kernel, and so without the runtime's knowledge.
void sleep_in_kernel(std::int64_t nanoseconds) {
  timespec left{.tv_sec = 0, .tv_nsec = nanoseconds};
  while (::nanosleep(&left, &left) != 0) {  // tidy: allow(seam-sleep) it is measured
  }
}

struct both {
  signals ping;
  signals pong;
  worker work;
  std::int64_t delay;
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

task<std::int64_t> in_turn(worker work, std::int64_t delay, stretch asked) {
  const both all{.ping = signals(), .pong = signals(), .work = work, .delay = delay, .rounds = asked.operations};
  const instant begin = monotonic_clock::instance().now();
  std::array two = {runtime::spawn(first(all), "first"), runtime::spawn(second(all), "second")};
  for (auto& each : two) co_await each.join();
  co_return (monotonic_clock::instance().now() - begin).count();
}

own_benchmark wake_up(worker work) {
  return alone([work](std::string_view variant) -> benchmark {
    return [work, delay = time_in(variant, "")](const stretch& asked) { return in_turn(work, delay, asked); };
  });
}

}  // namespace

void add_wake_up_benchmarks(own_benchmarks& to) {
  to["WakeupParallelSpinning"] = wake_up(spin);
  to["WakeupParallelSyscall"] = wake_up(sleep_in_kernel);
}

}  // namespace foliot::program::bench
