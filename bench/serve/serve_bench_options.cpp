#include "serve_bench_options.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "bench/bench_options.hpp"
#include "text/address_text.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

std::vector<std::string> serve_families() {
  std::vector<std::string> names;
  for (const serve_workload& each : all_serve_workloads({})) {
    if (std::ranges::find(names, each.family) == names.end()) names.push_back(each.family);
  }
  return names;
}

std::vector<std::string> parse_serve_families(const std::vector<std::string>& names) {
  return known_names("--only", "workload", names, serve_families());
}

std::vector<const server_kind*> parse_servers(const std::vector<std::string>& names) {
  std::vector<const server_kind*> found;
  for (const std::string& each : names) {
    const server_kind* const known = find_server_kind(each);
    if (known == nullptr) {
      std::vector<std::string_view> all;
      for (const server_kind& kind : server_kinds) all.push_back(kind.name);
      throw failure(fmt::format("--contestants: there is no server '{}'; there are {}", each, fmt::join(all, ", ")));
    }
    if (std::ranges::find(found, known) == found.end()) found.push_back(known);
  }
  return found;
}

std::string parse_old_program(const std::string& path) {
  if (::access(path.c_str(), X_OK) == 0 && !std::filesystem::is_directory(path)) return path;
  throw failure(fmt::format("--old: '{}' is no program that can be executed", path));
}

runtime::address parse_server_address(const std::string& text) { return find_server("--address", text); }

duration parse_seconds(std::string_view text) {
  double seconds = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool read = error == std::errc() && rest == text.data() + text.size();
  if (!read || !(seconds >= 0.01 && seconds <= 3600)) {
    throw failure(fmt::format("--seconds: '{}' is no number of seconds: name one from 0.01 to 3600", text));
  }
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

std::string parse_tube(const std::string& name) {
  constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+/;.$_()";
  constexpr std::size_t most = 200;
  if (!name.empty() && name.size() <= most && name.front() != '-' &&
      name.find_first_not_of(allowed) == std::string::npos) {
    return name;
  }
  throw failure(
      fmt::format("--tube: '{}' is no name of a tube: write 1 to {} letters, digits and -+/;.$_(), the first "
                  "of them no -",
                  name, most));
}

}  // namespace foliot::program::bench
