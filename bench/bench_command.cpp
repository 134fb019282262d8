#include "bench_command.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench_options.hpp"
#include "roster.hpp"
#include "serve/serve_bench_command.hpp"

namespace foliot::program {

namespace {

constexpr const char* go_name = "go";
constexpr const char* generations_name = "generations";

struct bench_arguments {
  std::vector<std::string> only;
  std::vector<std::string> contestants;
  std::vector<std::string> timers;
  std::vector<std::string> threads;
  std::string repetitions = std::to_string(bench::bench_options{}.repetitions);
  std::string json;
  std::string report;
  bool quick = false;
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
  if (given("--json")) options.json = all.json;
  if (given("--report")) options.report = all.report;
  if (all.quick) bench::make_quick(options, given("--n"), given("--repetitions"));
  return options;
}

}  // namespace

void fill_bench(CLI::App& program, command& chosen) {
  const auto all = std::make_shared<bench_arguments>();
  CLI::App* const line = &program;
  line->add_option("--only", all->only, "Only these workloads: " + listed(bench::family_names()))
      ->type_name("NAMES")
      ->delimiter(',');
  line->add_option("--contestants", all->contestants, "Only these: " + listed(bench::all_contestants().names()))
      ->type_name("NAMES")
      ->delimiter(',');
  line->add_option("--n", all->timers,
                   "Numbers of pending timers, up to 1e8; default\n1e3,1e4,1e5,1e6, for the generations 1e5")
      ->type_name("NUMBERS")
      ->delimiter(',');
  line->add_option("--threads", all->threads,
                   "Numbers of threads in W5, and of processors in Go's\nbenchmarks, 1 to 4; default 1,2, for the "
                   "generations 1,2,3,4")
      ->type_name("NUMBERS")
      ->delimiter(',');
  line->add_option("--repetitions", all->repetitions, "How often each figure is measured; the median is shown")
      ->type_name("NUMBER")
      ->capture_default_str();
  line->add_flag("--quick", all->quick, "Few timers for a short time, to see that it works:\nthe figures mean little");
  line->add_option("--json", all->json, "Write the figures to FILE, as JSON; - is standard output")->type_name("FILE");
  line->add_option("--report", all->report, "Write a page with charts to FILE, as HTML; - is standard output")
      ->type_name("FILE");
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
  const CLI::App* const serve = add_serve_bench(*line, chosen);
  line->require_subcommand(0, 1);
  line->callback([all, line, serve, &chosen] {
    if (line->got_subcommand(serve)) return;  // which has options of its own, and has set `chosen`
    chosen = [all, line] { bench::run_bench(read(*all, *line)); };
  });
}

}  // namespace foliot::program
