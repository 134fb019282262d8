#include "replay.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "file_identity.hpp"
#include "input_file.hpp"
#include "output_file.hpp"
#include "session_tracker.hpp"
#include "text/failure.hpp"

namespace foliot::program {

namespace {

/// Something that is written: the option that names it, and where it goes.
struct output {
  std::string name;
  file_identity file;
};

/// All outputs of a run: the files that were asked for, and the summary for people.
std::vector<output> outputs_of(const replay_options& options) {
  std::vector<output> all;
  if (options.sessions) all.push_back({"--sessions", file_identity::of_output(*options.sessions)});
  if (options.json) all.push_back({"--json", file_identity::of_output(*options.json)});
  if (!options.standard_output_taken()) all.push_back({"standard output", file_identity::of_output("-")});
  return all;
}

/// No output may take the place of another one, or of a log.
void check_outputs(const replay_options& options) {
  const std::vector<output> outputs = outputs_of(options);
  for (auto one = outputs.begin(); one != outputs.end(); ++one) {
    for (auto other = one + 1; other != outputs.end(); ++other) {
      if (same_file(one->file, other->file)) {
        throw failure(fmt::format("{} and {} go to the same file: name two", one->name, other->name));
      }
    }
  }
  for (const std::string& log : options.logs) {
    const file_identity input = file_identity::of_input(log);
    for (const auto& [name, file] : outputs) {
      if (same_file(input, file)) {
        throw failure(fmt::format("{} goes to '{}', which is a log to be read: name another file to write", name,
                                  log == "-" ? "standard input" : log));
      }
    }
  }
}

/// A message of the library without its name, which the program puts before every failure.
std::string_view without_prefix(std::string_view message) {
  constexpr std::string_view prefix = "foliot: ";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

}  // namespace

bool replay_options::standard_output_taken() const noexcept {
  return (sessions && output_file::is_standard_output(*sessions)) || (json && output_file::is_standard_output(*json));
}

void check(const replay_options& options) {
  if (options.idle > longest_idle) {
    throw failure(
        fmt::format("--idle {} is too long: it may be at most {}", to_string(options.idle), to_string(longest_idle)));
  }
  const auto engines = session_engines();
  if (options.engine != all_engines && std::ranges::find(engines, options.engine) == engines.end()) {
    throw failure(fmt::format("there is no engine '{}'; there are {}, and {} for each of them", options.engine,
                              fmt::join(engines, ", "), all_engines));
  }
  if (options.wheel && options.engine == all_engines) {
    throw failure("--tick and --wheel-size are for one engine: hashed-wheel or hierarchical-wheel, not all");
  }
  if (options.wheel) {
    try {
      static_cast<void>(session_lateness(options.engine, options.idle, options.wheel));
    } catch (const std::invalid_argument& error) {
      throw failure(fmt::format("--tick and --wheel-size: {}", without_prefix(error.what())));
    }
  }
  if (std::ranges::count(options.logs, "-") > 1) {
    throw failure("standard input can be read only once: name '-' once");
  }
  for (const std::string& log : options.logs) input_file::check(log);
  check_outputs(options);
}

std::uint64_t bytes_to_read(const replay_options& options) {
  std::uint64_t sum = 0;
  for (const std::string& log : options.logs) {
    const auto size = input_file::size(log);
    if (!size) return 0;
    sum += *size;
  }
  return sum;
}

}  // namespace foliot::program
