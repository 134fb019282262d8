// Tasks that sleep: Sleep1000, SleepingTasks100000.
#include <malloc.h>

#include <cstddef>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/runtime/wait_group.hpp>

#include "bench/resident_memory.hpp"
#include "go_benchmarks.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;
using runtime::spawn;
using runtime::task;

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

// ---------------------------------------------------------------- how much a sleeping task takes

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

}  // namespace

void add_sleep_benchmarks(go_benchmarks& to) {
  to["Sleep1000"] = beside_pending_timers(thousand_sleeps);
  to["SleepingTasks100000"] = sleeping_tasks;
}

}  // namespace foliot::program::bench
