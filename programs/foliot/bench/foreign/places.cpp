#include "places.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "../../failure.hpp"

namespace foliot::program::bench {

namespace {

/// The variable's value; empty if it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::filesystem::path cache() {
  if (const std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg;
  if (const std::string home = variable("HOME"); home.starts_with('/')) return std::filesystem::path(home) / ".cache";
  throw failure("there is no place to build it in: neither XDG_CACHE_HOME nor HOME is set");
}

bool is_program(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
}

std::vector<std::filesystem::path> folders_in_path() {
  std::vector<std::filesystem::path> folders;
  const std::string path = variable("PATH");
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    if (end > begin) folders.emplace_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

}  // namespace

std::filesystem::path peer_source(std::string_view name) {
  const std::string given = variable("FOLIOT_BENCH_PEERS");
  const std::filesystem::path source = std::filesystem::path(given.empty() ? FOLIOT_BENCH_PEERS_DIR : given) / name;
  std::error_code ignored;
  if (!std::filesystem::is_directory(source, ignored)) throw failure("its source is not here: set FOLIOT_BENCH_PEERS");
  return std::filesystem::absolute(source);
}

std::filesystem::path peer_build_folder(std::string_view name) {
  const std::filesystem::path folder = cache() / "foliot" / "bench" / name;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw failure(fmt::format("{}: {}", folder.string(), error.message()));
  return folder;
}

std::filesystem::path toolchain(std::string_view program, std::initializer_list<std::string_view> folders) {
  std::vector<std::filesystem::path> places = folders_in_path();
  for (const std::string_view each : folders) {
    const bool at_home = each.starts_with("~/");
    places.push_back(at_home ? std::filesystem::path(variable("HOME")) / each.substr(2) : std::filesystem::path(each));
  }
  for (const std::filesystem::path& each : places) {
    if (is_program(each / program)) return std::filesystem::absolute(each / program);
  }
  throw failure(fmt::format("{} is not installed", program));
}

}  // namespace foliot::program::bench
