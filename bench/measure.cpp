// Measures the timers. Each contestant is measured once in each repetition of a benchmark, in an order that is shuffled
// each time, so that a disturbance of the machine meets all of them alike.
//
// A measurement makes its timers anew, warms up, and lasts from 50 ms, if there is much to measure, to 300 ms. Sleeps,
// single calls and wake-ups last longer, and are repeated at most three times.
//
// The thread is pinned to a core while it measures the benchmarks of one thread, and free to move in all others, since
// threads and processes inherit its cores.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench_options.hpp"
#include "grouped.hpp"
#include "record.hpp"
#include "report.hpp"
#include "roster.hpp"
#include "text/failure.hpp"
#include "workloads/cores.hpp"
#include "workloads/quick_random.hpp"

namespace foliot::program::bench {

namespace {

using namespace std::chrono_literals;

constexpr duration time_for_all = 100s;  // of measuring, without making timers and warming up
constexpr duration shortest = 50ms;
constexpr duration longest = 300ms;
constexpr int most_long_repetitions = 3;

/// A workload with a number of timers and of threads.
struct step {
  workload what = workload::w1;
  std::size_t timers = 1;
  int threads = 1;
  int repetitions = 1;
};

std::vector<step> steps_of(const bench_options& options) {
  std::vector<step> all;
  for (const workload what : options.only) {
    const int few = std::min(options.repetitions, most_long_repetitions);
    switch (kind_of(what)) {
      case figure_kind::cost:
        for (const std::size_t timers : options.timers) all.push_back({what, timers, 1, options.repetitions});
        break;
      case figure_kind::threads:
        for (const int threads : options.threads) {
          for (const std::size_t timers : options.timers) all.push_back({what, timers, threads, options.repetitions});
        }
        break;
      case figure_kind::processors:
        for (const int processors : options.threads) all.push_back({what, 1, processors, options.repetitions});
        break;
      case figure_kind::lateness: all.push_back({what, 1, 1, few}); break;
      case figure_kind::calls:
      case figure_kind::wake_ups: all.push_back({what, options.timers.back(), 1, few}); break;
    }
  }
  std::erase_if(all, [](const step& each) { return each.threads < about(each.what).fewest_threads; });
  return all;
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

std::string title_of(const step& now, const std::string& contestant_name) {
  const std::string_view plural = now.threads == 1 ? "" : "s";
  std::string title(name(now.what));
  switch (kind_of(now.what)) {
    case figure_kind::threads:
      title += fmt::format(", {} timers, {} thread{}", grouped(now.timers), now.threads, plural);
      break;
    case figure_kind::processors: title += fmt::format(", {} processor{}", now.threads, plural); break;
    case figure_kind::lateness: break;
    default: title += fmt::format(", {} timers", grouped(now.timers));
  }
  return title + ": " + contestant_name;
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
    percentiles made;
    for (const auto part : {&percentiles::p50, &percentiles::p99, &percentiles::p999, &percentiles::max}) {
      std::vector<double> parts;
      for (const percentiles& each : all) parts.push_back(each.*part);
      made.*part = median(parts);
    }
    return made;
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
  measurements(const bench_options& options, roster chosen)
      : options_(options), roster_(std::move(chosen)), random_(options.seed), steps_(steps_of(options)) {
    std::erase_if(roster_.contestants, [this](const contestant& each) {
      return std::ranges::none_of(options_.only, [&each](workload what) { return each.takes_part(what); });
    });
    std::int64_t timed = 0;  // measurements that have time_for_all in common
    for (const contestant& each : roster_.contestants) {
      if (is_weighed(each)) count_ += options_.timers.size();
      if (each.prepare) ++count_;
      for (const step& now : steps_) {
        if (!each.takes_part(now.what)) continue;
        count_ += static_cast<std::uint64_t>(now.repetitions);
        if (kind_of(now.what) != figure_kind::calls) timed += now.repetitions;
      }
    }
    const duration fair = time_for_all / std::max<std::int64_t>(timed, 1);
    time_for_each_ = options.quick ? duration(1ms) : std::clamp(fair, shortest, longest);
  }

  /// Throws failure if a contestant does not do what a workload asks of it. A contestant that may be left out is left
  /// out of that workload instead, by name and with the reason, and its figures with it.
  results run() {
    present();
    weigh();  // before this process has memory to reuse
    prepare();
    for (const step& now : steps_) measure(now);
    return std::move(all_);
  }

 private:
  [[nodiscard]] bool is_weighed(const contestant& one) const {
    return one.bytes_per_timer && std::ranges::any_of(options_.only, [&one](workload what) {
             return in_one_thread(what) && one.takes_part(what);
           });
  }

  void tell(const std::string& what) { progress_.show(what, done_++, count_); }

  /// Fills in the machine, the contestants, and those that are left out.
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
        if (!is_weighed(each)) continue;
        tell(fmt::format("memory, {} timers: {}", grouped(timers), each.name));
        if (const auto bytes = each.bytes_per_timer(timers)) bytes_[{each.name, timers}] = *bytes;
      }
    }
  }

  /// Builds the contestants that have to be built. If a build fails, its contestant is left out of all workloads.
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

  void measure(const step& now) {
    const workload what = now.what;
    std::optional<pinned> on_one_core;
    if (in_one_thread(what)) on_one_core.emplace();
    std::map<std::string, std::vector<series>> found;
    const auto repetitions = static_cast<std::size_t>(now.repetitions);
    for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
      const request asked{.what = what,
                          .timers = now.timers,
                          .threads = now.threads,
                          .time = time_of(what, options_.quick, time_for_each_),
                          .sleeps = std::max<std::size_t>(sleeps_of(what, options_.quick) / repetitions, 3),
                          .seed = options_.seed + repetition,  // the same draws for all contestants of a repetition
                          .quick = options_.quick};
      for (contestant* const one : shuffled(what)) {
        tell(title_of(now, one->name));
        measure(*one, asked, found[one->name]);
        if (!one->takes_part(what)) found.erase(one->name);
      }
    }
    for (const contestant& each : roster_.contestants) {
      for (series& one : found[each.name]) {
        record made{.what = what, .contestant = each.name, .timers = now.timers, .threads = now.threads};
        const auto bytes = bytes_.find({each.name, now.timers});
        if (in_one_thread(what) && bytes != bytes_.end()) made.bytes_per_timer = bytes->second;
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

  const bench_options& options_;
  roster roster_;
  progress_line progress_;
  quick_random random_;
  const std::vector<step> steps_;
  duration time_for_each_{};
  std::uint64_t count_ = 0;
  std::uint64_t done_ = 0;
  std::map<std::pair<std::string, std::size_t>, double> bytes_;
  results all_;
};

/// Throws failure if all contestants were left out, so that there is nothing to write.
void check_figures(const results& all) {
  if (!all.records.empty()) return;
  std::vector<std::string> reasons;
  for (const absence& each : all.left_out) reasons.push_back(fmt::format("{}: {}", each.name, each.reason));
  throw failure(fmt::format("nothing was measured, for all contestants were left out: {}", fmt::join(reasons, "; ")));
}

/// Adds the chosen contestants and workloads that are not measured. No absence is added twice.
void add(results& all, const gaps& missing) {
  for (const absence& each : missing.contestants) {
    if (std::ranges::find(all.left_out, each) == all.left_out.end()) all.left_out.push_back(each);
  }
  all.not_measured = missing.workloads;
}

}  // namespace

void run_bench(const bench_options& options) {
  outputs to(options.files);
  roster chosen = select(all_contestants(), options.contestants);
  const gaps missing = gaps_in(options, chosen);
  if (const auto warning = build_warning()) report(*warning);
  if (options.names_workloads) {  // otherwise the contestants were asked for, in all that they take part in
    for (const std::string& each : messages_about(missing)) report(each);
  }
  results all = measurements(options, std::move(chosen)).run();
  add(all, missing);
  check_figures(all);
  to.publish(all);
}

}  // namespace foliot::program::bench
