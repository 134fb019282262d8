#include "micro.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/bench_options.hpp"
#include "bench/serve/serve_results.hpp"
#include "text/failure.hpp"

#ifdef FOLIOT_WITH_BENCHMARK
#include <benchmark/benchmark.h>
#include <fmt/ranges.h>
#include <foliot/version.hpp>

#include "bench/record.hpp"
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
      to_.note({.family = std::string(name.substr(0, family)),
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

  serve_results& to_;
};

/// Tells Google Benchmark what to do: it has flags for that alone.
void set_flags(std::vector<std::string> words) {
  std::string program = "foliot bench micro";
  std::vector<char*> flags = {program.data()};
  for (std::string& each : words) flags.push_back(each.data());
  int count = static_cast<int>(flags.size());
  ::benchmark::Initialize(&count, flags.data());
}

/// Writes no figures.
class lister : public ::benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

/// The names of the loops that were added.
std::vector<std::string> added_names() {
  std::stringstream text;
  lister into;
  into.SetOutputStream(&text);
  set_flags({"--benchmark_list_tests=true", "--benchmark_filter=."});
  ::benchmark::RunSpecifiedBenchmarks(&into);
  set_flags({"--benchmark_list_tests=false"});
  std::vector<std::string> names;
  for (std::string line; std::getline(text, line);) names.push_back(line);
  return names;
}

/// Whether the name of a loop begins with these parts.
bool is_part_of(std::string_view name, std::string_view parts) {
  return name.starts_with(parts) && (name.size() == parts.size() || name[parts.size()] == '/');
}

/// A regular expression for the loops with one of these names, or with a name that begins with one. Throws failure for
/// a name that no loop has.
std::string filter_of(const std::vector<std::string>& only) {
  if (only.empty()) return ".";
  const std::vector<std::string> added = added_names();
  std::string filter;
  for (const std::string& each : only) {
    const auto is_chosen = [&each](const std::string& name) { return is_part_of(name, each); };
    if (std::ranges::none_of(added, is_chosen)) {
      throw failure(fmt::format("--only: there is no workload '{}'; there are {}", each, fmt::join(added, ", ")));
    }
    filter += filter.empty() ? "^(" : "|";
    for (const char letter : each) {
      if (std::string_view(R"(.[]{}()*+?^$|\)").find(letter) != std::string_view::npos) filter += '\\';
      filter += letter;
    }
  }
  return filter + ")(/|$)";
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
  for (const std::string& each : options.only) {
    static_cast<void>(known_names("--only", "workload", {each.substr(0, each.find('/'))}, micro_families()));
  }
  outputs to(options.files);
  if (const auto warning = build_warning()) report(*warning);
  serve_results all{.command = "foliot bench micro",
                    .introduction =
                        "Single operations, in the loops of Google Benchmark: compare the lines of one run "
                        "with each other, and no two runs."};
  all.repetitions = options.repetitions;
  all.has_load_generator = false;
  for (const micro_family& each : families) {
    const auto is_named = [&each](const std::string& name) { return is_part_of(name, each.name); };
    if (!options.only.empty() && std::ranges::none_of(options.only, is_named)) continue;
    each.add();
    all.families.push_back({each.name, each.title});
  }
  set_flags({fmt::format("--benchmark_filter={}", filter_of(options.only)),
             fmt::format("--benchmark_repetitions={}", options.repetitions),
             fmt::format("--benchmark_min_time={}", static_cast<double>(options.length.count()) * 1e-9),
             "--benchmark_enable_random_interleaving=true"});
  collector into(all);
  ::benchmark::RunSpecifiedBenchmarks(&into);
  to.publish(all);
}

#else

const std::vector<std::string>& micro_families() {
  static const std::vector<std::string> none;
  return none;
}

void run_micro(const micro_options&) {
  throw failure(
      "this program was built without micro-benchmarks: they need FOLIOT_BUILD_BENCHMARKS=ON, and Google Benchmark "
      "(Debian: libbenchmark-dev)");
}

#endif

}  // namespace foliot::program::bench
