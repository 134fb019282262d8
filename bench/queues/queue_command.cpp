#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/bench_command.hpp"
#include "bench/bench_options.hpp"
#include "number_option.hpp"
#include "queue_load.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

constexpr std::uint64_t most = 1'000'000'000;
constexpr const char* for_scripts =
    "The scripts in bench/ start it, and speak with it line by line: docs/serve/peers.md.";

struct queue_arguments {
  std::vector<std::string> nodes;
  std::string library;
  std::size_t sessions = 1;
  std::string workload = "backlog";
  bench::queue_load load;
};

void run(const queue_arguments& all) {
  const std::vector<std::string>& names = bench::queue_shape_names();
  static_cast<void>(bench::known_names("--workload", "workload", {all.workload}, names));
  bench::queue_load load = all.load;
  load.shape = static_cast<bench::queue_shape>(std::ranges::find(names, all.workload) - names.begin());
  if (all.nodes.empty() == all.library.empty()) throw failure("name either --nodes or --library");
  if (all.library.empty()) return bench::run_queue_clients(load, all.nodes);
  if (load.shape == bench::queue_shape::steady || load.shape == bench::queue_shape::keys) {
    throw failure("--library: the workload '" + all.workload + "' is for --nodes");
  }
  bench::run_queue_workers(load, all.library, all.sessions);
}

}  // namespace

CLI::App* add_queue_bench(CLI::App& bench_line, command& chosen) {
  const auto all = std::make_shared<queue_arguments>();
  CLI::App* const line = bench_line.add_subcommand("queue", "Put a load on nodes over PostgreSQL, or on their library");
  const auto add_count = [line](const char* name, std::int64_t& to, const char* what, std::uint64_t least = 1) {
    line->add_option(name, to, what)->type_name("NUMBER")->transform(whole_number(least, most))->capture_default_str();
  };
  const auto add_number = [line](const char* name, double& to, const char* what) {
    line->add_option(name, to, what)
        ->type_name("NUMBER")
        ->check(CLI::Range(0.0, 1e9).description(""))
        ->capture_default_str();
  };
  line->add_option("--nodes", all->nodes, "Where nodes listen for the beanstalk protocol: ports, or\nunix:PATH")
      ->type_name("ADDRESSES")
      ->delimiter(',');
  line->add_option("--library", all->library, "The database of workers in this process")->type_name("DATABASE");
  line->add_option("--sessions", all->sessions, "Of --library: sessions with the database")
      ->type_name("NUMBER")
      ->transform(whole_number(1, 1000))
      ->capture_default_str();
  line->add_option("--workload", all->workload, "backlog, flow, lateness, far, steady or keys")
      ->type_name("NAME")
      ->capture_default_str();
  add_count("--jobs", all->load.jobs, "Of backlog and far; of flow: the most that are unfinished");
  add_count("--rate", all->load.rate, "Of lateness and steady: jobs in a second");
  add_number("--seconds", all->load.seconds, "Of flow, lateness, steady and keys");
  add_number("--warm-up", all->load.warm_up, "Of steady: seconds before what is measured");
  add_number("--every", all->load.every, "Of backlog and steady: seconds between two lines");
  add_count("--workers", all->load.workers, "How many jobs are under way at once");
  line->add_flag("--both", all->load.asks_for_both, "A worker sends its delete and the next reserve at once");
  add_number("--delayed", all->load.delayed, "Of steady: the share of jobs that are due later");
  add_count("--delay", all->load.delay, "Of steady: by how many seconds", 0);
  add_count("--keys", all->load.keys, "Of keys: how many there are");
  add_count("--idle", all->load.idle, "Of keys: connections beside those of the workers", 0);
  line->footer(for_scripts);
  choose_when_asked(*line, bench_line, chosen, [all] { run(*all); });
  return line;
}

CLI::App* add_batches_bench(CLI::App& bench_line, command& chosen) {
  const auto database = std::make_shared<std::string>();
  CLI::App* const line = bench_line.add_subcommand("batches", "Execute batches in PostgreSQL, as standard input asks");
  line->add_option("DATABASE", *database, "Where the jobs are")->required();
  line->footer(
      "A request is a line KIND JOBS BODY COUNT: so many batches with so many jobs and\n"
      "bytes of each body. KIND is empty, put, delay (a put that is due in an hour),\n"
      "claim, finish, cycle (finishes, puts and a claim) or tell (the news of a ready\n"
      "job). The answer: jobs that are held then, seconds, seconds of the processor, and\n"
      "the median of a batch. Nothing happens between two requests.\n"
      "bench/database_costs.py starts it.");
  choose_when_asked(*line, bench_line, chosen, [database] { bench::run_batches(*database); });
  return line;
}

}  // namespace foliot::program
