#include "contention.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "bench/benchmark.hpp"
#include "text_table.hpp"

namespace foliot::program::bench {

namespace {

constexpr double half = 0.5;
constexpr std::size_t label_width = 16;
constexpr std::size_t share_width = 8;
constexpr std::size_t verdict_width = 22;

/// How many cores the machine of these results has; as many as one likes if that is not known.
int cores_of(const results& all) noexcept {
  const auto fact = std::ranges::find(all.machine, "cores", &machine_facts::value_type::first);
  const int count = fact == all.machine.end() ? 0 : std::atoi(fact->second.c_str());
  return count > 0 ? count : std::numeric_limits<int>::max();
}

contention contention_of(std::vector<const record*> by_threads, int cores) {
  std::ranges::sort(by_threads, {}, &record::threads);
  const record& fewest = *by_threads.front();
  contention made{.what = fewest.what, .contestant = fewest.contestant, .timers = fewest.timers};
  const double work_of_fewest = fewest.cost.median * fewest.threads;
  for (const record* const each : by_threads) {
    const double share = work_of_fewest / (each->cost.median * each->threads);
    const bool takes_turns = each->threads > cores;
    made.steps.push_back({.threads = each->threads, .share = share, .takes_turns = takes_turns});
    if (takes_turns || each == &fewest) continue;
    made.last_judged = each->threads;
    if (share < half && !made.begins_at) made.begins_at = each->threads;
  }
  return made;
}

std::string verdict_on(const contention& of) {
  if (of.begins_at) return fmt::format("at {} threads", *of.begins_at);
  if (of.last_judged) return fmt::format("not up to {} threads", *of.last_judged);
  return "too few cores to say";
}

/// A column for each number of threads that one of them has, in their order.
void put_shares(std::span<const contention> all, text_table& to) {
  std::set<int> counts;
  for (const contention& each : all) {
    for (const contention::step& at : each.steps) counts.insert(at.threads);
  }
  for (const int threads : counts) {
    for (const contention& each : all) {
      const auto at = std::ranges::find(each.steps, threads, &contention::step::threads);
      if (at == each.steps.end()) continue;
      const std::string head = at->takes_turns ? fmt::format("({})", threads) : fmt::format("{}", threads);
      to.put(each.contestant, head, {{share_width, fmt::format("{:.0f}%", 100 * at->share)}});
    }
  }
}

}  // namespace

std::vector<contention> contention_in(const results& all) {
  const int cores = cores_of(all);
  std::vector<contention> found;
  for (const workload what : all_workloads) {
    if (kind_of(what) != figure_kind::threads) continue;
    std::set<std::size_t> counts;
    for (const record& each : all.records) {
      if (each.what == what) counts.insert(each.timers);
    }
    for (const std::size_t timers : counts) {
      for (const participant& by : all.contestants) {
        std::vector<const record*> here;
        for (const record& each : all.records) {
          const bool is_here = each.what == what && each.timers == timers && each.contestant == by.name;
          if (is_here && each.cost.median > 0) here.push_back(&each);
        }
        if (here.size() > 1) found.push_back(contention_of(std::move(here), cores));
      }
    }
  }
  return found;
}

std::string contention_text(const results& all) {
  const std::vector<contention> found = contention_in(all);
  if (found.empty()) return {};
  std::string text =
      "\nContention: what each thread does, in percent of what it does among the fewest threads. It begins where that "
      "is\n"
      "under half. Threads in brackets are more than the cores, and take turns on them.\n";
  for (auto first = found.begin(); first != found.end();) {
    const auto last = std::find_if(first, found.end(), [&first](const contention& each) {
      return each.what != first->what || each.timers != first->timers;
    });
    std::vector<std::string> labels;
    for (auto each = first; each != last; ++each) labels.push_back(each->contestant);
    text_table table("threads", std::move(labels), label_width);
    put_shares({first, last}, table);
    for (auto each = first; each != last; ++each) {
      table.put(each->contestant, "begins", {{verdict_width, verdict_on(*each)}});
    }
    text += fmt::format("\n{}, {} timers\n{}", name(first->what), grouped(first->timers), table.text());
    first = last;
  }
  return text;
}

}  // namespace foliot::program::bench
