#include "bench_options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "generations.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

template <class Value>
std::vector<Value> sorted_once(std::vector<Value> all) {
  std::ranges::sort(all);
  const auto [begin, end] = std::ranges::unique(all);
  all.erase(begin, end);
  return all;
}

/// The whole number from 1 to `most` in the text; 1e6 is one if Number is a floating-point type. Throws failure, with
/// `advice`.
template <class Number>
Number whole_number(std::string_view text, Number most, std::string_view option, std::string_view advice) {
  Number number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool read = error == std::errc() && rest == text.data() + text.size();
  if (!read || !(number >= 1 && number <= most) || std::floor(number) != number) {
    throw failure(fmt::format("{}: '{}' is no number of {}", option, text, advice));
  }
  return number;
}

}  // namespace

void choose_go(bench_options& options) {
  options.only.assign(go_workloads.begin(), go_workloads.end());
  options.names_workloads = true;
}

void choose_generations(bench_options& options) {
  options.only = generation_workloads();
  options.names_workloads = true;
  options.with_generations = true;
  options.contestants.clear();
  for (const generation& each : generations) options.contestants.emplace_back(each.contestant);
  options.timers = {100'000};  // one table
  options.threads = {1, 2, 3, 4};
}

std::vector<workload> parse_workloads(const std::vector<std::string>& names) {
  std::vector<workload> wanted;
  for (const std::string& each : names) {
    const std::vector<workload> found = find_workloads(each);
    if (found.empty()) {
      throw failure(
          fmt::format("--only: there is no workload '{}'; there are {}", each, fmt::join(family_names(), ", ")));
    }
    wanted.insert(wanted.end(), found.begin(), found.end());
  }
  return sorted_once(std::move(wanted));
}

std::vector<std::size_t> parse_timers(const std::vector<std::string>& numbers) {
  const std::string advice = fmt::format("timers: name whole numbers from 1 to {}, such as 1000,1e6", most_timers);
  std::vector<std::size_t> timers;
  for (const std::string& each : numbers) {
    timers.push_back(static_cast<std::size_t>(whole_number(each, static_cast<double>(most_timers), "--n", advice)));
  }
  return sorted_once(std::move(timers));
}

std::vector<int> parse_threads(const std::vector<std::string>& numbers) {
  const std::string advice = fmt::format("threads: name whole numbers from 1 to {}, such as 1,2", most_threads);
  std::vector<int> threads;
  for (const std::string& each : numbers) threads.push_back(whole_number(each, most_threads, "--threads", advice));
  return sorted_once(std::move(threads));
}

int parse_repetitions(std::string_view text) {
  return whole_number(text, most_repetitions, "--repetitions",
                      fmt::format("repetitions: name a whole number from 1 to {}", most_repetitions));
}

std::vector<std::string> known_names(std::string_view option, std::string_view kind,
                                     const std::vector<std::string>& names, const std::vector<std::string>& known) {
  for (const std::string& each : names) {
    if (std::ranges::find(known, each) != known.end()) continue;
    throw failure(fmt::format("{}: there is no {} '{}'; there are {}", option, kind, each, fmt::join(known, ", ")));
  }
  return names;
}

void make_quick(bench_options& options, bool timers_given, bool repetitions_given) {
  options.quick = true;
  if (!timers_given) options.timers = {100, 1'000};
  if (!repetitions_given) options.repetitions = 2;
}

}  // namespace foliot::program::bench
