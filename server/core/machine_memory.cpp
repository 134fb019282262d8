#include "machine_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace foliot::program {

namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t least_buffered = std::uint64_t{16} << 20;
constexpr std::uint64_t most_buffered = std::uint64_t{4} << 30;

std::uint64_t of_machine() noexcept {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return no_limit;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
}

std::uint64_t of_resource(decltype(RLIMIT_AS) which) noexcept {
  rlimit now{};
  if (::getrlimit(which, &now) != 0 || now.rlim_cur == RLIM_INFINITY) return no_limit;
  return now.rlim_cur;
}

// Names are strings: where memory lacks, operator/ of libstdc++ 12's std::filesystem::path can free its parts twice.

/// The number in this file; no limit if it has another word, or is not there.
std::uint64_t number_in(const std::string& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  return in >> number ? number : no_limit;
}

/// The least number in files of this name, in `top` and in each folder from it down to `folder`, a name below it.
std::uint64_t least_upwards(const std::string& top, std::string folder, const std::string& file) {
  std::uint64_t least = number_in(top + "/" + file);
  while (!folder.empty()) {
    least = std::min(least, number_in(top + "/" + folder + "/" + file));
    const std::size_t end = folder.rfind('/');
    folder.resize(end == std::string::npos ? 0 : end);
  }
  return least;
}

std::uint64_t of_control_groups(const std::string& root) {
  std::uint64_t least = no_limit;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:/path
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::size_t begin = line.find_first_not_of('/', second + 1);
    const std::string path = begin == std::string::npos ? std::string() : line.substr(begin);
    const std::string top = root + "/sys/fs/cgroup";
    if (controllers.empty()) least = std::min(least, least_upwards(top, path, "memory.max"));
    if (controllers == "memory") least = std::min(least, least_upwards(top + "/memory", path, "memory.limit_in_bytes"));
  }
  return least;
}

}  // namespace

std::uint64_t usable_memory(const std::string& root) {
  return std::min({of_machine(), of_control_groups(root), of_resource(RLIMIT_AS), of_resource(RLIMIT_DATA)});
}

std::uint64_t default_max_buffered(std::uint64_t usable) noexcept {
  return std::clamp(usable / 8, least_buffered, most_buffered);
}

}  // namespace foliot::program
