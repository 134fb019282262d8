#include "own_benchmarks.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "../../duration_text.hpp"
#include "pending_timers.hpp"

namespace foliot::program::bench {

namespace {

using runtime::task;

constexpr std::size_t few_timers = 64;

task<finding> measure_in_garbage(std::function<share_work(std::string_view)> shares, own_trial asked) {
  pending_timers pending;
  co_await pending.plant(asked.processors, asked.quick ? few_timers : pending_timers::for_each_processor);
  benchmark what = in_shares(shares(asked.variant));
  finding found;
  found.figure = co_await calibrated(what, asked.budget, asked.processors);
  co_return found;
}

task<finding> measure_alone(std::function<benchmark(std::string_view)> make, own_trial asked) {
  benchmark what = make(asked.variant);
  finding found;
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

}  // namespace

own_benchmark in_garbage(std::function<share_work(std::string_view)> shares) {
  return [shares = std::move(shares)](own_trial asked) { return measure_in_garbage(shares, asked); };
}

own_benchmark alone(std::function<benchmark(std::string_view)> make) {
  return [make = std::move(make)](own_trial asked) { return measure_alone(make, asked); };
}

std::uint64_t number_in(std::string_view variant, std::string_view key) {
  const std::string_view text = value_of(variant, key);
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) {
    throw std::invalid_argument("'" + std::string(variant) + "' says no " + std::string(key));
  }
  return number;
}

std::int64_t time_in(std::string_view variant, std::string_view key) {
  const std::string_view text = key.empty() ? variant : value_of(variant, key);
  if (text == "0s") return 0;
  const auto length = parse_duration(text);
  if (!length) throw std::invalid_argument(length.error());
  return length->count();
}

finding average_of(const std::vector<std::int64_t>& lateness) {
  if (lateness.empty()) return {.wrong = "nothing fired"};
  finding found;
  const auto count = static_cast<double>(lateness.size());
  found.figure = static_cast<double>(std::reduce(lateness.begin(), lateness.end())) / count;
  found.worst = static_cast<double>(std::ranges::max(lateness));
  return found;
}

}  // namespace foliot::program::bench
