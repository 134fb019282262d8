// A runtime in a simulated world: its workers, its monitor and the outside threads are simulated threads; the sources
// are the shipped ones.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <foliot/core/seam/system.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "foliot_simulation/world.hpp"

namespace foliot::simulation {

constexpr faults quiet{};
constexpr faults interrupted{.interrupts = true};
constexpr faults rough{.interrupts = true, .early_timeouts = true, .drift = duration::nanoseconds(2'000'000)};

/// If time moves only when all threads are blocked, and none computes, a task that continues later than this was
/// forgotten.
constexpr duration overslept = duration::nanoseconds(50'000);

inline duration up_to(duration longest) {
  return duration::nanoseconds(static_cast<std::int64_t>(choose(static_cast<std::uint64_t>(longest.count()))));
}

/// Keeps the processor of the calling task busy for that long.
inline void compute(duration length) { pass_time(length); }

/// Runs the task in this world.
template <class Result>
Result run_task(std::size_t processors, runtime::task<Result> main) {
  runtime::run_options options;
  options.processors = processors;
  options.seed = choose(1'000'000);
  options.blocking_threads = 1 + choose(2);
  options.on_failure = [](std::string_view, const std::exception_ptr&) {};
  return runtime::run(std::move(main), options);
}

/// Runs the task of `make` in `count` worlds each of several kinds.
template <class Make>
void explore_runtimes(std::uint64_t count, std::initializer_list<faults> kinds, Make make) {
  for (const faults& with : kinds) {
    explore(count, with, [&] { run_task(1 + choose(3), make()); });
  }
}

/// A timer of the runtime that checks itself: each start has one outcome, never early, and none after a stop.
/// Started, stopped and reset by one thread at a time, from its birth in a task on.
class probe : private runtime::detail::timer_entry {
 public:
  explicit probe(bool punctual = false)
      : timer_entry(what), owner_(runtime::detail::this_scheduler("probe")), punctual_(punctual) {}
  ~probe() { runtime::detail::stop_timer(*this); }
  probe(const probe&) = delete;
  probe& operator=(const probe&) = delete;

  [[nodiscard]] instant now() const { return runtime::detail::now(owner_); }

  /// The timer may be pending or not.
  void reset(instant deadline) {
    expect(std::min(earliest_, deadline), std::max(latest_, std::max(deadline, now())));
    stopped_ = false;
    ++starts_;
    const bool was_pending = runtime::detail::reset_timer(owner_, *this, deadline);
    outcomes_ += was_pending ? 1 : 0;
    // From here on the timer can only fire for this start.
    expect(deadline, std::max(deadline, now()));
    require(outcomes_ <= starts_, "each start has one outcome");
  }
  void stop() {
    const bool was_pending = runtime::detail::stop_timer(*this);
    stopped_ = true;
    outcomes_ += was_pending ? 1 : 0;
    require(outcomes_ == starts_, "after a stop each start has had its one outcome");
  }
  [[nodiscard]] bool pending() const { return outcomes_ != starts_; }
  [[nodiscard]] int fired() const { return fired_; }
  [[nodiscard]] instant fired_at() const { return fired_at_; }

 private:
  void expect(instant earliest, instant latest) {
    earliest_ = earliest;
    latest_ = latest;
  }
  static then fire(timer_entry& self, runtime::detail::ready_list&) noexcept {
    auto& mine = static_cast<probe&>(self);
    const instant now = mine.now();
    require(!mine.stopped_, "a stopped timer fired");
    require(now >= mine.earliest_, "early");
    if (mine.punctual_) require(now - mine.latest_ < overslept, "overslept: a wake-up was lost");
    ++mine.fired_;
    ++mine.outcomes_;
    mine.fired_at_ = now;
    return then::nothing;
  }
  static constexpr actions what{fire, nullptr};

  runtime::detail::scheduler& owner_;
  const bool punctual_;
  bool stopped_ = true;
  int starts_ = 0;
  int outcomes_ = 0;
  int fired_ = 0;
  instant earliest_ = instant::never();
  instant latest_ = instant::earliest();
  instant fired_at_;
};

/// Waits until the thread has ended, without blocking a processor.
inline runtime::task<> joined(seam::thread& which) {
  seam::thread* const thread = &which;
  auto join = [thread] { thread->join(); };
  co_await runtime::blocking(join);
}

}  // namespace foliot::simulation
