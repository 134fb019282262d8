#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/bench_command.hpp"
#include "bench/bench_options.hpp"
#include "number_option.hpp"
#include "serve_bench_options.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

constexpr std::uint64_t least_tubes = 3;
constexpr std::uint64_t most_tubes = 1'000'000;
constexpr std::uint64_t most_jobs = 1'000'000'000;

struct serve_bench_arguments : common_arguments {
  std::string address;
  std::string tube = bench::serve_bench_options{}.tube;
  std::string seconds = "1";
  std::string old_program;
  bool local = false;
  bool full = false;
  std::size_t tubes = 0;
  std::size_t jobs = 0;
};

/// Throws failure if the options given contradict each other.
void check(const CLI::App& line, bool measures_lists) {
  const auto given = [&line](const char* name) { return line.count(name) > 0; };
  for (const char* const own : {"--contestants", "--folder", "--unix", "--old"}) {
    if (given("--address") && given(own)) {
      throw failure(fmt::format("{} is for servers that the benchmark starts: leave it out with --address", own));
    }
  }
  if (given("--tube") && !given("--address")) throw failure("--tube is for the server of --address, which is missing");
  for (const char* const own : {"--tubes", "--jobs"}) {
    if (given(own) && !measures_lists) {
      throw failure(fmt::format("{} is for the workload lists, which --only leaves out", own));
    }
  }
}

bench::serve_bench_options read(const serve_bench_arguments& all, const CLI::App& line) {
  using namespace std::chrono_literals;
  const auto given = [&line](const char* name) { return line.count(name) > 0; };
  check(line, all.only.empty() || std::ranges::find(all.only, "lists") != all.only.end());
  bench::serve_bench_options options;
  options.only = bench::parse_serve_families(all.only);
  options.contestants = bench::parse_servers(all.contestants);
  if (given("--address")) options.address = bench::parse_server_address(all.address);
  options.tube = bench::parse_tube(all.tube);
  options.folder = all.folder;
  if (given("--old")) options.old_program = bench::parse_old_program(all.old_program);
  options.way = all.local ? bench::transport::local : bench::transport::tcp;
  options.scale = {.length = bench::parse_seconds(all.seconds),
                   .quick = all.quick,
                   .full = all.full,
                   .tubes = all.tubes,
                   .jobs = all.jobs};
  options.repetitions = bench::parse_repetitions(all.repetitions);
  if (all.quick && !given("--seconds")) options.scale.length = 20ms;
  if (all.quick && !given("--repetitions")) options.repetitions = 2;
  options.files = files_in(all, line);
  return options;
}

std::string joined(const auto& names) { return fmt::format("{}", fmt::join(names, ", ")); }

std::vector<std::string_view> server_names() {
  std::vector<std::string_view> names;
  for (const bench::server_kind& each : bench::server_kinds) names.push_back(each.name);
  return names;
}

}  // namespace

CLI::App* add_serve_bench(CLI::App& bench_line, command& chosen) {
  const auto all = std::make_shared<serve_bench_arguments>();
  CLI::App* line = bench_line.add_subcommand(
      "serve", "Measure foliot serve beside beanstalkd and NATS, or any server of the beanstalk protocol");
  add_names(*line, "--only", all->only, "Only these workloads:\n" + joined(bench::serve_families()));
  add_names(*line, "--contestants", all->contestants, "Only these servers:\n" + joined(server_names()));
  line->add_option("--old", all->old_program,
                   "The program of another version, which takes part as\nfoliot-old: what is as quick as before?")
      ->type_name("PATH");
  line->add_option("--address", all->address,
                   "Measure the server that runs there instead, such as\nlocalhost:11300 or unix:PATH")
      ->type_name("ADDRESS");
  line->add_option("--tube", all->tube, "With --address: a tube that nothing else uses; no job is\nleft in it")
      ->type_name("NAME")
      ->capture_default_str();
  add_folder(*line, *all, "Where the servers keep their data meanwhile: a folder on\na disk");
  line->add_flag("--unix", all->local, "Connect through unix sockets instead of TCP");
  line->add_option("--seconds", all->seconds, "How long a rate is measured")
      ->type_name("NUMBER")
      ->capture_default_str();
  add_repetitions(*line, *all, bench::serve_bench_options{}.repetitions);
  line->add_flag("--quick", all->quick,
                 "Few connections for a short time, to see that it works:\nthe figures mean little");
  line->add_flag("--full", all->full, "Also the counts that take long, such as ten million jobs");
  line->add_option("--tubes", all->tubes, "Of the workload lists: how many tubes are stored")
      ->type_name("NUMBER")
      ->transform(whole_number(least_tubes, most_tubes));
  line->add_option("--jobs", all->jobs, "Of the workload lists: how many jobs are stored, at least\ntwo for each tube")
      ->type_name("NUMBER")
      ->transform(whole_number(1, most_jobs));
  add_files(*line, *all);
  line->footer(
      "Each measurement starts a fresh server, in turns, so that what happens to the\n"
      "machine meanwhile happens to all: compare the lines of one run. It takes some\n"
      "minutes; --only and --contestants make it shorter. The clients are one thread of\n"
      "this program, on the same machine. docs/serve/bench.md has more.");
  choose_when_asked(*line, bench_line, chosen, [all, line] { bench::run_serve_bench(read(*all, *line)); });
  return line;
}

}  // namespace foliot::program
