#include "measure.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "../failure.hpp"
#include "../replay/grouped.hpp"
#include "pinned.hpp"
#include "quick_random.hpp"
#include "resident_memory.hpp"
#include "trials/measure_trials.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::int64_t millisecond = 1'000'000;
constexpr std::int64_t time_for_all = 100'000 * millisecond;  // of measuring, without making and warming up
constexpr std::int64_t shortest = 50 * millisecond;
constexpr std::int64_t longest = 300 * millisecond;
constexpr std::uint64_t operations_between_looks = 8192;
constexpr std::uint64_t fewest_warm_operations = 10'000;
constexpr std::int64_t longest_warm_up = 300 * millisecond;
constexpr int latency_repetitions = 3;

/// Workloads that are measured one after the other on the same timers.
constexpr std::array<std::pair<workload, std::optional<workload>>, 4> groups = {{
    {workload::w1, workload::w1p},
    {workload::w2, workload::w2p},
    {workload::w3, std::nullopt},
    {workload::w4, std::nullopt},
}};

std::span<std::uint32_t> times_of(call_times& times, std::string_view call) {
  if (call == "start") return times.start;
  if (call == "stop") return times.stop;
  return call == "reset" ? times.reset : times.expire;
}

constexpr std::array<std::string_view, 4> calls = {"start", "stop", "reset", "expire"};

/// One repetition of timing single calls, of one kind.
struct call_sample {
  percentiles at{};
  std::optional<double> per_fired{};
};

percentiles median_of(const std::vector<call_sample>& samples) {
  const auto take = [&samples](double percentiles::* part) {
    std::vector<double> all;
    for (const call_sample& each : samples) all.push_back(each.at.*part);
    return median(all);
  };
  return {.p50 = take(&percentiles::p50),
          .p99 = take(&percentiles::p99),
          .p999 = take(&percentiles::p999),
          .max = take(&percentiles::max)};
}

class contest {
 public:
  contest(const bench_options& options, const roster& who, const measurement_watcher& watcher)
      : options_(options),
        who_(who),
        watcher_(watcher),
        random_(options.seed),
        trials_(options, who.trials, [this](std::string what) { tell(std::move(what)); }) {
    count_measurements();
    const auto share = time_for_all / static_cast<std::int64_t>(std::max<std::uint64_t>(timed_, 1));
    time_for_each_ = options.quick ? millisecond : std::clamp(share, shortest, longest);
  }

  results run() {
    results all;
    all.machine = describe_machine();
    all.reference = reference_of(who_);
    all.tells_generations = options_.tells_generations;
    all.repetitions = options_.repetitions;
    present(all);
    if (std::ranges::any_of(options_.only, [](workload what) { return !is_trial(what); })) measure_queues(all);
    trials_.run(all, time_for_each_);
    return all;
  }

 private:
  /// Who takes part in anything that is wanted, each name once, and who does not.
  void present(results& all) const {
    for (const contestant& each : who_.contestants) {
      if (!wanted(each)) continue;
      all.contestants.push_back({each.name, each.version, std::string(name(each.time)), each.remark});
    }
    for (const trial_contestant& each : trials_.contestants()) {
      const auto told = std::ranges::find(all.contestants, each.name, &participant::name);
      if (told == all.contestants.end()) {
        all.contestants.push_back({each.name, each.version, std::string(name(each.time)), each.remark});
      } else if (told->remark.empty()) {
        told->remark = each.remark;
      }
    }
    for (const absence& each : who_.left_out) {
      if (std::ranges::any_of(options_.only, [&each](workload what) { return concerns(each, what); })) {
        all.left_out.push_back(each);
      }
    }
  }

  [[nodiscard]] bool wanted(const contestant& who) const {
    return std::ranges::any_of(options_.only, [&who](workload what) { return who.takes_part(what); });
  }

  void measure_queues(results& all) {
    weigh();  // before this process has memory to reuse
    const pinned on_one_core;
    if (on_one_core.core() >= 0) all.machine.emplace_back("pinned to core", std::to_string(on_one_core.core()));
    for (const std::size_t timers : options_.timers) {
      for (const auto& [first, second] : groups) measure_group(all, timers, first, second);
    }
    for (const workload what : {workload::worst_uniform, workload::worst_one_slot}) {
      if (options_.wants(what)) time_calls(all, what, options_.timers.back());
    }
  }

  [[nodiscard]] int call_repetitions() const noexcept { return std::min(options_.repetitions, latency_repetitions); }

  /// The number of measurements, for the progress, and of those that share the time there is.
  void count_measurements() {
    const std::uint64_t sizes = options_.timers.size();
    for (const contestant& each : who_.contestants) {
      if (wanted(each)) all_ += sizes;
      for (const workload what : options_.only) {
        if (!each.takes_part(what)) continue;
        if (times_calls(what)) {
          all_ += static_cast<std::uint64_t>(call_repetitions());
        } else {
          timed_ += sizes * static_cast<std::uint64_t>(options_.repetitions);
        }
      }
    }
    all_ += timed_ + trials_.measurements();
    timed_ += trials_.measurements();
  }

  void tell(std::string what) { watcher_(what, done_++, all_); }

  void weigh() {
    for (const std::size_t timers : options_.timers) {
      for (const contestant& each : who_.contestants) {
        if (!wanted(each)) continue;
        tell(fmt::format("memory, {} timers: {}", grouped(timers), each.name));
        if (const auto bytes = bytes_per_timer(each, timers)) bytes_[{each.name, timers}] = *bytes;
      }
    }
  }

  [[nodiscard]] record make_record(workload what, const contestant& of, std::size_t timers) const {
    record made{.what = what, .contestant = of.name, .timers = timers};
    if (const auto bytes = bytes_.find({of.name, timers}); bytes != bytes_.end()) made.bytes_per_timer = bytes->second;
    return made;
  }

  /// The contestants that take part, in an order of its own for each repetition.
  std::vector<const contestant*> shuffled(workload what) {
    std::vector<const contestant*> order;
    for (const contestant& each : who_.contestants) {
      if (each.takes_part(what)) order.push_back(&each);
    }
    for (std::size_t left = order.size(); left > 1; --left) {
      std::swap(order[left - 1], order[upper_below(random_.next(), left)]);
    }
    return order;
  }

  void measure_group(results& all, std::size_t timers, workload first, std::optional<workload> second) {
    std::vector<workload> wanted;
    if (options_.wants(first)) wanted.push_back(first);
    if (second && options_.wants(*second)) wanted.push_back(*second);
    if (wanted.empty()) return;
    std::map<std::pair<workload, std::string>, std::vector<double>> costs;
    for (int repetition = 0; repetition < options_.repetitions; ++repetition) {
      for (const contestant* who : shuffled(first)) {
        // The same draws for all contestants of a repetition.
        const auto bout = who->make(timers, options_.seed + static_cast<std::uint64_t>(repetition));
        bout->begin(first);
        for (const workload what : wanted) {
          tell(fmt::format("{}, {} timers: {}", name(what), grouped(timers), who->name));
          const std::uint64_t warm = warm_operations(what, timers, what != wanted.front());
          costs[{what, who->name}].push_back(cost(*bout, what, *who, warm));
        }
      }
    }
    for (const workload what : wanted) {
      for (const contestant& each : who_.contestants) {
        const auto found = costs.find({what, each.name});
        if (found == costs.end()) continue;
        record made = make_record(what, each, timers);
        made.cost = spread_of(found->second);
        all.records.push_back(std::move(made));
      }
    }
  }

  /// How much to do before it counts. Where the timers have done the same without prefetching, no more
  /// than the processor needs. Heartbeats need 30 s of their time, 3 resets a timer: before that, queues
  /// that put work off have not come to it yet.
  [[nodiscard]] std::uint64_t warm_operations(workload what, std::size_t count, bool warm_already) const noexcept {
    const std::uint64_t fewest = options_.quick ? 64 : fewest_warm_operations;
    if (warm_already) return fewest;
    const bool heartbeats = what == workload::w2 || what == workload::w2p;
    return std::max<std::uint64_t>(fewest, (heartbeats ? 3 : 1) * count);
  }

  /// Warms up, then measures: ns an operation.
  double cost(bout& timers, workload what, const contestant& who, std::uint64_t warm) {
    const tally warm_up = run_for(timers, what, longest_warm_up, warm);
    const tally total = run_for(timers, what, time_for_each_, UINT64_MAX);
    for (const tally* each : {&warm_up, &total}) {
      if (each->wrong.empty()) continue;
      throw failure(fmt::format("{} in {}: {}; its figures would be wrong", who.name, name(what), each->wrong));
    }
    return static_cast<double>(total.nanoseconds) / static_cast<double>(total.operations);
  }

  static tally run_for(bout& timers, workload what, std::int64_t nanoseconds, std::uint64_t operations) {
    tally total;
    do {
      total += timers.run(what, std::min(operations - total.operations, operations_between_looks));
    } while (total.nanoseconds < nanoseconds && total.operations < operations);
    return total;
  }

  void time_calls(results& all, workload what, std::size_t timers) {
    std::map<std::pair<std::string, std::string_view>, std::vector<call_sample>> samples;
    for (int repetition = 0; repetition < call_repetitions(); ++repetition) {
      for (const contestant* who : shuffled(what)) {
        tell(fmt::format("{}, {} timers: {}", name(what), grouped(timers), who->name));
        call_times times = timed_calls(*who, what, timers, repetition);
        for (const std::string_view call : calls) {
          samples[{who->name, call}].push_back(sample_of(times, what, call));
        }
      }
    }
    for (const std::string_view call : calls) {
      for (const contestant& each : who_.contestants) {
        if (each.takes_part(what))
          all.records.push_back(call_record(what, call, each, timers, samples[{each.name, call}]));
      }
    }
  }

  call_times timed_calls(const contestant& who, workload what, std::size_t timers, int repetition) {
    const auto bout = who.make(timers, options_.seed + static_cast<std::uint64_t>(repetition));
    bout->begin(what);
    // 300 s of virtual time: long enough that the coarse slots of wheels open too.
    call_times times = bout->time_calls(what, options_.quick ? 1'000 : 300'000);
    if (times.wrong.empty()) return times;
    throw failure(fmt::format("{} in {}: {}; its figures would be wrong", who.name, name(what), times.wrong));
  }

  static call_sample sample_of(call_times& times, workload what, std::string_view call) {
    call_sample sample{.at = percentiles_of(times_of(times, call))};
    if (what == workload::worst_one_slot && call == "expire") {
      sample.per_fired = static_cast<double>(times.expire_nanoseconds) / static_cast<double>(times.fired);
    }
    return sample;
  }

  [[nodiscard]] record call_record(workload what, std::string_view call, const contestant& of, std::size_t timers,
                                   const std::vector<call_sample>& samples) const {
    record made = make_record(what, of, timers);
    made.call = call;
    made.calls = median_of(samples);
    std::vector<double> medians;
    std::vector<double> per_fired;
    made.worst = 0;
    for (const call_sample& each : samples) {
      medians.push_back(each.at.p50);
      if (each.per_fired) per_fired.push_back(*each.per_fired);
      made.worst = std::max(*made.worst, each.at.max);
    }
    made.cost = spread_of(medians);
    if (!per_fired.empty()) made.per_fired = median(per_fired);
    return made;
  }

  const bench_options& options_;
  const roster& who_;
  const measurement_watcher& watcher_;
  quick_random random_;
  trial_contest trials_;
  std::int64_t time_for_each_ = 0;
  std::uint64_t all_ = 0;
  std::uint64_t timed_ = 0;
  std::uint64_t done_ = 0;
  std::map<std::pair<std::string, std::size_t>, double> bytes_;
};

}  // namespace

results measure(const bench_options& options, const roster& who, const measurement_watcher& watcher) {
  return contest(options, who, watcher).run();
}

}  // namespace foliot::program::bench
