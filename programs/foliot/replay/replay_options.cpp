#include "replay_options.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "../duration_text.hpp"
#include "../failure.hpp"
#include "../output_file.hpp"
#include "input_file.hpp"
#include "session_tracker.hpp"

namespace foliot::program {

namespace {

/// Whether the two names lead to one file, or would if it existed.
bool same_file(const std::string& a, const std::string& b) {
  if (output_file::is_standard_output(a) && output_file::is_standard_output(b)) return true;
  std::error_code ignored;
  if (std::filesystem::equivalent(a, b, ignored)) return true;
  const auto normal = [&ignored](const std::string& name) {
    return std::filesystem::absolute(name, ignored).lexically_normal();
  };
  return normal(a) == normal(b);
}

}  // namespace

bool replay_options::standard_output_taken() const noexcept {
  return (sessions && output_file::is_standard_output(*sessions)) || (json && output_file::is_standard_output(*json));
}

void check(const replay_options& options) {
  if (options.idle > longest_idle) {
    throw failure(fmt::format("--idle {} is too long: it may be at most {}", duration_text(options.idle),
                              duration_text(longest_idle)));
  }
  const auto engines = session_tracker::engines();
  if (options.engine != all_engines && std::ranges::find(engines, options.engine) == engines.end()) {
    throw failure(fmt::format("there is no engine '{}'; there is: {}, and {} for each of them", options.engine,
                              fmt::join(engines, " "), all_engines));
  }
  if (std::ranges::count(options.logs, "-") > 1) {
    throw failure("standard input can be read only once: name '-' once");
  }
  if (options.sessions && options.json && same_file(*options.sessions, *options.json)) {
    throw failure("--sessions and --json go to the same place: name two");
  }
  for (const std::string& log : options.logs) {
    input_file::check(log);
    for (const auto& output : {options.sessions, options.json}) {
      if (output && log != "-" && same_file(log, *output)) {
        throw failure(fmt::format("'{}' is a log to be read: name another file to write", *output));
      }
    }
  }
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
