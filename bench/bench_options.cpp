#include "bench_options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <ranges>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

duration parse_seconds(std::string_view text) {
  double seconds = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool read = error == std::errc() && rest == text.data() + text.size();
  if (!read || !(seconds >= 0.01 && seconds <= 3600)) {
    throw failure(fmt::format("--seconds: '{}' is no number of seconds: name one from 0.01 to 3600", text));
  }
  return duration::nanoseconds(std::llround(seconds * 1e9));
}

namespace {

constexpr std::string_view without_contestant = "none of the contestants named takes part";
constexpr std::string_view without_threads = "2 threads or processors are needed, at least";

/// The names of a few, for a sentence; else their number.
std::string any_of(const std::vector<workload>& all) {
  constexpr std::size_t most_names = 6;
  if (all.size() > most_names) return fmt::format("any of the {} workloads", all.size());
  return fmt::format("{}", fmt::join(all | std::views::transform([](workload each) { return name(each); }), ", "));
}

/// Why this contestant is not measured: a known absence, or else the workloads that it takes part in.
absence absence_of(const std::string& name, const std::vector<workload>& measured, const roster& all) {
  for (const absence& known : all.left_out) {
    const auto concerned = [&known](workload what) { return concerns(known, what); };
    if (known.name == name && std::ranges::any_of(measured, concerned)) return known;
  }
  std::vector<workload> instead = all_workloads;
  std::erase_if(instead, [known = all.find(name)](workload what) { return !known || !known->takes_part(what); });
  return {name, {}, fmt::format("it takes part in no workload that is measured, but in {}", listed(instead))};
}

/// "; foliot, quad-heap, goim and 12 others would": some of them are enough.
std::string who_would(const std::vector<std::string>& others) {
  constexpr std::size_t most_names = 6;
  if (others.empty()) return {};
  if (others.size() <= most_names) return fmt::format("; {} would", fmt::join(others, ", "));
  const std::span first(others.data(), most_names - 1);
  return fmt::format("; {} and {} others would", fmt::join(first, ", "), others.size() - first.size());
}

}  // namespace

std::string listed(const std::vector<workload>& all) {
  constexpr std::size_t most_of_go = 6;
  std::vector<std::string> names;
  std::vector<std::string_view> of_go;
  std::size_t count_of_go = 0;
  for (const workload each : all) {
    if (kind_of(each) != figure_kind::processors) {
      names.emplace_back(name(each));
      continue;
    }
    ++count_of_go;
    const std::string_view family = family_of(each);
    if (of_go.empty() || of_go.back() != family) of_go.push_back(family);
  }
  if (of_go.size() <= most_of_go) {
    names.insert(names.end(), of_go.begin(), of_go.end());
  } else if (count_of_go == go_workloads.size()) {
    names.emplace_back("Go's own benchmarks");
  } else {
    names.push_back(fmt::format("{} of Go's own benchmarks", count_of_go));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<shared_reason> by_reason(const std::vector<omission>& all) {
  std::vector<shared_reason> reasons;
  for (const omission& each : all) {
    auto same = std::ranges::find(reasons, each.reason, &shared_reason::reason);
    if (same == reasons.end()) same = reasons.insert(same, {each.reason, {}});
    same->workloads.push_back(each.what);
  }
  return reasons;
}

gaps gaps_in(const bench_options& options, const roster& chosen) {
  gaps missing;
  std::vector<workload> possible;
  std::vector<workload> without;
  std::vector<workload> measured;
  const int threads = options.threads.back();
  for (const workload each : options.only) {
    if (about(each).fewest_threads > threads) {
      missing.workloads.push_back({each, std::string(without_threads)});
      continue;
    }
    possible.push_back(each);
    (taking_part(chosen, {each}).empty() ? without : measured).push_back(each);
  }
  if (possible.empty()) {
    throw failure(fmt::format("--threads: {} cannot be measured with 1: name 2 or more", any_of(options.only)));
  }
  const roster all = all_contestants();
  if (measured.empty()) {
    throw failure(fmt::format("--contestants: none of those named ({}) takes part in {}: name one of {}",
                              fmt::join(chosen.names(), ", "), any_of(possible),
                              fmt::join(taking_part(all, possible), ", ")));
  }
  for (const workload each : without) missing.workloads.push_back({each, std::string(without_contestant)});
  if (!without.empty()) missing.others = taking_part(all, without);
  if (!options.names_contestants) return missing;
  const std::vector<std::string> taking = taking_part(chosen, measured);
  for (const std::string& each : chosen.names()) {
    if (std::ranges::find(taking, each) == taking.end()) missing.contestants.push_back(absence_of(each, measured, all));
  }
  return missing;
}

std::vector<std::string> messages_about(const gaps& missing) {
  std::vector<std::string> sentences;
  for (const absence& each : missing.contestants) {
    sentences.push_back(fmt::format("{} is left out: {}", each.name, each.reason));
  }
  for (const auto& [reason, workloads] : by_reason(missing.workloads)) {
    const std::string others = reason == without_contestant ? who_would(missing.others) : "";
    sentences.push_back(fmt::format("not measured: {}: {}{}", listed(workloads), reason, others));
  }
  return sentences;
}

}  // namespace foliot::program::bench
