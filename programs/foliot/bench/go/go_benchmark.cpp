#include "go_benchmark.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <stdexcept>
#include <utility>

#include <foliot/runtime/callback_timer.hpp>
#include <foliot/runtime/run.hpp>

#include "../../duration_text.hpp"
#include "../../failure.hpp"
#include "../own_process.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;
using runtime::task;

/// Timers of an hour that are pending at each processor, as many as in Go's suites ("garbage" there).
using pending_timers = std::vector<std::vector<runtime::callback_timer>>;
constexpr std::size_t pending_at_each_processor = 32'768;
constexpr std::size_t few_timers = 64;

/// Starts the timers of each processor in a task that runs there.
task<> start_pending(pending_timers& timers, std::size_t processors, std::size_t each) {
  timers.resize(processors);
  const auto start = [&timers, each](std::size_t index) {
    timers[index].reserve(each);
    for (std::size_t i = 0; i < each; ++i) timers[index].push_back(runtime::after_func(1h, [] {}));
  };
  co_await on_every_processor(processors, start);
}

task<sample> measure_beside_pending(std::function<share_work(std::string_view)> work, go_request asked) {
  pending_timers pending;
  co_await start_pending(pending, asked.processors, asked.quick ? few_timers : pending_at_each_processor);
  counted_work what = in_shares(work(asked.variant));
  sample found;
  found.figure = co_await calibrated(what, asked.budget, asked.processors);
  co_return found;
}

task<sample> measure_alone(std::function<counted_work(std::string_view)> make, go_request asked) {
  counted_work what = make(asked.variant);
  sample found;
  found.figure = co_await calibrated(what, asked.budget, asked.processors);
  co_return found;
}

/// What follows "key=", up to the next slash.
std::string_view value_of(std::string_view variant, std::string_view key) {
  while (!variant.empty()) {
    const std::string_view part = variant.substr(0, variant.find('/'));
    if (part.starts_with(key) && part.substr(key.size()).starts_with('=')) return part.substr(key.size() + 1);
    variant.remove_prefix(std::min(part.size() + 1, variant.size()));
  }
  return {};
}

const go_benchmarks& all_benchmarks() {
  static const go_benchmarks all = [] {
    go_benchmarks made;
    add_context_benchmarks(made);
    add_lateness_benchmarks(made);
    add_sleep_benchmarks(made);
    add_socket_benchmarks(made);
    add_timer_benchmarks(made);
    add_wake_up_benchmarks(made);
    return made;
  }();
  return all;
}

sample run(const go_benchmark& what, const go_request& asked, const std::string& timers) {
  runtime::run_options options;
  options.processors = asked.processors;
  options.timers = timers;
  try {
    return runtime::run(what(asked), options);
  } catch (const failure&) {
    throw;
  } catch (const std::exception& error) {
    throw failure(error.what());
  }
}

/// In a process of its own, where no memory is used a second time.
sample run_afresh(const go_benchmark& what, const go_request& asked, const std::string& timers) {
  struct figures {
    double nanoseconds;
    double bytes;
  };
  const auto found = in_own_process([&] {
    const sample one = run(what, asked, timers);
    return figures{one.figure, one.bytes.value_or(0)};
  });
  if (!found) throw failure("its process gave no figure");
  return {.figure = found->nanoseconds, .bytes = found->bytes};
}

samples measure(const std::string& timers, const request& asked) {
  const go_request own{.variant = variant_of(asked.what),
                       .processors = static_cast<std::size_t>(asked.threads),
                       .budget = asked.time,
                       .quick = asked.quick};
  const go_benchmark& what = all_benchmarks().at(family_of(asked.what));
  return {about(asked.what).has_memory ? run_afresh(what, own, timers) : run(what, own, timers)};
}

}  // namespace

void add_go_benchmarks(contestant& to, const std::string& timers) {
  const auto run = [timers](const request& asked) { return measure(timers, asked); };
  offer usual{.run = run};
  offer over_ip6{.may_be_left_out = true, .run = run};  // not every machine has IPv6
  for (const workload each : go_workloads) {
    if (!all_benchmarks().contains(family_of(each))) continue;
    (name(each).starts_with("TCP6") ? over_ip6 : usual).takes.push_back(each);
  }
  to.offers.push_back(std::move(usual));
  to.offers.push_back(std::move(over_ip6));
}

go_benchmark beside_pending_timers(std::function<share_work(std::string_view)> work) {
  return [work = std::move(work)](go_request asked) { return measure_beside_pending(work, asked); };
}

go_benchmark alone(std::function<counted_work(std::string_view)> make) {
  return [make = std::move(make)](go_request asked) { return measure_alone(make, asked); };
}

std::uint64_t number_in(std::string_view variant, std::string_view key) {
  const std::string_view text = value_of(variant, key);
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) {
    throw std::invalid_argument("'" + std::string(variant) + "' has no number for " + std::string(key));
  }
  return number;
}

duration time_in(std::string_view variant, std::string_view key) {
  const std::string_view text = key.empty() ? variant : value_of(variant, key);
  if (text == "0s") return duration::zero();
  const auto length = parse_duration(text);
  if (!length) throw std::invalid_argument(length.error());
  return *length;
}

sample average_of(const std::vector<duration>& lateness) {
  if (lateness.empty()) throw failure("nothing fired");
  double sum = 0;
  for (const duration each : lateness) sum += static_cast<double>(each.count());
  return {.figure = sum / static_cast<double>(lateness.size()),
          .worst = static_cast<double>(std::ranges::max(lateness).count())};
}

}  // namespace foliot::program::bench
