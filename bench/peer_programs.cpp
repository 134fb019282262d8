#include "peer_programs.hpp"

#include <chrono>
#include <cstdlib>
#include <ranges>
#include <system_error>

#include <fmt/format.h>
#include <foliot/core/duration.hpp>
#include <unistd.h>

#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

namespace fs = std::filesystem;

constexpr duration patience_with_builds = std::chrono::minutes(10);

/// The value of a variable of the environment; empty if it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

fs::path cache() {
  if (const std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg;
  if (const std::string home = variable("HOME"); home.starts_with('/')) return fs::path(home) / ".cache";
  throw failure("it cannot be built without a folder: set XDG_CACHE_HOME or HOME");
}

bool is_program(const fs::path& file) {
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

}  // namespace

fs::path source_of_peer(std::string_view name) {
  const std::string given = variable("FOLIOT_BENCH_PEERS");
  const fs::path source = fs::path(given.empty() ? FOLIOT_BENCH_PEERS_DIR : given) / name;
  std::error_code ignored;
  if (!fs::is_directory(source, ignored)) throw failure("its source is not here: set FOLIOT_BENCH_PEERS");
  return fs::absolute(source);
}

fs::path build_folder_of_peer(std::string_view name) {
  const fs::path folder = cache() / "foliot" / "bench" / name;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw failure(fmt::format("{}: {}", folder.string(), error.message()));
  return folder;
}

std::string find_tool(std::string_view program, std::string_view further) {
  std::string folders = variable("PATH") + ':';
  folders += further.starts_with("~/") ? variable("HOME") + std::string(further.substr(1)) : std::string(further);
  for (const auto part : std::views::split(folders, ':')) {
    const fs::path file = fs::path(part.begin(), part.end()) / program;
    if (!std::ranges::empty(part) && is_program(file)) return fs::absolute(file).string();
  }
  throw failure(fmt::format("{} is not installed", program));
}

std::string find_go() { return find_tool("go", "/usr/local/go/bin"); }

void build_peer(const child_command& command) {
  const child_outcome outcome = run_child(command, patience_with_builds);
  if (!outcome.wrong.empty()) throw failure("it cannot be built: " + outcome.wrong);
}

}  // namespace foliot::program::bench
