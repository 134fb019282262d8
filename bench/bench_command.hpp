// The command lines of foliot-bench: `foliot bench` itself, its commands, and the options that several of them have,
// each of which looks and reads the same everywhere.
//
// Thread safety: none, one thread.
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"
#include "outputs.hpp"

namespace foliot::program {

/// Adds all to the command line of the program foliot-bench.
void fill_bench(CLI::App& program, command& chosen);

// The commands with options of their own.
CLI::App* add_serve_bench(CLI::App& bench_line, command& chosen);
CLI::App* add_store_bench(CLI::App& bench_line, command& chosen);
CLI::App* add_micro_bench(CLI::App& bench_line, command& chosen);
CLI::App* add_queue_bench(CLI::App& bench_line, command& chosen);
CLI::App* add_batches_bench(CLI::App& bench_line, command& chosen);

/// The values of the options that several commands have.
struct common_arguments {
  std::vector<std::string> only;
  std::vector<std::string> contestants;
  std::string repetitions;
  std::string json;
  std::string report;
  std::string folder = "/var/tmp";
  bool quick = false;
};

/// A list of names, with commas, and those that it takes.
void add_names(CLI::App& line, const char* option, std::vector<std::string>& to, const std::string& what);
void add_repetitions(CLI::App& line, common_arguments& to, int usual);
void add_folder(CLI::App& line, common_arguments& to, const char* what);
/// --json and --report.
void add_files(CLI::App& line, common_arguments& to);
[[nodiscard]] bench::output_names files_in(const common_arguments& all, const CLI::App& line);

/// Does `run` when the user has asked for this command. Then options of `foliot bench` before it are refused.
void choose_when_asked(CLI::App& line, const CLI::App& bench_line, command& chosen, command run);

}  // namespace foliot::program
