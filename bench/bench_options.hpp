// The options of `foliot bench` and its commands, and their runs. Of the timers' options also what will not be
// measured, with the reasons.
//
// Thread safety: none, one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/duration.hpp>
#include <foliot/runtime/net/address.hpp>

#include "benchmark.hpp"
#include "record.hpp"
#include "roster.hpp"
#include "serve/serve_workload.hpp"
#include "serve/server_kind.hpp"

namespace foliot::program::bench {

inline constexpr std::size_t most_timers = 100'000'000;
inline constexpr int most_threads = 256;  // as many processors as a runtime may have
inline constexpr int most_repetitions = 1000;

struct bench_options {
  std::vector<workload> only{usual_workloads.begin(), usual_workloads.end()};
  std::vector<std::string> contestants{};  ///< by name; all if empty
  bool names_workloads = false;            ///< the user has chosen the workloads, by name or by a sub-command
  bool names_contestants = false;          ///< the user has named the contestants
  bool with_generations = false;           ///< begins with the story of the generations (benchmark.hpp)
  std::vector<std::size_t> timers{1'000, 10'000, 100'000, 1'000'000};
  std::vector<int> threads{1, 2};  ///< of W5, and processors of Go's benchmarks
  int repetitions = 5;
  std::uint64_t seed = 1;
  bool quick = false;
  output_names files{};
};

/// Sets the options of `foliot bench go` and `foliot bench generations`, before those of the command line.
void choose_go(bench_options& options);
void choose_generations(bench_options& options);

/// The workloads of these names, in the order in which they are measured. Throws failure.
[[nodiscard]] std::vector<workload> parse_workloads(const std::vector<std::string>& names);
/// Numbers of timers, 1000 or 1e6, sorted and each once. Throws failure.
[[nodiscard]] std::vector<std::size_t> parse_timers(const std::vector<std::string>& numbers);
/// Numbers of threads, sorted and each once. Throws failure.
[[nodiscard]] std::vector<int> parse_threads(const std::vector<std::string>& numbers);
/// 1 to most_repetitions, in decimal: 010 is ten. Throws failure.
[[nodiscard]] int parse_repetitions(std::string_view number);
/// Seconds, 0.01 to 3600. Throws failure.
[[nodiscard]] duration parse_seconds(std::string_view text);

/// These names. Throws failure for one that is not known: "--only: there is no workload 'a'; there are b, c".
[[nodiscard]] std::vector<std::string> known_names(std::string_view option, std::string_view kind,
                                                   const std::vector<std::string>& names,
                                                   const std::vector<std::string>& known);

// ---------------------------------------------------------------- what will not be measured

struct gaps {
  /// Contestants that were asked for by name, and take part in no workload that is measured.
  std::vector<absence> contestants{};
  /// Workloads in which none of the chosen contestants takes part, and those that need more threads than were chosen.
  std::vector<omission> workloads{};
  /// All contestants that take part in one of the workloads in which no chosen one does.
  std::vector<std::string> others{};
};

/// `chosen` are the contestants that take part. Throws failure, with what to name instead, if nothing is left to
/// measure.
[[nodiscard]] gaps gaps_in(const bench_options& options, const roster& chosen);

/// A line for each contestant, and one for all workloads with the same reason.
[[nodiscard]] std::vector<std::string> messages_about(const gaps& missing);

/// "W1, W2, StaggeredTickerLatency": families by their names, and many of Go's by their number.
[[nodiscard]] std::string listed(const std::vector<workload>& all);

/// A reason, and the workloads that are not measured for it.
struct shared_reason {
  std::string reason{};
  std::vector<workload> workloads{};
};
/// Each reason once.
[[nodiscard]] std::vector<shared_reason> by_reason(const std::vector<omission>& all);

/// Measures, and writes the figures: as text to standard output unless one of the files goes there, and as JSON and as
/// a page to the files that the options name. Shows progress on a terminal. Throws failure.
void run_bench(const bench_options& options);

// ---------------------------------------------------------------- foliot bench serve

struct serve_bench_options {
  std::vector<std::string> only{};                ///< families of workloads, in any order; all if empty
  std::vector<const server_kind*> contestants{};  ///< all that are installed if empty
  std::optional<runtime::address> address{};      ///< of a server that the user has started, which is then measured
  std::string tube = "foliot-bench";              ///< for a server at `address`: one that nothing else uses
  std::string folder = "/var/tmp";                ///< in which the data of the servers are, while they are measured
  std::string old_program{};                      ///< that of the contestant foliot-old; empty: it does not take part
  transport way = transport::tcp;
  serve_scale scale{.length = std::chrono::seconds(1)};
  int repetitions = 3;
  std::uint64_t seed = 1;
  output_names files{};
};

/// The names of the families, each once, in the order of the report.
[[nodiscard]] std::vector<std::string> serve_families();

/// The path of a program that can be executed. Throws failure.
[[nodiscard]] std::string parse_old_program(const std::string& path);
/// The names of the servers that can be started.
[[nodiscard]] std::vector<std::string_view> server_names();
/// The servers of these names, each once. Throws failure.
[[nodiscard]] std::vector<const server_kind*> parse_servers(const std::vector<std::string>& names);
/// Throws failure unless the protocol allows this name of a tube.
[[nodiscard]] std::string parse_tube(const std::string& name);

/// Measures, and writes the figures. Shows progress on a terminal. Throws failure; `interrupted` if the user ends it,
/// after all servers have ended and all files are removed.
void run_serve_bench(const serve_bench_options& options);

// ---------------------------------------------------------------- foliot bench store

struct store_bench_options {
  std::string folder = "/var/tmp";  ///< in which the store is, while it is measured
  std::size_t jobs = 1'000'000;     ///< that are delayed
  std::vector<std::string> only{};  ///< batches, flood, delayed; all if empty
  bool quick = false;               ///< tiny counts, to see that it works
  output_names files{};
};

[[nodiscard]] const std::vector<std::string>& store_families();

/// What the embedded store costs without a server. It decides about the store's options and its windows; see
/// docs/decisions/0012-the-embedded-store.md. Measures synced batches of puts, cycles of put, claim and finish, jobs
/// that become ready at one instant, and delayed jobs: their puts, the opening of the store, their drain. Writes the
/// figures. Throws failure, also if the program was built without RocksDB.
void run_store_bench(const store_bench_options& options);

// ---------------------------------------------------------------- foliot bench micro

struct micro_options {
  std::vector<std::string> only{};  ///< FAMILY, FAMILY/LINE or FAMILY/LINE/COLUMN; all if empty
  int repetitions = 3;
  duration length = std::chrono::milliseconds(500);  ///< the least that a repetition measures
  output_names files{};
};

/// The names of the families; none if the program was built without them.
[[nodiscard]] const std::vector<std::string>& micro_families();

/// Measures, and writes the figures. Throws failure, also if the program was built without them, and for names in
/// `only` that there are not.
void run_micro(const micro_options& options);

}  // namespace foliot::program::bench
