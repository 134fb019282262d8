#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/bench_command.hpp"
#include "bench/bench_options.hpp"
#include "bench/serve/serve_bench_options.hpp"
#include "micro.hpp"

namespace foliot::program {

namespace {

struct micro_arguments : common_arguments {
  std::string seconds = "0.5";
};

bench::micro_options read(const micro_arguments& all, const CLI::App& line) {
  bench::require_micro();
  bench::micro_options options;
  std::vector<std::string> families;
  for (const std::string& each : all.only) families.push_back(each.substr(0, each.find('/')));
  static_cast<void>(bench::known_names("--only", "workload", families, bench::micro_families()));
  options.only = all.only;
  options.repetitions = bench::parse_repetitions(all.repetitions);
  options.seconds = static_cast<double>(bench::parse_seconds(all.seconds).count()) * 1e-9;
  options.files = files_in(all, line);
  return options;
}

}  // namespace

CLI::App* add_micro_bench(CLI::App& bench_line, command& chosen) {
  const auto all = std::make_shared<micro_arguments>();
  CLI::App* const line =
      bench_line.add_subcommand("micro", "Measure single operations: locks, channels, the parsers of JSON, replays");
  add_names(*line, "--only", all->only,
            fmt::format("Only these workloads, or lines of them, such as\nchannels/lock_and_unlock:\n{}",
                        fmt::join(bench::micro_families(), ", ")));
  line->add_option("--seconds", all->seconds, "How long a figure is measured at least")
      ->type_name("NUMBER")
      ->capture_default_str();
  add_repetitions(*line, *all, bench::micro_options{}.repetitions);
  add_files(*line, *all);
  line->footer(
      "Each operation is measured in a loop of Google Benchmark, the repetitions in\n"
      "shuffled order: compare the lines of one run. It takes some minutes; --only and\n"
      "--seconds make it shorter. docs/bench.md has more.");
  choose_when_asked(*line, bench_line, chosen, [all, line] { bench::run_micro(read(*all, *line)); });
  return line;
}

}  // namespace foliot::program
