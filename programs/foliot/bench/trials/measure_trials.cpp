#include "measure_trials.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "../../failure.hpp"
#include "../../replay/grouped.hpp"

namespace foliot::program::bench {

namespace {

/// What takes long by itself is repeated less often.
constexpr int most_long_repetitions = 3;

/// How often a workload is measured.
int repetitions_of(workload what, const bench_options& options) {
  const bool takes_long = kind_of(what) == figure_kind::lateness || kind_of(what) == figure_kind::wake_ups;
  return takes_long ? std::min(options.repetitions, most_long_repetitions) : options.repetitions;
}

/// How many sleeps, in all repetitions together.
std::size_t sleeps_of(workload what, bool quick) {
  if (quick) return 10;
  return what == workload::w6_10ms ? 500 : 2'000;
}

std::int64_t time_of(workload what, bool quick, std::int64_t time_for_each) {
  constexpr std::int64_t millisecond = 1'000'000;
  if (kind_of(what) == figure_kind::wake_ups) return (quick ? 50 : 1'000) * millisecond;
  // A timer of a millisecond or three at a time.
  if (tells_worst(what) && !quick) return std::max(time_for_each, 300 * millisecond);
  return time_for_each;
}

/// What the repetitions found.
struct findings {
  std::vector<double> figures{};          // of lateness: the medians
  std::vector<std::uint32_t> lateness{};  // of all repetitions
  std::vector<double> worst{};
  std::vector<double> bytes{};
};

/// What is wrong with a finding, or nothing.
std::string wrong_with(const finding& found, workload what) {
  if (!found.wrong.empty()) return found.wrong;
  if (kind_of(what) == figure_kind::lateness) return found.lateness.empty() ? "it told no lateness" : "";
  const bool may_be_zero = kind_of(what) == figure_kind::wake_ups;
  if (!std::isfinite(found.figure) || found.figure < 0 || (found.figure == 0 && !may_be_zero)) {
    return fmt::format("its figure is {}", found.figure);
  }
  return {};
}

void add(findings& to, finding found, workload what) {
  if (kind_of(what) == figure_kind::lateness) {
    to.figures.push_back(percentiles_of(found.lateness).p50);
    to.lateness.insert(to.lateness.end(), found.lateness.begin(), found.lateness.end());
  } else {
    to.figures.push_back(found.figure);
    if (found.worst) to.worst.push_back(*found.worst);
    if (found.bytes) to.bytes.push_back(*found.bytes);
  }
}

void complete(record& made, findings& found) {
  made.cost = spread_of(found.figures);
  if (!found.worst.empty()) made.worst = std::ranges::max(found.worst);
  if (!found.bytes.empty()) made.bytes_per_task = median(found.bytes);
  if (found.lateness.empty()) return;
  made.calls = percentiles_of(found.lateness);
  made.worst = made.calls->max;
}

std::string title_of(workload what, std::size_t timers, int threads, const std::string& who) {
  switch (kind_of(what)) {
    case figure_kind::threads:
      return fmt::format("{}, {} timers, {} thread{}: {}", name(what), grouped(timers), threads,
                         threads == 1 ? "" : "s", who);
    case figure_kind::lateness: return fmt::format("{}: {}", name(what), who);
    case figure_kind::processors:
      return fmt::format("{}, {} processor{}: {}", name(what), threads, threads == 1 ? "" : "s", who);
    default: return fmt::format("{}, {} timers: {}", name(what), grouped(timers), who);
  }
}

}  // namespace

trial_contest::trial_contest(const bench_options& options, std::vector<trial_contestant> contestants, teller tell)
    : options_(options), contestants_(std::move(contestants)), tell_(std::move(tell)), random_(options.seed) {
  // What no wanted workload needs is neither prepared nor told of.
  std::erase_if(contestants_, [this](const trial_contestant& each) {
    return std::ranges::none_of(options_.only, [&each](workload what) { return each.takes_part(what); });
  });
}

std::uint64_t trial_contest::measurements() const {
  std::uint64_t count = 0;
  for (const trial_contestant& each : contestants_) {
    if (each.prepare) ++count;
    for (const workload what : options_.only) {
      if (!each.takes_part(what)) continue;
      count += settings_of(what).size() * static_cast<std::uint64_t>(repetitions_of(what, options_));
    }
  }
  return count;
}

void trial_contest::run(results& all, std::int64_t time_for_each) {
  prepare(all);
  for (const workload what : options_.only) {
    if (!is_trial(what)) continue;
    for (const setting& at : settings_of(what)) measure(all, what, at, time_for_each);
  }
}

void trial_contest::prepare(results& all) {
  std::erase_if(contestants_, [&](const trial_contestant& each) {
    if (!each.prepare) return false;
    tell_(fmt::format("building {}", each.name));
    try {
      const std::string version = each.prepare();
      const auto told = std::ranges::find(all.contestants, each.name, &participant::name);
      if (told != all.contestants.end()) told->version = version;
      return false;
    } catch (const failure& error) {
      std::erase_if(all.contestants, [&each](const participant& told) { return told.name == each.name; });
      std::erase_if(all.left_out, [&each](const absence& known) { return known.name == each.name; });
      all.left_out.push_back({each.name, {}, error.what()});
      return true;
    }
  });
}

std::vector<trial_contest::setting> trial_contest::settings_of(workload what) const {
  std::vector<setting> all;
  switch (kind_of(what)) {
    case figure_kind::threads:
      for (const int threads : options_.threads) {
        if (threads < fewest_threads(what)) continue;
        for (const std::size_t timers : options_.timers) all.push_back({timers, threads});
      }
      break;
    case figure_kind::lateness: all.push_back({1, 1}); break;  // the one that is waited for
    case figure_kind::processors:
      for (const int processors : options_.threads) {
        if (processors >= fewest_threads(what)) all.push_back({1, processors});
      }
      break;
    default: all.push_back({options_.timers.back(), 1});
  }
  return all;
}

std::vector<const trial_contestant*> trial_contest::shuffled(workload what) {
  std::vector<const trial_contestant*> order;
  for (const trial_contestant& each : contestants_) {
    if (each.takes_part(what)) order.push_back(&each);
  }
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[upper_below(random_.next(), left)]);
  }
  return order;
}

void trial_contest::measure(results& all, workload what, const setting& at, std::int64_t time_for_each) {
  std::map<std::string, findings> found;
  const int repetitions = repetitions_of(what, options_);
  const std::size_t sleeps = sleeps_of(what, options_.quick);
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (const trial_contestant* who : shuffled(what)) {
      if (!who->takes_part(what)) continue;  // left out since
      tell_(title_of(what, at.timers, at.threads, who->name));
      finding one = who->run({.what = what,
                              .timers = at.timers,
                              .threads = at.threads,
                              .nanoseconds = time_of(what, options_.quick, time_for_each),
                              .sleeps = std::max<std::size_t>(sleeps / static_cast<std::size_t>(repetitions), 3),
                              .seed = options_.seed + static_cast<std::uint64_t>(repetition),
                              .quick = options_.quick});
      if (const std::string wrong = wrong_with(one, what); wrong.empty()) {
        add(found[who->name], std::move(one), what);
      } else if (who->may_be_left_out) {
        leave_out(all, *who, what, wrong);
        found.erase(who->name);
      } else {
        throw failure(fmt::format("{} in {}: {}; its figures would be wrong", who->name, name(what), wrong));
      }
    }
  }
  for (const trial_contestant& each : contestants_) {
    const auto mine = found.find(each.name);
    if (mine == found.end() || !each.takes_part(what)) continue;
    record made{.what = what, .contestant = each.name, .timers = at.timers, .threads = at.threads};
    complete(made, mine->second);
    all.records.push_back(std::move(made));
  }
}

void trial_contest::leave_out(results& all, const trial_contestant& who, workload from, const std::string& reason) {
  all.left_out.push_back({who.name, std::string(name(from)), reason});
  std::erase_if(all.records, [&](const record& each) { return each.what == from && each.contestant == who.name; });
  for (trial_contestant& each : contestants_) {
    if (&each == &who) std::erase(each.takes, from);
  }
}

}  // namespace foliot::program::bench
