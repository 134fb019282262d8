#include "bench_command.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench_options.hpp"
#include "roster.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

constexpr const char* go_name = "go";
constexpr const char* generations_name = "generations";

struct bench_arguments : common_arguments {
  std::vector<std::string> timers;
  std::vector<std::string> threads;
};

/// The names, in lines for the help.
template <class Names>
std::string listed(const Names& all) {
  std::string names;
  for (const auto& each : all) {
    // Two lines of help are shorter than one that wraps.
    const std::size_t line = names.size() - std::min(names.size(), names.rfind('\n') + 1);
    if (!names.empty()) names += line > 56 ? ",\n" : ", ";
    names += each;
  }
  return names;
}

bench::bench_options read(const bench_arguments& all, const CLI::App& line) {
  const auto given = [&line](const char* name) { return line.count(name) > 0; };
  bench::bench_options options;
  if (line.got_subcommand(go_name)) bench::choose_go(options);
  if (line.got_subcommand(generations_name)) bench::choose_generations(options);
  if (given("--only")) {
    options.only = bench::parse_workloads(all.only);
    options.names_workloads = true;
  }
  if (given("--n")) options.timers = bench::parse_timers(all.timers);
  if (given("--threads")) options.threads = bench::parse_threads(all.threads);
  options.repetitions = bench::parse_repetitions(all.repetitions);
  if (given("--contestants")) {
    options.contestants = all.contestants;
    options.names_contestants = true;
  }
  options.files = files_in(all, line);
  if (all.quick) bench::make_quick(options, given("--n"), given("--repetitions"));
  return options;
}

}  // namespace

void add_names(CLI::App& line, const char* option, std::vector<std::string>& to, const std::string& what) {
  line.add_option(option, to, what)->type_name("NAMES")->delimiter(',');
}

void add_repetitions(CLI::App& line, common_arguments& to, int usual) {
  to.repetitions = std::to_string(usual);
  line.add_option("--repetitions", to.repetitions, "How often each figure is measured; the median is shown")
      ->type_name("NUMBER")
      ->capture_default_str();
}

void add_folder(CLI::App& line, common_arguments& to, const char* what) {
  line.add_option("--folder", to.folder, what)->type_name("DIR")->capture_default_str();
}

void add_files(CLI::App& line, common_arguments& to) {
  line.add_option("--json", to.json, "Write the figures to FILE, as JSON; - is standard output")->type_name("FILE");
  line.add_option("--report", to.report, "Write a page with charts to FILE, as HTML; - is standard output")
      ->type_name("FILE");
}

bench::output_names files_in(const common_arguments& all, const CLI::App& line) {
  bench::output_names files;
  if (line.count("--json") > 0) files.json = all.json;
  if (line.count("--report") > 0) files.report = all.report;
  return files;
}

void choose_when_asked(CLI::App& line, const CLI::App& bench_line, command& chosen, command run) {
  line.callback([&line, &bench_line, &chosen, run = std::move(run)] {
    const auto before = bench_line.get_options([](const CLI::Option* each) { return each->count() > 0; });
    if (!before.empty()) {
      throw failure(
          fmt::format("{0} stands before '{1}', and is an option of foliot bench alone: write it behind "
                      "'{1}'; see foliot bench {1} --help",
                      before.front()->get_name(), line.get_name()));
    }
    chosen = run;
  });
}

void fill_bench(CLI::App& program, command& chosen) {
  const auto all = std::make_shared<bench_arguments>();
  CLI::App* const line = &program;
  add_names(*line, "--only", all->only, "Only these workloads: " + listed(bench::family_names()));
  add_names(*line, "--contestants", all->contestants, "Only these: " + listed(bench::all_contestants().names()));
  line->add_option("--n", all->timers,
                   "Numbers of pending timers, up to 1e8; default\n1e3,1e4,1e5,1e6, for the generations 1e5")
      ->type_name("NUMBERS")
      ->delimiter(',');
  line->add_option("--threads", all->threads,
                   "Numbers of threads in W5, and of processors in Go's\nbenchmarks, 1 to 4; default 1,2, for the "
                   "generations 1,2,3,4")
      ->type_name("NUMBERS")
      ->delimiter(',');
  add_repetitions(*line, *all, bench::bench_options{}.repetitions);
  line->add_flag("--quick", all->quick, "Few timers for a short time, to see that it works:\nthe figures mean little");
  add_files(*line, *all);
  line->footer(
      "Everything is measured in one run, in shuffled order: compare the lines of one\n"
      "run, and not those of two. It takes forty minutes; --only, --contestants and\n"
      "--n make it shorter. docs/bench.md describes the workloads.");
  // These have the options of bench.
  const auto add = [line](const char* name, const char* what) {
    line->add_subcommand(name, what)->fallthrough()->footer("Its options are those of foliot bench.");
  };
  add(go_name, "Go's own benchmarks of its timers, foliot's runtime beside Go's; docs/bench.md");
  add(generations_name, "Timers from Go's one heap to foliot's, on threads that contend: a table and a chart");
  std::vector<const CLI::App*> with_own_options;
  for (const auto add_command :
       {add_serve_bench, add_store_bench, add_micro_bench, add_queue_bench, add_batches_bench}) {
    with_own_options.push_back(add_command(*line, chosen));
  }
  line->require_subcommand(0, 1);
  line->callback([all, line, with_own_options, &chosen] {
    const auto is_asked = [line](const CLI::App* each) { return line->got_subcommand(each); };
    if (std::ranges::any_of(with_own_options, is_asked)) return;  // it has set `chosen`
    chosen = [all, line] { bench::run_bench(read(*all, *line)); };
  });
}

}  // namespace foliot::program
