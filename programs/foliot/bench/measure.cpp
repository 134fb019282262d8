#include "measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "../failure.hpp"
#include "../grouped.hpp"
#include "workloads/cores.hpp"
#include "workloads/quick_random.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;

constexpr duration time_for_all = 100s;  // of measuring, without making timers and warming up
constexpr duration shortest = 50ms;
constexpr duration longest = 300ms;
constexpr int most_long_repetitions = 3;

/// How many timers and threads a benchmark is measured with.
struct setting {
  std::size_t timers = 1;
  int threads = 1;
};

std::vector<setting> settings_of(workload what, const bench_options& options) {
  std::vector<setting> all;
  switch (kind_of(what)) {
    case figure_kind::cost:
      for (const std::size_t timers : options.timers) all.push_back({timers, 1});
      break;
    case figure_kind::threads:
      for (const int threads : options.threads) {
        for (const std::size_t timers : options.timers) all.push_back({timers, threads});
      }
      break;
    case figure_kind::processors:
      for (const int processors : options.threads) all.push_back({1, processors});
      break;
    case figure_kind::lateness: all.push_back({1, 1}); break;
    case figure_kind::calls:
    case figure_kind::wake_ups: all.push_back({options.timers.back(), 1}); break;
  }
  std::erase_if(all, [what](const setting& each) { return each.threads < about(what).fewest_threads; });
  return all;
}

int repetitions_of(workload what, const bench_options& options) {
  switch (kind_of(what)) {
    case figure_kind::calls:
    case figure_kind::lateness:
    case figure_kind::wake_ups: return std::min(options.repetitions, most_long_repetitions);
    default: return options.repetitions;
  }
}

/// How many sleeps, in all repetitions together.
std::size_t sleeps_of(workload what, bool quick) {
  if (quick) return 10;
  return what == workload::w6_10ms ? 500 : 2'000;
}

duration time_of(workload what, bool quick, duration usual) {
  if (kind_of(what) == figure_kind::wake_ups) return quick ? 50ms : 1'000ms;
  // In 300 ms a timer of 1 ms, or of 3 ms, fires often enough for an average.
  if (about(what).has_worst && !quick) return std::max(usual, longest);
  return usual;
}

std::string title_of(workload what, const setting& at, const std::string& contestant_name) {
  const std::string_view plural = at.threads == 1 ? "" : "s";
  switch (kind_of(what)) {
    case figure_kind::threads:
      return fmt::format("{}, {} timers, {} thread{}: {}", name(what), grouped(at.timers), at.threads, plural,
                         contestant_name);
    case figure_kind::processors:
      return fmt::format("{}, {} processor{}: {}", name(what), at.threads, plural, contestant_name);
    case figure_kind::lateness: return fmt::format("{}: {}", name(what), contestant_name);
    default: return fmt::format("{}, {} timers: {}", name(what), grouped(at.timers), contestant_name);
  }
}

/// Throws failure if the sample has no figure, or an impossible one.
void check(const sample& found, workload what) {
  const figure_kind kind = kind_of(what);
  if (kind == figure_kind::calls || kind == figure_kind::lateness) {
    if (found.each.empty()) throw failure("it has measured nothing");
    return;
  }
  const bool may_be_zero = kind == figure_kind::wake_ups;
  if (!std::isfinite(found.figure) || found.figure < 0 || (found.figure == 0 && !may_be_zero)) {
    throw failure(fmt::format("its figure is {}", found.figure));
  }
}

/// The samples of all repetitions, of one kind of call if single calls are timed.
class series {
 public:
  void add(sample found) {
    call_ = found.call;
    if (found.worst) worst_.push_back(*found.worst);
    if (found.bytes) bytes_.push_back(*found.bytes);
    if (found.per_fired) per_fired_.push_back(*found.per_fired);
    if (found.each.empty()) {
      figures_.push_back(found.figure);
      return;
    }
    const percentiles at = percentiles_of(found.each);
    figures_.push_back(at.p50);
    worst_.push_back(at.max);
    shares_.push_back(at);
    if (call_.empty()) each_.insert(each_.end(), found.each.begin(), found.each.end());
  }

  /// Adds what the repetitions have found to a record.
  void complete(record& made) {
    made.call = call_;
    made.cost = spread_of(figures_);
    if (!worst_.empty()) made.worst = std::ranges::max(worst_);
    if (!bytes_.empty()) made.bytes_per_task = median(bytes_);
    if (!per_fired_.empty()) made.per_fired = median(per_fired_);
    if (!shares_.empty()) made.calls = call_.empty() ? percentiles_of(each_) : median_of(shares_);
  }

 private:
  static percentiles median_of(const std::vector<percentiles>& all) {
    const auto take = [&all](double percentiles::* part) {
      std::vector<double> parts;
      for (const percentiles& each : all) parts.push_back(each.*part);
      return median(parts);
    };
    return {.p50 = take(&percentiles::p50),
            .p99 = take(&percentiles::p99),
            .p999 = take(&percentiles::p999),
            .max = take(&percentiles::max)};
  }

  std::string_view call_;
  std::vector<double> figures_;  // of each repetition, or its median
  std::vector<double> worst_;
  std::vector<double> bytes_;
  std::vector<double> per_fired_;
  std::vector<percentiles> shares_;  // of each repetition
  std::vector<std::uint32_t> each_;  // of all repetitions, unless single calls are timed
};

class measurements {
 public:
  measurements(const bench_options& options, roster chosen, const progress_sink& progress)
      : options_(options), roster_(std::move(chosen)), progress_(progress), random_(options.seed) {
    std::erase_if(roster_.contestants, [this](const contestant& each) {
      return std::ranges::none_of(options_.only, [&each](workload what) { return each.takes_part(what); });
    });
    const std::uint64_t timed = count_measurements();
    const duration fair = time_for_all / static_cast<std::int64_t>(std::max<std::uint64_t>(timed, 1));
    time_for_each_ = options.quick ? duration(1ms) : std::clamp(fair, shortest, longest);
  }

  results run() {
    present();
    weigh();  // before this process has memory to reuse
    prepare();
    for (const workload what : options_.only) {
      for (const setting& at : settings_of(what, options_)) measure(what, at);
    }
    return std::move(all_);
  }

 private:
  static bool is_weighed(const contestant& one, const bench_options& options) {
    return one.bytes_per_timer && std::ranges::any_of(options.only, [&](workload what) {
             return in_one_thread(what) && one.takes_part(what);
           });
  }

  /// Counts the measurements; returns how many of them have time_for_all in common.
  std::uint64_t count_measurements() {
    std::uint64_t timed = 0;
    for (const contestant& each : roster_.contestants) {
      if (is_weighed(each, options_)) count_ += options_.timers.size();
      if (each.prepare) ++count_;
      for (const workload what : options_.only) {
        if (!each.takes_part(what)) continue;
        const std::uint64_t times =
            settings_of(what, options_).size() * static_cast<std::uint64_t>(repetitions_of(what, options_));
        count_ += times;
        if (kind_of(what) != figure_kind::calls) timed += times;
      }
    }
    return timed;
  }

  void tell(const std::string& what) { progress_(what, done_++, count_); }

  /// Fills in what is known before anything is measured: the machine, the contestants, and those that are left out.
  void present() {
    all_.machine = describe_machine();
    if (std::ranges::any_of(options_.only, in_one_thread)) {
      if (const pinned here; here.core() >= 0) all_.machine.emplace_back("pinned to core", std::to_string(here.core()));
    }
    all_.reference = reference_of(roster_);
    all_.with_generations = options_.with_generations;
    all_.repetitions = options_.repetitions;
    for (const contestant& each : roster_.contestants) all_.contestants.push_back(describe(each));
    for (const absence& each : roster_.left_out) {
      if (std::ranges::any_of(options_.only, [&each](workload what) { return concerns(each, what); })) {
        all_.left_out.push_back(each);
      }
    }
  }

  /// The time and the remark are those of the first of its offers that is wanted and has them.
  [[nodiscard]] participant describe(const contestant& one) const {
    participant made{.name = one.name, .version = one.version};
    for (const workload what : options_.only) {
      const offer* const wanted = one.offer_for(what);
      if (wanted == nullptr) continue;
      if (made.time.empty()) made.time = name(wanted->time);
      if (made.remark.empty()) made.remark = wanted->remark;
    }
    return made;
  }

  void weigh() {
    for (const std::size_t timers : options_.timers) {
      for (const contestant& each : roster_.contestants) {
        if (!is_weighed(each, options_)) continue;
        tell(fmt::format("memory, {} timers: {}", grouped(timers), each.name));
        if (const auto bytes = each.bytes_per_timer(timers)) bytes_[{each.name, timers}] = *bytes;
      }
    }
  }

  /// Builds the contestants that have to be built. One whose build fails is left out of all workloads.
  void prepare() {
    std::vector<contestant> ready;
    for (contestant& each : roster_.contestants) {
      if (!each.prepare) {
        ready.push_back(std::move(each));
        continue;
      }
      tell(fmt::format("building {}", each.name));
      const auto known = std::ranges::find(all_.contestants, each.name, &participant::name);
      try {
        known->version = each.prepare();
        ready.push_back(std::move(each));
      } catch (const failure& error) {
        all_.contestants.erase(known);
        std::erase_if(all_.left_out, [&each](const absence& other) { return other.name == each.name; });
        all_.left_out.push_back({each.name, {}, error.what()});
      }
    }
    roster_.contestants = std::move(ready);
  }

  /// The contestants that take part, in an order of its own for each repetition.
  std::vector<contestant*> shuffled(workload what) {
    std::vector<contestant*> order;
    for (contestant& each : roster_.contestants) {
      if (each.takes_part(what)) order.push_back(&each);
    }
    for (std::size_t left = order.size(); left > 1; --left) {
      std::swap(order[left - 1], order[upper_below(random_.next(), left)]);
    }
    return order;
  }

  void measure(workload what, const setting& at) {
    std::optional<pinned> on_one_core;
    if (in_one_thread(what)) on_one_core.emplace();
    std::map<std::string, std::vector<series>> found;
    const auto repetitions = static_cast<std::size_t>(repetitions_of(what, options_));
    for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
      const request asked{.what = what,
                          .timers = at.timers,
                          .threads = at.threads,
                          .time = time_of(what, options_.quick, time_for_each_),
                          .sleeps = std::max<std::size_t>(sleeps_of(what, options_.quick) / repetitions, 3),
                          .seed = options_.seed + repetition,  // the same draws for all contestants of a repetition
                          .quick = options_.quick};
      for (contestant* const one : shuffled(what)) {
        tell(title_of(what, at, one->name));
        measure(*one, asked, found[one->name]);
        if (!one->takes_part(what)) found.erase(one->name);
      }
    }
    for (const contestant& each : roster_.contestants) {
      for (series& one : found[each.name]) {
        record made{.what = what, .contestant = each.name, .timers = at.timers, .threads = at.threads};
        if (in_one_thread(what)) made.bytes_per_timer = bytes_of(each, at.timers);
        one.complete(made);
        all_.records.push_back(std::move(made));
      }
    }
  }

  void measure(contestant& one, const request& asked, std::vector<series>& into) {
    const offer* const how = one.offer_for(asked.what);
    try {
      samples found = how->run(asked);
      for (const sample& each : found) check(each, asked.what);
      into.resize(found.size());
      for (std::size_t i = 0; i < found.size(); ++i) into[i].add(std::move(found[i]));
    } catch (const failure& error) {
      if (!how->may_be_left_out) {
        throw failure(
            fmt::format("{} in {}: {}; its figures would be wrong", one.name, name(asked.what), error.what()));
      }
      leave_out(one, asked.what, error.what());
    }
  }

  void leave_out(contestant& one, workload from, const std::string& reason) {
    all_.left_out.push_back({one.name, std::string(name(from)), reason});
    std::erase_if(all_.records, [&](const record& each) { return each.what == from && each.contestant == one.name; });
    for (offer& each : one.offers) std::erase(each.takes, from);
  }

  [[nodiscard]] std::optional<double> bytes_of(const contestant& one, std::size_t timers) const {
    const auto found = bytes_.find({one.name, timers});
    return found == bytes_.end() ? std::nullopt : std::optional(found->second);
  }

  const bench_options& options_;
  roster roster_;
  const progress_sink& progress_;
  quick_random random_;
  duration time_for_each_{};
  std::uint64_t count_ = 0;
  std::uint64_t done_ = 0;
  std::map<std::pair<std::string, std::size_t>, double> bytes_;
  results all_;
};

}  // namespace

results measure(const bench_options& options, roster chosen, const progress_sink& progress) {
  return measurements(options, std::move(chosen), progress).run();
}

}  // namespace foliot::program::bench
