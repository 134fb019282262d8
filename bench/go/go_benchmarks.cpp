#include "go_benchmarks.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <utility>

#include <foliot/core/clock.hpp>
#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>

#include "bench/resident_memory.hpp"
#include "bench/workloads/cores.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;
using runtime::join_handle;
using runtime::spawn;
using runtime::task;

double nanoseconds(duration length) noexcept { return static_cast<double>(length.count()); }

task<duration> run_in_shares(const share_work& each, stretch asked) {
  seam::atomic<std::uint64_t> taken{0};
  std::deque<share> shares;
  std::vector<join_handle<>> working;
  const instant begin = now();
  for (std::size_t i = 0; i < asked.processors; ++i) {
    working.push_back(spawn(each(shares.emplace_back(taken, asked.operations, asked.grain)), "share"));
  }
  for (join_handle<>& one : working) co_await one.join();
  co_return now() - begin;
}

/// How many operations to do next: 1.2 times as many as the budget seems to allow, and at most 100 times as many as
/// before.
/// (Go: predictN.)
std::uint64_t next_operations(std::uint64_t last, duration took, duration budget) noexcept {
  constexpr double most = 1e9;
  const double wanted = 1.2 * nanoseconds(budget) * static_cast<double>(last) / nanoseconds(took);
  const double at_most = std::min(100 * static_cast<double>(last), most);
  return std::max(static_cast<std::uint64_t>(std::min(wanted, at_most)), last + 1);
}

/// How many operations take some 100 us.
std::uint64_t grain_of(std::uint64_t operations, duration took) noexcept {
  constexpr double length = 100'000;  // ns
  const double many = length * static_cast<double>(operations) / nanoseconds(took);
  return static_cast<std::uint64_t>(std::clamp(many, 1.0, 10'000.0));
}

task<> wait_and_run(std::function<void(std::size_t)> each, std::size_t index, seam::atomic<std::size_t>& arrived,
                    std::size_t processors) {
  arrived.fetch_add(1, seam::relaxed);  // a number, which publishes nothing
  while (arrived.load(seam::relaxed) < processors) give_way();
  each(index);
  co_return;
}

// ---------------------------------------------------------------- benchmarks

/// Timers of an hour that are pending at each processor, as many as in Go's suites ("garbage" there).
constexpr std::size_t pending_at_each_processor = 32'768;
constexpr std::size_t few_timers = 64;

task<sample> measure(counted_work what, std::size_t pending_timers, request asked) {
  const auto processors = static_cast<std::size_t>(asked.threads);
  std::vector<std::vector<runtime::callback_timer>> pending(processors);
  const auto start = [&pending, pending_timers](std::size_t index) {  // in a task of the processor
    pending[index].reserve(pending_timers);
    for (std::size_t i = 0; i < pending_timers; ++i) pending[index].push_back(runtime::after_func(1h, [] {}));
  };
  if (pending_timers > 0) co_await on_every_processor(processors, start);
  sample found;
  found.figure = co_await calibrated(what, asked.time, processors);
  co_return found;
}

const go_benchmarks& all_benchmarks() {
  static const go_benchmarks all = [] {
    go_benchmarks made;
    add_lateness_benchmarks(made);
    add_socket_benchmarks(made);
    add_timer_benchmarks(made);
    return made;
  }();
  return all;
}

sample run(const request& asked, const std::string& timers) {
  runtime::run_options options;
  options.processors = static_cast<std::size_t>(asked.threads);
  options.timers = timers;
  try {
    return runtime::run(all_benchmarks().find(name(asked.what))->second(asked), options);
  } catch (const failure&) {
    throw;
  } catch (const std::exception& error) {
    throw failure(error.what());
  }
}

/// In a process of its own, where no memory is used a second time.
sample run_afresh(const request& asked, const std::string& timers) {
  struct figures {
    double nanoseconds;
    double bytes;
  };
  const auto found = in_own_process([&] {
    const sample one = run(asked, timers);
    return figures{one.figure, one.bytes.value_or(0)};
  });
  if (!found) throw failure("its process gave no figure");
  return {.figure = found->nanoseconds, .bytes = found->bytes};
}

}  // namespace

counted_work in_shares(share_work each) {
  return [each = std::move(each)](const stretch& asked) { return run_in_shares(each, asked); };
}

task<double> calibrated(counted_work what, duration budget, std::size_t processors) {
  stretch asked{.processors = processors};
  duration took{};
  for (;;) {
    const duration measured = co_await what(asked);
    took = std::max(measured, duration::nanoseconds(1));
    if (took >= budget || asked.operations >= 1'000'000'000) break;
    asked.grain = grain_of(asked.operations, took);
    asked.operations = next_operations(asked.operations, took, budget);
  }
  co_return nanoseconds(took) / static_cast<double>(asked.operations);
}

void compute_for(duration length) noexcept {
  const instant begin = now();
  while (now() - begin < length) {
  }
}

task<> on_every_processor(std::size_t processors, std::function<void(std::size_t)> each) {
  seam::atomic<std::size_t> arrived{0};  // counts the tasks that run
  std::vector<join_handle<>> all;
  for (std::size_t i = 0; i < processors; ++i) {
    all.push_back(spawn(wait_and_run(each, i, arrived, processors), "on a processor"));
  }
  for (join_handle<>& one : all) co_await one.join();
}

sample average_of(const std::vector<duration>& lateness) {
  if (lateness.empty()) throw failure("nothing fired");
  double sum = 0;
  for (const duration each : lateness) sum += nanoseconds(each);
  return {.figure = sum / static_cast<double>(lateness.size()), .worst = nanoseconds(std::ranges::max(lateness))};
}

go_benchmark beside_pending_timers(share_work each) {
  return [what = in_shares(std::move(each))](const request& asked) {
    return measure(what, asked.quick ? few_timers : pending_at_each_processor, asked);
  };
}

go_benchmark alone(counted_work what) {
  return [what = std::move(what)](const request& asked) { return measure(what, 0, asked); };
}

void add_go_benchmarks(contestant& to, const std::string& timers) {
  const auto run_one = [timers](const request& asked) -> samples {
    return {about(asked.what).has_memory ? run_afresh(asked, timers) : run(asked, timers)};
  };
  offer usual{.run = run_one};
  offer over_ip6{.may_be_left_out = true, .run = run_one};  // not every machine has IPv6
  for (const workload each : go_workloads) {
    if (!all_benchmarks().contains(name(each))) continue;
    (name(each).starts_with("TCP6") ? over_ip6 : usual).takes.push_back(each);
  }
  to.offers.push_back(std::move(usual));
  to.offers.push_back(std::move(over_ip6));
}

}  // namespace foliot::program::bench
