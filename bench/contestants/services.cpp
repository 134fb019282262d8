// The project's services and runtimes.
//
// Shared by threads, `foliot` resets by a duration and reads the clock itself, as Go's Reset does; `foliot-now` passes
// a deadline, from a time that the thread reads every 64 operations, as event loops do. The pinned timers lie side by
// side, as members of the user's objects do. `goim` and `erlang-wheel`
// have as many heaps or wheels as there are threads, as their originals had several: goim one for each group of
// connections, Erlang one for each scheduler.
//
// A sleep is a timer that its own callback starts again. Idle services hold timers that are far from due, made by as
// many threads as there are processors, so that each shard has some.
//
// A runtime has each of the timers that its processors can have.
//
// Where others share a service, a task on each processor does what a thread does there, and the timers that it starts
// are its processor's. A processor looks at its timers between two tasks, so each task yields after 1,024 operations
// and goes on at once: the work of the processor's timers is inside the figure. The tasks stay on their processors,
// because no processor is ever without a task.
//
// Idle runtimes have tasks that sleep for an hour and longer. Go's benchmarks are in go/.
#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/core/seam/system.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/service.hpp>

#include "bench/go/go_benchmarks.hpp"
#include "bench/roster.hpp"
#include "bench/workloads/crew.hpp"
#include "bench/workloads/sleep_log.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;

// ---------------------------------------------------------------- services: threads

enum class deadlines { by_service, by_caller };

/// Does nothing.
struct no_callback {
  void operator()() const noexcept {}
};

/// A place for a timer, which is made later, and lies in memory beside its neighbours.
template <class Timer>
class timer_place;
template <>
class timer_place<timer> {
 public:
  void make(timer_service& in) { made_ = timer(in, no_callback()); }
  timer& operator*() noexcept { return made_; }

 private:
  timer made_;
};
template <>
class timer_place<pinned_timer<no_callback>> {
 public:
  timer_place() noexcept {}  // NOLINT(modernize-use-equals-default): `= default` is deleted
  timer_place(const timer_place&) = delete;
  timer_place& operator=(const timer_place&) = delete;
  ~timer_place() {
    if (is_made_) std::destroy_at(&made_);
  }
  void make(timer_service& in) {
    std::construct_at(&made_, in, no_callback());
    is_made_ = true;
  }
  pinned_timer<no_callback>& operator*() noexcept { return made_; }

 private:
  union {
    pinned_timer<no_callback> made_;
  };
  bool is_made_ = false;
};

template <class Timer, deadlines From>
class service_timers {
 public:
  struct hand {
    instant now{};
  };

  service_timers(std::size_t count, service_options options) : service_(std::move(options)), timers_(count) {
    service_.reserve(count);
  }

  void make(std::size_t index) { timers_[index].make(service_); }
  void start(const hand& mine, std::size_t index, duration delay) { reset(mine, index, delay); }
  bool stop(const hand& /*mine*/, std::size_t index) { return (*timers_[index]).stop() == stop_result::stopped; }
  void reset(const hand& mine, std::size_t index, duration delay) {
    if constexpr (From == deadlines::by_caller) {
      (*timers_[index]).reset_at(mine.now + delay);
    } else {
      (*timers_[index]).reset(delay);
    }
  }
  void refresh(hand& mine) {
    if constexpr (From == deadlines::by_caller) mine.now = service_.now();
  }

 protected:
  [[nodiscard]] const Timer& at(std::size_t index) noexcept { return *timers_[index]; }
  [[nodiscard]] instant now() const noexcept { return service_.now(); }

 private:
  timer_service service_;
  std::vector<timer_place<Timer>> timers_;
};

/// The memory of each timer is fetched ahead.
template <class Timer, deadlines From>
class fetched_timers : public service_timers<Timer, From> {
 public:
  using service_timers<Timer, From>::service_timers;
  void prefetch(std::size_t index) { this->at(index).prefetch(); }
};

/// Many timers in one call. All deadlines of a call count from one reading of the clock.
template <class Timer>
class batched_timers : public service_timers<Timer, deadlines::by_service> {
  using base = service_timers<Timer, deadlines::by_service>;

 public:
  using base::base;
  using hand = typename base::hand;

  void start_all(const hand& /*mine*/, std::span<const std::size_t> indices, std::span<const duration> delays) {
    std::array<instant, most_of_batch> deadlines;
    const instant now = this->now();
    std::ranges::transform(delays, deadlines.begin(), [now](duration each) { return now + each; });
    reset_all_at(named(indices), std::span<const instant>(deadlines).first(delays.size())).rethrow();
  }
  std::size_t stop_all(const hand& /*mine*/, std::span<const std::size_t> indices) {
    return foliot::stop_all(named(indices));
  }
  void reset_all(const hand& /*mine*/, std::span<const std::size_t> indices, duration delay) {
    foliot::reset_all(named(indices), delay).rethrow();
  }

 private:
  /// These timers, until the end of the expression.
  class named_timers {
   public:
    named_timers(batched_timers& of, std::span<const std::size_t> indices) : size_(indices.size()) {
      for (std::size_t i = 0; i < size_; ++i) std::construct_at(&refs_[i], of.at(indices[i]));
    }
    operator std::span<const timer_ref>() const noexcept {  // NOLINT(google-explicit-constructor)
      return {refs_, size_};
    }

   private:
    union {
      timer_ref refs_[most_of_batch];
    };
    std::size_t size_;
  };
  named_timers named(std::span<const std::size_t> indices) { return {*this, indices}; }
};

enum class shards { by_engine, one_for_each_thread };

template <deadlines From = deadlines::by_service>
offer shared_service(const std::string& engine, std::string remark = {}, shards wanted = shards::by_engine) {
  const auto make = [engine, wanted](const request& asked) {
    service_options options{.engine = engine};
    if (wanted == shards::one_for_each_thread) options.shards = static_cast<std::size_t>(asked.threads);
    return std::make_unique<service_timers<timer, From>>(timers_of_all(asked), std::move(options));
  };
  return shared_by_threads(make, std::move(remark));
}

/// Other ways to use foliot's own service.
template <class Set>
offer foliot_by(std::string remark, std::vector<workload> takes) {
  const auto make = [](const request& asked) {
    return std::make_unique<Set>(timers_of_all(asked, crew<Set>::idle_of_each), service_options());
  };
  return shared_by_threads(make, std::move(remark), std::move(takes));
}

void add_ways_of_foliot(roster& to) {
  using pinned = pinned_timer<no_callback>;
  using enum deadlines;
  to.add("foliot-prefetch", foliot_by<fetched_timers<timer, by_service>>(
                                "foliot; each timer is fetched 16 operations ahead", shared_by_owners));
  to.add("foliot-batches", foliot_by<batched_timers<timer>>("foliot; 64 timers in one call", shared_by_owners));
  to.add("foliot-pinned",
         foliot_by<service_timers<pinned, by_service>>("foliot; timers in the user's objects", all_shared));
  to.add("foliot-pinned-now", foliot_by<service_timers<pinned, by_caller>>(
                                  "the same; the caller passes the time, and reads it each 64 operations", all_shared));
  to.add("foliot-pinned-batches",
         foliot_by<batched_timers<pinned>>("timers in the user's objects, 64 in one call", shared_by_owners));
  for (const char* const each : {"foliot-prefetch", "foliot-batches", "foliot-pinned-batches"}) {
    to.left_out.push_back({each, "W5W1-remote", "the owner of a timer does not know which is next"});
  }
}

// ---------------------------------------------------------------- services: one sleep

samples sleep_in(const std::string& engine, bool precise, const request& asked) {
  sleep_log sleeps(asked);
  note done;
  timer_service service(service_options{.engine = engine, .precise = precise});
  timer each(service, [&] {
    sleeps.end();
    if (sleeps.more()) {
      each.reset_at(sleeps.begin());
    } else {
      done.wake();
    }
  });
  each.reset_at(sleeps.begin());
  done.sleep_until(instant::never());
  each.stop_and_wait();
  return sleeps.found();
}

// ---------------------------------------------------------------- services: idle

std::vector<timer> far_timers(timer_service& service, const request& asked) {
  std::vector<timer> timers(asked.timers);
  const std::size_t makers = seam::processors();
  for (std::size_t maker = 0; maker < makers; ++maker) {
    seam::thread made("bench", [&, maker] {
      quick_random random(asked.seed + maker);
      for (std::size_t i = maker; i < timers.size(); i += makers)
        timers[i] = timer(service, far_from(random.next()), [] {});
    });
    made.join();
  }
  return timers;
}

samples wake_ups_of(std::string_view engine, const request& asked) {
  timer_service service(service_options{.engine = std::string(engine)});
  service.reserve(asked.timers);
  const std::vector<timer> timers = far_timers(service, asked);
  const ticker beat = asked.what == workload::idle_ticker ? ticker(service, 10ms, [] {}) : ticker();
  return count_wake_ups(asked);
}

using runtime::task;

runtime::run_options with_timers(const std::string& timers) {
  runtime::run_options options;
  options.timers = timers;
  return options;
}

// ---------------------------------------------------------------- runtimes: threads

class runtime_timers {
 public:
  struct hand {};

  explicit runtime_timers(std::size_t count) : timers_(count) {}

  void make(std::size_t index) {
    timers_[index] = runtime::callback_timer([] {});
  }
  void start(hand /*mine*/, std::size_t index, duration delay) { timers_[index].reset(delay); }
  bool stop(hand /*mine*/, std::size_t index) { return timers_[index].stop() == stop_result::stopped; }
  void reset(hand /*mine*/, std::size_t index, duration delay) { timers_[index].reset(delay); }
  void refresh(hand /*mine*/) {}

 private:
  std::vector<runtime::callback_timer> timers_;
};

task<> work(crew<runtime_timers>& all, int index) {
  if (!all.begin(index)) co_return;
  while (all.go_on(index)) co_await runtime::yield();
}

task<samples> share_a_runtime(request asked) {
  runtime_timers timers(timers_of_all(asked));
  crew<runtime_timers> all(timers, asked);
  std::vector<runtime::join_handle<>> members;
  try {
    // All at the same time: no member begins before each has a processor.
    for (int i = 0; i < asked.threads; ++i) members.push_back(runtime::spawn(work(all, i), "member"));
  } catch (const std::exception& error) {
    all.give_up(error.what());
  }
  for (runtime::join_handle<>& each : members) co_await each.join();
  co_return all.result();
}

samples share_a_runtime_with(const std::string& timers, const request& asked) {
  samples found;
  std::exception_ptr wrong;
  // In a thread that ends with it: each worker is kept on a core from some point on.
  seam::thread runs("bench", [&] {
    runtime::run_options options = with_timers(timers);
    options.processors = static_cast<std::size_t>(asked.threads);
    try {
      found = runtime::run(share_a_runtime(asked), options);
    } catch (const failure&) {
      wrong = std::current_exception();
    } catch (const std::exception& error) {
      wrong = std::make_exception_ptr(failure(error.what()));
    }
  });
  runs.join();
  if (wrong) std::rethrow_exception(wrong);
  return found;
}

// ---------------------------------------------------------------- runtimes: one sleep

task<samples> sleep_in_a_task(request asked) {
  sleep_log sleeps(asked);
  while (sleeps.more()) {
    const instant deadline = sleeps.begin();
    co_await runtime::sleep_until(deadline);
    sleeps.end();
  }
  co_return sleeps.found();
}

// ---------------------------------------------------------------- runtimes: idle

using task_count = seam::atomic<std::size_t>;

task<> sleep_for(duration length, task_count& asleep) {
  asleep.fetch_add(1, seam::relaxed);  // a number, which publishes nothing
  co_await runtime::sleep(length);
}

task<> tick() {
  for (instant next = runtime::now() + duration(10ms);; next = next + duration(10ms)) {
    co_await runtime::sleep_until(next);
  }
}

/// Until it is stopped.
task<> have_far_timers(request asked, task_count& asleep) {
  quick_random random(asked.seed);
  for (std::size_t i = 0; i < asked.timers; ++i) {
    static_cast<void>(runtime::spawn(sleep_for(far_from(random.next()), asleep), "far"));
  }
  if (asked.what == workload::idle_ticker) static_cast<void>(runtime::spawn(tick(), "ticker"));
  co_await runtime::sleep_until(instant::never());
}

task<> main_task(request asked, std::stop_token ends, task_count& asleep) {
  auto inner = runtime::spawn(have_far_timers(asked, asleep), std::move(ends), "timers");
  try {
    co_await inner.join();
  } catch (const runtime::cancelled&) {  // as intended
  }
}

samples wake_ups_of_runtime(const std::string& timers, const request& asked) {
  std::stop_source ends;
  task_count asleep{0};
  seam::thread runs("bench", [&] { runtime::run(main_task(asked, ends.get_token(), asleep), with_timers(timers)); });
  struct at_end {
    std::stop_source& ends;
    seam::thread& runs;
    ~at_end() {
      ends.request_stop();
      runs.join();
    }
  } const end{ends, runs};
  while (asleep.load(seam::relaxed) < asked.timers) {
    note().sleep_until(monotonic_clock::instance().now() + duration(1ms));
  }
  return count_wake_ups(asked);
}

void add_runtime(roster& to, std::string_view name, const std::string& timers) {
  to.add(name, {.takes = all_shared,
                .remark = "in W5 a runtime, with a task on each processor instead of threads",
                .run = [timers](const request& asked) { return share_a_runtime_with(timers, asked); }});
  to.add(name, {.takes = all_sleeps, .run = [timers](const request& asked) {
                  return runtime::run(sleep_in_a_task(asked), with_timers(timers));
                }});
  to.add(name, {.takes = all_idle,
                .may_be_left_out = true,  // not every system counts context switches
                .run = [timers](const request& asked) { return wake_ups_of_runtime(timers, asked); }});
}

}  // namespace

void add_services(roster& to) {
  to.add("foliot", shared_service("foliot"));
  to.add("foliot-now", shared_service<deadlines::by_caller>(
                           "foliot", "foliot; the caller passes the time, and reads it each 64 operations"));
  add_ways_of_foliot(to);
  to.add("global-heap", shared_service("global-heap"));
  to.add("bucket-heaps", shared_service("bucket-heaps"));
  to.add("goim", shared_service("goim", "in W5 with one heap for each thread", shards::one_for_each_thread));
  to.add("erlang-wheel",
         shared_service("erlang-wheel", "in W5 with one wheel for each thread", shards::one_for_each_thread));
  to.add("epoll-heap", shared_service("epoll-heap"));
  const auto add_sleeps = [&to](std::string_view name, const std::string& engine, bool precise) {
    to.add(name, {.takes = all_sleeps,
                  .run = [engine, precise](const request& asked) { return sleep_in(engine, precise, asked); }});
  };
  add_sleeps("foliot-precise", "foliot", true);
  for (const std::string engine : {"foliot", "global-heap", "bucket-heaps", "goim", "erlang-wheel", "epoll-heap"}) {
    add_sleeps(engine, engine, false);
  }
  for (const std::string_view engine : timer_service::engines()) {
    to.add(engine, {.takes = all_idle,
                    .may_be_left_out = true,  // not every system counts context switches
                    .run = [engine](const request& asked) { return wake_ups_of(engine, asked); }});
  }
}

void add_runtimes(roster& to) {
  add_runtime(to, "processor-heaps", "processor-heaps");
  add_runtime(to, "processor-heaps-1.14", "processor-heaps-1.14");
  add_runtime(to, "foliot-runtime", "foliot");
  add_go_benchmarks(to.add("foliot"), "foliot");
  add_go_benchmarks(to.add("processor-heaps"), "processor-heaps");
  add_go_benchmarks(to.add("processor-heaps-1.14"), "processor-heaps-1.14");
}

}  // namespace foliot::program::bench
