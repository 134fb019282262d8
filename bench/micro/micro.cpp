#include "micro.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/serve/serve_results.hpp"
#include "text/failure.hpp"

#ifdef FOLIOT_WITH_BENCHMARK
#include <benchmark/benchmark.h>
#include <foliot/version.hpp>

#include "bench/report/report.hpp"
#include "bench/statistics.hpp"
#include "report.hpp"
#endif

namespace foliot::program::bench {

#ifdef FOLIOT_WITH_BENCHMARK

namespace {

struct micro_family {
  const char* name;
  const char* title;
  void (*add)();
};

constexpr std::array families{
    micro_family{"services", "a start and a stop in a service, ns, by the number of other timers", add_service_costs},
    micro_family{"channels", "an operation of channels and tasks, ns, by the number of processors", add_channel_costs},
    micro_family{"json", "a text of JSON is read, ns", add_json_costs},
    micro_family{"replay", "a log of three million lines is replayed, ns", add_replay_costs},
};

/// Makes the records of the runs. One family is measured at a time.
class collector : public ::benchmark::BenchmarkReporter {
 public:
  explicit collector(serve_results& to) : to_(to) {}

  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& each : runs) {
      if (each.run_type == Run::RT_Aggregate) continue;
      if (each.error_occurred) throw failure(fmt::format("{}: {}", each.benchmark_name(), each.error_message));
      note(each);
    }
  }
  /// After all runs: the medians.
  void add_records() {
    for (auto& [record, amounts] : amounts_) {
      to_.records[record].amount = spread_of(amounts);
    }
  }

 private:
  void note(const Run& run) {
    const std::string_view name = run.run_name.function_name;
    const std::size_t family = name.find('/');
    const std::size_t line = name.find('/', family + 1);
    const std::string contestant(name.substr(family + 1, line - family - 1));
    const std::string column = line == std::string_view::npos ? run.run_name.args : std::string(name.substr(line + 1));
    if (std::ranges::find(to_.contestants, contestant, &participant::name) == to_.contestants.end()) {
      to_.contestants.push_back({.name = contestant});
    }
    const double iterations = static_cast<double>(run.iterations);
    const auto add = [&](const char* figure, const char* unit, double amount) {
      add_amount({.family = std::string(name.substr(0, family)),
                  .contestant = contestant,
                  .figure = figure,
                  .unit = unit,
                  .head = column.empty() ? "each" : column},
                 amount);
    };
    add("time", "ns", run.real_accumulated_time * 1e9 / iterations);
    add("cpu", "ns of the processor", run.cpu_accumulated_time * 1e9 / iterations);
    for (const auto& [counter, value] : run.counters) {
      add(counter == "items_per_second" ? "items" : "bytes", counter == "items_per_second" ? "items/s" : "bytes/s",
          value.value);
    }
  }

  void add_amount(serve_record of, double amount) {
    const auto known = std::ranges::find_if(to_.records, [&of](const serve_record& each) {
      return each.family == of.family && each.contestant == of.contestant && each.figure == of.figure &&
             each.head == of.head;
    });
    const auto place = static_cast<std::size_t>(known - to_.records.begin());
    if (known == to_.records.end()) to_.records.push_back(std::move(of));
    amounts_[place].push_back(amount);
  }

  serve_results& to_;
  std::map<std::size_t, std::vector<double>> amounts_;  // by the record
};

/// Tells Google Benchmark what to do: it has flags for that alone.
void set_flags(const micro_options& options) {
  std::vector<std::string> words{"foliot bench micro", fmt::format("--benchmark_repetitions={}", options.repetitions),
                                 fmt::format("--benchmark_min_time={}", options.seconds),
                                 "--benchmark_enable_random_interleaving=true"};
  std::vector<char*> flags;
  for (std::string& each : words) flags.push_back(each.data());
  int count = static_cast<int>(flags.size());
  ::benchmark::Initialize(&count, flags.data());
}

}  // namespace

const std::vector<std::string>& micro_families() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const micro_family& each : families) names.emplace_back(each.name);
    return names;
  }();
  return all;
}

void run_micro(const micro_options& options) {
  outputs to(options.files);
  if (const auto warning = build_warning()) report(*warning);
  serve_results all{.command = "foliot bench micro", .machine = describe_machine()};
  all.repetitions = options.repetitions;
  all.has_load_generator = false;
  for (const micro_family& each : families) {
    if (!options.only.empty() && std::ranges::find(options.only, each.name) == options.only.end()) continue;
    each.add();
    all.families.push_back({each.name, each.title});
  }
  set_flags(options);
  collector into(all);
  ::benchmark::RunSpecifiedBenchmarks(&into);
  into.add_records();
  to.publish([&all] { return serve_text(all); }, [&all] { return serve_json(all); },
             [&all] { return serve_page(serve_json(all)); });
}

#else

const std::vector<std::string>& micro_families() {
  static const std::vector<std::string> none;
  return none;
}

void run_micro(const micro_options&) {
  throw failure("this program was built without micro-benchmarks: they need FOLIOT_BUILD_BENCHMARKS=ON, and Google Benchmark "
      "(Debian: libbenchmark-dev)");
}

#endif

}  // namespace foliot::program::bench
