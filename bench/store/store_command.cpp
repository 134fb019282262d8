#include <memory>

#include "bench/bench_command.hpp"
#include "bench/bench_options.hpp"
#include "number_option.hpp"
#include "store_bench.hpp"

namespace foliot::program {

namespace {

constexpr std::uint64_t most_stored = 1'000'000'000;
constexpr std::size_t quick_jobs = 2'000;

struct store_arguments : common_arguments {
  std::size_t jobs = bench::store_bench_options{}.jobs;
};

bench::store_bench_options read(const store_arguments& all, const CLI::App& line) {
  bench::store_bench_options options;
  options.only = bench::known_names("--only", "workload", all.only, bench::store_families());
  options.folder = all.folder;
  options.jobs = all.quick && line.count("--jobs") == 0 ? quick_jobs : all.jobs;
  options.quick = all.quick;
  options.files = files_in(all, line);
  return options;
}

}  // namespace

CLI::App* add_store_bench(CLI::App& bench_line, command& chosen) {
  const auto all = std::make_shared<store_arguments>();
  CLI::App* const line = bench_line.add_subcommand("store", "Measure the embedded store, without a server");
  add_names(*line, "--only", all->only, "Only these workloads:\nbatches, flood, delayed");
  line->add_option("--jobs", all->jobs, "How many delayed jobs are stored")
      ->type_name("NUMBER")
      ->transform(whole_number(1, most_stored))
      ->capture_default_str();
  add_folder(*line, *all, "Where the store is meanwhile: a folder on a disk");
  line->add_flag("--quick", all->quick, "Few jobs, to see that it works: the figures mean little");
  add_files(*line, *all);
  line->footer(
      "A batch after another is executed in one thread, and each is synced: the disk\n"
      "counts. It takes some minutes; --only and --jobs make it shorter. docs/bench.md\n"
      "has more.");
  choose_when_asked(*line, bench_line, chosen, [all, line] { bench::run_store_bench(read(*all, *line)); });
  return line;
}

}  // namespace foliot::program
