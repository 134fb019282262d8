#include <memory>
#include <string>

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
  bench::micro_options options;
  options.only = bench::known_names("--only", "workload", all.only, bench::micro_families());
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
            fmt::format("Only these workloads:\n{}", fmt::join(bench::micro_families(), ", ")));
  line->add_option("--seconds", all->seconds, "How long a figure is measured at least")
      ->type_name("NUMBER")
      ->capture_default_str();
  add_repetitions(*line, *all, bench::micro_options{}.repetitions);
  add_files(*line, *all);
  choose_when_asked(*line, bench_line, chosen, [all, line] { bench::run_micro(read(*all, *line)); });
  return line;
}

}  // namespace foliot::program
