#include "shares.hpp"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/runtime/spawn.hpp>

#include "../workloads/cores.hpp"

namespace foliot::program::bench {

namespace {

using runtime::join_handle;
using runtime::spawn;
using runtime::task;

instant now() noexcept { return monotonic_clock::instance().now(); }
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

}  // namespace foliot::program::bench
