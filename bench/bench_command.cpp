// The program `foliot-bench`, which users start as `foliot bench`: its command lines. An option that several commands
// have looks and reads the same everywhere.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench_options.hpp"
#include "command_line.hpp"
#include "number_option.hpp"
#include "queues/queue_load.hpp"
#include "roster.hpp"
#include "text/address_text.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

constexpr std::uint64_t most = 1'000'000'000;  // jobs, and the like

// ---------------------------------------------------------------- options

/// Adds an option: `read` turns its text into the value of `to`, and throws failure if the text is wrong.
template <class Text = std::string, class Value, class Read>
CLI::Option* add_read(CLI::App& line, const char* name, const char* type, Value& to, Read read,
                      const std::string& what) {
  return line.add_option_function<Text>(
                 name, [&to, read](const Text& text) { to = read(text); }, what)
      ->type_name(type);
}
/// A list of words, with commas.
template <class Value, class Read>
void add_list(CLI::App& line, const char* name, Value& to, Read read, const std::string& what) {
  add_read<std::vector<std::string>>(line, name, "NAMES", to, read, what)->delimiter(',');
}
/// A list of workloads that `names` has.
template <class Names>
void add_workloads(CLI::App& line, std::vector<std::string>& to, Names names, const std::string& what) {
  const auto read = [names](const auto& all) { return bench::known_names("--only", "workload", all, names()); };
  add_list(line, "--only", to, read, what);
}
template <class Number>
CLI::Option* add_whole(CLI::App& line, const char* name, Number& to, std::uint64_t least, const char* what,
                       std::uint64_t at_most = most) {
  return line.add_option(name, to, what)->type_name("NUMBER")->transform(whole_number(least, at_most));
}
void add_repetitions(CLI::App& line, int& to) {
  add_read(line, "--repetitions", "NUMBER", to, bench::parse_repetitions,
           "How often each figure is measured; the median is shown")
      ->default_str(std::to_string(to));
}
void add_seconds(CLI::App& line, duration& to, const char* what) {
  add_read(line, "--seconds", "NUMBER", to, bench::parse_seconds, what)
      ->default_str(fmt::format("{:g}", static_cast<double>(to.count()) * 1e-9));
}
void add_folder(CLI::App& line, std::string& to, const char* what) {
  line.add_option("--folder", to, what)->type_name("DIR")->capture_default_str();
}
void add_files(CLI::App& line, bench::output_names& to) {
  line.add_option("--json", to.json, "Write the figures to FILE, as JSON; - is standard output")->type_name("FILE");
  line.add_option("--report", to.report, "Write a page with charts to FILE, as HTML; - is standard output")
      ->type_name("FILE");
}

bool given(const CLI::App& line, const char* option) { return line.count(option) > 0; }

/// Does `run` when the user has asked for this command. Then options of `foliot bench` before it are refused.
CLI::App* choose_when_asked(CLI::App& line, const CLI::App& bench_line, command& chosen, command run) {
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
  return &line;
}

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
std::string joined(const auto& names) { return fmt::format("{}", fmt::join(names, ", ")); }

// ---------------------------------------------------------------- serve

/// Throws failure if the options given contradict each other.
void check_serve(const CLI::App& line, const bench::serve_bench_options& all) {
  for (const char* const own : {"--contestants", "--folder", "--unix", "--old"}) {
    if (all.address && given(line, own)) {
      throw failure(fmt::format("{} is for servers that the benchmark starts: leave it out with --address", own));
    }
  }
  if (given(line, "--tube") && !all.address) {
    throw failure("--tube is for the server of --address, which is missing");
  }
  const bool measures_lists = all.only.empty() || std::ranges::find(all.only, "lists") != all.only.end();
  for (const char* const own : {"--tubes", "--jobs"}) {
    if (given(line, own) && !measures_lists) {
      throw failure(fmt::format("{} is for the workload lists, which --only leaves out", own));
    }
  }
}

CLI::App* add_serve_bench(CLI::App& bench_line, command& chosen) {
  const auto all = std::make_shared<bench::serve_bench_options>();
  CLI::App& line = *bench_line.add_subcommand(
      "serve", "Measure foliot serve beside beanstalkd and NATS, or any server of the beanstalk protocol");
  add_workloads(line, all->only, bench::serve_families, "Only these workloads:\n" + joined(bench::serve_families()));
  add_list(line, "--contestants", all->contestants, bench::parse_servers,
           "Only these servers:\n" + joined(bench::server_names()));
  add_read(line, "--old", "PATH", all->old_program, bench::parse_old_program,
           "The program of another version, which takes part as\nfoliot-old: what is as quick as before?");
  add_read(
      line, "--address", "ADDRESS", all->address,
      [](const std::string& text) { return find_server("--address", text); },
      "Measure the server that runs there instead, such as\nlocalhost:11300 or unix:PATH");
  add_read(line, "--tube", "NAME", all->tube, bench::parse_tube,
           "With --address: a tube that nothing else uses; no job is\nleft in it")
      ->default_str(all->tube);
  add_folder(line, all->folder, "Where the servers keep their data meanwhile: a folder on\na disk");
  line.add_flag_callback(
      "--unix", [all] { all->way = bench::transport::local; }, "Connect through unix sockets instead of TCP");
  add_seconds(line, all->scale.length, "How long a rate is measured");
  add_repetitions(line, all->repetitions);
  line.add_flag("--quick", all->scale.quick,
                "Few connections for a short time, to see that it works:\nthe figures mean little");
  line.add_flag("--full", all->scale.full, "Also the counts that take long, such as ten million jobs");
  add_whole(line, "--tubes", all->scale.tubes, 3, "Of the workload lists: how many tubes are stored", 1'000'000);
  add_whole(line, "--jobs", all->scale.jobs, 1,
            "Of the workload lists: how many jobs are stored, at least\ntwo for each tube");
  add_files(line, all->files);
  line.footer(
      "Each measurement starts a fresh server, in turns, so that what happens to the\n"
      "machine meanwhile happens to all: compare the lines of one run. It takes some\n"
      "minutes; --only and --contestants make it shorter. The clients are one thread of\n"
      "this program, on the same machine. docs/serve/bench.md has more.");
  return choose_when_asked(line, bench_line, chosen, [all, &line] {
    check_serve(line, *all);
    if (all->scale.quick && !given(line, "--seconds")) all->scale.length = std::chrono::milliseconds(20);
    if (all->scale.quick && !given(line, "--repetitions")) all->repetitions = 2;
    bench::run_serve_bench(*all);
  });
}

// ---------------------------------------------------------------- store

CLI::App* add_store_bench(CLI::App& bench_line, command& chosen) {
  const auto all = std::make_shared<bench::store_bench_options>();
  CLI::App& line = *bench_line.add_subcommand("store", "Measure the embedded store, without a server");
  add_workloads(line, all->only, bench::store_families, "Only these workloads:\n" + joined(bench::store_families()));
  add_whole(line, "--jobs", all->jobs, 1, "How many delayed jobs are stored")->capture_default_str();
  add_folder(line, all->folder, "Where the store is meanwhile: a folder on a disk");
  line.add_flag("--quick", all->quick, "Few jobs, to see that it works: the figures mean little");
  add_files(line, all->files);
  line.footer(
      "A batch after another is executed in one thread, and each is synced: the disk\n"
      "counts. It takes some minutes; --only and --jobs make it shorter. docs/bench.md\n"
      "has more.");
  return choose_when_asked(line, bench_line, chosen, [all, &line] {
    if (all->quick && !given(line, "--jobs")) all->jobs = 2'000;
    bench::run_store_bench(*all);
  });
}

// ---------------------------------------------------------------- micro

CLI::App* add_micro_bench(CLI::App& bench_line, command& chosen) {
  const auto all = std::make_shared<bench::micro_options>();
  CLI::App& line =
      *bench_line.add_subcommand("micro", "Measure single operations: locks, channels, the parsers of JSON, replays");
  line.add_option("--only", all->only,
                  "Only these workloads, or lines of them, such as\nchannels/lock_and_unlock:\n" +
                      joined(bench::micro_families()))
      ->type_name("NAMES")
      ->delimiter(',');
  add_seconds(line, all->length, "How long a figure is measured at least");
  add_repetitions(line, all->repetitions);
  add_files(line, all->files);
  line.footer(
      "Each operation is measured in a loop of Google Benchmark, the repetitions in\n"
      "shuffled order: compare the lines of one run. It takes some minutes; --only and\n"
      "--seconds make it shorter. docs/bench.md has more.");
  return choose_when_asked(line, bench_line, chosen, [all] { bench::run_micro(*all); });
}

// ---------------------------------------------------------------- queue, batches

CLI::App* add_queue_bench(CLI::App& bench_line, command& chosen) {
  const auto all = std::make_shared<bench::queue_load>();
  CLI::App& line = *bench_line.add_subcommand("queue", "Put a load on nodes over PostgreSQL, or on their library");
  const auto add_count = [&line](const char* name, auto& to, const char* what, std::uint64_t least = 1) {
    add_whole(line, name, to, least, what)->capture_default_str();
  };
  const auto add_number = [&line](const char* name, double& to, const char* what) {
    line.add_option(name, to, what)
        ->type_name("NUMBER")
        ->check(CLI::Range(0.0, 1e9).description(""))
        ->capture_default_str();
  };
  line.add_option("--nodes", all->nodes, "Where nodes listen for the beanstalk protocol: ports, or\nunix:PATH")
      ->type_name("ADDRESSES")
      ->delimiter(',');
  line.add_option("--library", all->library, "The database of workers in this process")->type_name("DATABASE");
  add_whole(line, "--sessions", all->sessions, 1, "Of --library: sessions with the database", 1000)
      ->capture_default_str();
  add_read(line, "--workload", "NAME", all->shape, bench::parse_queue_shape,
           "backlog, flow, lateness, far, steady or keys")
      ->default_str("backlog");
  add_count("--jobs", all->jobs, "Of backlog and far; of flow: the most that are unfinished");
  add_count("--rate", all->rate, "Of lateness and steady: jobs in a second");
  add_number("--seconds", all->seconds, "Of flow, lateness, steady and keys");
  add_number("--warm-up", all->warm_up, "Of steady: seconds before what is measured");
  add_number("--every", all->every, "Of backlog and steady: seconds between two lines");
  add_count("--workers", all->workers, "How many jobs are under way at once");
  line.add_flag("--both", all->asks_for_both, "A worker sends its delete and the next reserve at once");
  add_number("--delayed", all->delayed, "Of steady: the share of jobs that are due later");
  add_count("--delay", all->delay, "Of steady: by how many seconds", 0);
  add_count("--keys", all->keys, "Of keys: how many there are");
  add_count("--idle", all->idle, "Of keys: connections beside those of the workers", 0);
  line.footer("The scripts in bench/ start it, and speak with it line by line: docs/serve/peers.md.");
  return choose_when_asked(line, bench_line, chosen, [all] { bench::run_queue_load(*all); });
}

CLI::App* add_batches_bench(CLI::App& bench_line, command& chosen) {
  const auto database = std::make_shared<std::string>();
  CLI::App& line = *bench_line.add_subcommand("batches", "Execute batches in PostgreSQL, as standard input asks");
  line.add_option("DATABASE", *database, "Where the jobs are")->required();
  line.footer(
      "A request is a line KIND JOBS BODY COUNT: so many batches with so many jobs and\n"
      "bytes of each body. KIND is empty, put, delay (a put that is due in an hour),\n"
      "claim, finish, cycle (finishes, puts and a claim) or tell (the news of a ready\n"
      "job). The answer: jobs that are held then, seconds, seconds of the processor, and\n"
      "the median of a batch. Nothing happens between two requests.\n"
      "bench/database_costs.py starts it.");
  return choose_when_asked(line, bench_line, chosen, [database] { bench::run_batches(*database); });
}

// ---------------------------------------------------------------- timers

/// The arguments of a benchmark of timers. Those that the user has given replace the usual values of the command.
struct timer_arguments {
  std::vector<bench::workload> only{};
  std::vector<std::size_t> timers{};
  std::vector<int> threads{};
  bench::bench_options options{};
};

void run_timers(const timer_arguments& all, const CLI::App& line) {
  bench::bench_options options = all.options;
  if (line.got_subcommand("go")) bench::choose_go(options);
  if (line.got_subcommand("generations")) bench::choose_generations(options);
  if (given(line, "--only")) options.only = all.only;
  if (given(line, "--contestants")) options.contestants = all.options.contestants;
  options.names_workloads = options.names_workloads || given(line, "--only");
  options.names_contestants = given(line, "--contestants");
  if (given(line, "--threads")) options.threads = all.threads;
  if (options.quick && !given(line, "--repetitions")) options.repetitions = 2;
  if (options.quick) options.timers = {100, 1'000};
  if (given(line, "--n")) options.timers = all.timers;
  bench::run_bench(options);
}

void fill_bench(CLI::App& line, command& chosen) {
  const auto all = std::make_shared<timer_arguments>();
  add_list(line, "--only", all->only, bench::parse_workloads, "Only these workloads: " + listed(bench::family_names()));
  line.add_option("--contestants", all->options.contestants, "Only these: " + listed(bench::all_contestants().names()))
      ->type_name("NAMES")
      ->delimiter(',');
  const auto add_numbers = [&line](const char* name, auto& to, auto read, const char* what) {
    add_read<std::vector<std::string>>(line, name, "NUMBERS", to, read, what)->delimiter(',');
  };
  add_numbers("--n", all->timers, bench::parse_timers,
              "Numbers of pending timers, up to 1e8; default\n1e3,1e4,1e5,1e6, for the generations 1e5");
  add_numbers("--threads", all->threads, bench::parse_threads,
              "Numbers of threads in W5, and of processors in Go's\nbenchmarks, 1 to 256; default 1,2, for the "
              "generations 1,2,3,4");
  add_repetitions(line, all->options.repetitions);
  line.add_flag("--quick", all->options.quick,
                "Few timers for a short time, to see that it works:\nthe figures mean little");
  add_files(line, all->options.files);
  line.footer(
      "Everything is measured in one run, in shuffled order: compare the lines of one\n"
      "run, and not those of two. It takes forty minutes; --only, --contestants and\n"
      "--n make it shorter. docs/bench.md describes the workloads.");
  // These have the options of bench.
  const auto add = [&line](const char* name, const char* what) {
    line.add_subcommand(name, what)->fallthrough()->footer("Its options are those of foliot bench.");
  };
  add("go", "Go's own benchmarks of its timers, foliot's runtime beside Go's; docs/bench.md");
  add("generations", "Timers from Go's one heap to foliot's, on threads that contend: a table and a chart");
  std::vector<const CLI::App*> with_own_options;
  for (const auto add_command :
       {add_serve_bench, add_store_bench, add_micro_bench, add_queue_bench, add_batches_bench}) {
    with_own_options.push_back(add_command(line, chosen));
  }
  line.require_subcommand(0, 1);
  line.callback([all, &line, with_own_options, &chosen] {
    const auto is_asked = [&line](const CLI::App* each) { return line.got_subcommand(each); };
    if (std::ranges::any_of(with_own_options, is_asked)) return;  // it has set `chosen`
    chosen = [all, &line] { run_timers(*all, line); };
  });
}

}  // namespace

}  // namespace foliot::program

int main(int argc, char** argv) {
  using namespace foliot::program;
  return run_program({.name = "foliot bench", .purpose = purpose_of_bench, .fill = fill_bench}, argc, argv);
}
