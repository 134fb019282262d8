// What a start and a stop cost through a service, uncontended, beside a standard mutex around the same heap, by hand.
//
//   foliot bench micro --only services --repetitions 9
//
// The number of each column is the number of other timers pending. Each iteration starts a timer with a deadline in the
// middle of theirs and stops it again: two lock pairs, one insertion, one removal.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <foliot/core/seam/random.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/queue/quad_heap.hpp>
#include <foliot/service.hpp>

#include "micro.hpp"

namespace {

using namespace std::chrono_literals;
using foliot::instant;

/// Deadlines in one hour to two, the same for every contestant.
class deadlines {
 public:
  explicit deadlines(instant base) : base_(base) {}
  instant next() {
    return base_ + 1h + foliot::duration::nanoseconds(static_cast<std::int64_t>(random_.below(3'600'000'000'000)));
  }

 private:
  instant base_;
  foliot::random_stream random_{42};
};

std::size_t pending_of(const benchmark::State& state) { return static_cast<std::size_t>(state.range(0)); }

/// The service with its thread, which sleeps until a deadline that no iteration changes.
class busy_service {
 public:
  explicit busy_service(std::size_t others, const char* engine = "global-heap")
      : timers_(foliot::service_options{.engine = engine}), draw_(timers_.now()) {
    const foliot::timer first(timers_, 0ns, [] {});
    others_.emplace_back(timers_, 30min, [] {});
    for (std::size_t i = 0; i < others; ++i) others_.emplace_back(timers_, draw_.next(), [] {});
  }
  foliot::timer_service& timers() { return timers_; }
  instant next_deadline() { return draw_.next(); }

 private:
  foliot::timer_service timers_;
  deadlines draw_;
  std::vector<foliot::timer> others_;
};

/// The same heap by hand, with as many other timers.
struct bare_heap {
  explicit bare_heap(std::size_t count) : others(std::make_unique<foliot::timer_node[]>(count)) {
    for (std::size_t i = 0; i < count; ++i) queue.start(others[i], draw.next());
  }
  ~bare_heap() {
    while (queue.pop_any() != nullptr) {
    }
  }
  std::unique_ptr<foliot::timer_node[]> others;
  deadlines draw{instant{}};
  foliot::quad_heap queue;
  foliot::timer_node node;
};

void heap_alone(benchmark::State& state) {
  bare_heap heap(pending_of(state));
  for (auto _ : state) {
    heap.queue.start(heap.node, heap.draw.next());
    benchmark::DoNotOptimize(heap.queue.stop(heap.node));
  }
}

void standard_mutex_and_heap(benchmark::State& state) {
  // The C library has cheaper mutexes for a process with one thread, which no server is.
  busy_service bystander(0);
  bare_heap heap(pending_of(state));
  std::mutex mutex;
  for (auto _ : state) {
    const instant deadline = heap.draw.next();
    {
      const std::lock_guard held(mutex);
      heap.queue.start(heap.node, deadline);
    }
    const std::lock_guard held(mutex);
    benchmark::DoNotOptimize(heap.queue.stop(heap.node));
  }
}

/// A timer of such a service is started by `start(timer, deadline)` and stopped.
auto starts_and_stops(auto start, const char* engine = "global-heap") {
  return [start, engine](benchmark::State& state) {
    busy_service busy(pending_of(state), engine);
    foliot::timer t(busy.timers(), [] {});
    for (auto _ : state) {
      start(t, busy.next_deadline());
      benchmark::DoNotOptimize(t.stop());
    }
  };
}

/// The whole lifetime of a handle: made, started, destroyed.
void service_with_a_new_timer(benchmark::State& state) {
  busy_service busy(pending_of(state));
  for (auto _ : state) {
    foliot::timer t(busy.timers(), busy.next_deadline(), [] {});
    benchmark::DoNotOptimize(&t);
  }
}

/// A timer that starts itself again, for the past, from its callback: a firing, a start, and the readings of the clock
/// between them. The argument is whether the service has callback metrics.
void service_that_fires(benchmark::State& state) {
  constexpr int firings = 10'000;
  foliot::service_options options;
  options.shards = 1;
  options.measure = state.range(0) != 0;
  foliot::timer_service timers(std::move(options));
  for (auto _ : state) {
    foliot::note done;
    int left = firings;
    foliot::timer t;
    t = foliot::timer(timers, [&] { --left > 0 ? static_cast<void>(t.reset_at(instant{})) : done.wake(); });
    t.reset(0ns);
    done.sleep_until(instant::never());
  }
  state.SetItemsProcessed(state.iterations() * firings);
}

void standard_mutex_pair(benchmark::State& state) {
  busy_service bystander(0);
  std::mutex mutex;
  for (auto _ : state) const std::lock_guard held(mutex);
}

void foliot_mutex_pair(benchmark::State& state) {
  foliot::mutex mutex(foliot::lock_rank::engine);
  for (auto _ : state) const foliot::lock held(mutex);
}

void look_at_the_clock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(foliot::monotonic_clock::instance().now());
}

}  // namespace

namespace foliot::program::bench {

void add_service_costs() {
  const auto beside_others = [](const char* name, auto loop) {
    ::benchmark::RegisterBenchmark(name, loop)->Arg(0)->Arg(1000)->Arg(100'000);
  };
  const auto at_deadline = [](foliot::timer& t, instant deadline) { t.reset_at(deadline); };
  beside_others("services/heap_alone", heap_alone);
  beside_others("services/standard_mutex_and_heap", standard_mutex_and_heap);
  beside_others("services/service", starts_and_stops(at_deadline));
  beside_others("services/service_with_foliots_queue", starts_and_stops(at_deadline, "foliot"));
  // With a duration instead of a deadline: one more reading of the clock.
  beside_others("services/service_with_clock",
                starts_and_stops([base = monotonic_clock::instance().now()](foliot::timer& t, instant deadline) {
                  t.reset(deadline - base);
                }));
  beside_others("services/service_with_a_new_timer", service_with_a_new_timer);
  ::benchmark::RegisterBenchmark("services/service_that_fires", service_that_fires)->Arg(0)->Arg(1)->UseRealTime();
  ::benchmark::RegisterBenchmark("services/standard_mutex_pair", standard_mutex_pair);
  ::benchmark::RegisterBenchmark("services/foliot_mutex_pair", foliot_mutex_pair);
  ::benchmark::RegisterBenchmark("services/look_at_the_clock", look_at_the_clock);
}

}  // namespace foliot::program::bench
