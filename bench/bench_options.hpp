// The options of `foliot bench`, and its run.
//
// Thread safety: none, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark.hpp"
#include "outputs.hpp"

namespace foliot::program::bench {

inline constexpr std::size_t most_timers = 100'000'000;
inline constexpr int most_threads = 4;
inline constexpr int most_repetitions = 1000;

struct bench_options {
  std::vector<workload> only{usual_workloads.begin(), usual_workloads.end()};
  std::vector<std::string> contestants{};  ///< by name; all if empty
  bool names_workloads = false;            ///< the user has chosen the workloads, by name or by a sub-command
  bool names_contestants = false;          ///< the user has named the contestants
  bool with_generations = false;           ///< begins with the story of the generations (generations.hpp)
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

/// These names. Throws failure for one that is not known: "--only: there is no workload 'a'; there are b, c".
[[nodiscard]] std::vector<std::string> known_names(std::string_view option, std::string_view kind,
                                                   const std::vector<std::string>& names,
                                                   const std::vector<std::string>& known);

/// Few timers and two short repetitions, unless the command line gives these numbers.
void make_quick(bench_options& options, bool timers_given, bool repetitions_given);

/// Measures, and writes the figures: as text to standard output unless one of the files goes there, and as JSON and as
/// a page to the files that the options name. Shows progress on a terminal. Throws failure.
void run_bench(const bench_options& options);

}  // namespace foliot::program::bench
