#include "open_files.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "text/failure.hpp"

namespace foliot::program {

namespace {

/// Descriptors beyond those of the connections: the store's files, the listeners, the runtime.
constexpr rlim_t other_descriptors = 1200;
/// How many descriptors all connections must leave for the store.
constexpr std::size_t spare_descriptors = 16;

/// How many descriptors the process has open. 0 if the system does not show them; the greatest number if none is left
/// for opening the list.
std::size_t open_descriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator all("/proc/self/fd", error);
  if (error == std::errc::too_many_files_open) return std::numeric_limits<std::size_t>::max();
  const auto count = static_cast<std::size_t>(std::distance(begin(all), end(all)));
  return count == 0 ? 0 : count - 1;  // without that of the folder itself
}

}  // namespace

std::size_t allow_open_files(std::size_t connections, std::size_t others, const server_log& log) {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0) return connections;
  const rlim_t besides = others + other_descriptors;
  const rlim_t wanted = connections + besides;
  if (now.rlim_cur >= wanted) return connections;
  const rlimit more{std::min(wanted, now.rlim_max), now.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &more) == 0) now = more;
  if (now.rlim_cur >= wanted) return connections;
  const rlim_t left = now.rlim_cur > besides ? now.rlim_cur - besides : now.rlim_cur / 2;
  log.warning(
      fmt::format("the system allows {} open files, too few for {} connections: accept {}; raise its limit "
                  "(ulimit -n, LimitNOFILE) or lower --max-connections",
                  now.rlim_cur, connections, left));
  return left;
}

std::size_t connections_that_fit(std::size_t connections, std::size_t others, const server_log& log) {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) != 0) return connections;
  if (now.rlim_cur >= connections + others + other_descriptors) return connections;
  const std::size_t besides = others + spare_descriptors;
  const std::size_t wanted = connections + besides;
  const std::size_t available = now.rlim_cur - std::min<rlim_t>(now.rlim_cur, open_descriptors());
  if (available <= besides) {
    const std::string places = others == 0 ? "" : fmt::format(" beside the {} places of --metrics", others);
    throw failure(
        fmt::format("the system allows {} open files, too few to serve clients{}: raise its limit (ulimit -n, "
                    "LimitNOFILE){}",
                    now.rlim_cur, places, others == 0 ? "" : " or leave out --metrics"));
  }
  if (available >= wanted) return connections;
  const std::size_t left = available - besides;
  log.warning(fmt::format("of the {} open files that the system allows, {} are left: accept {} connections",
                          now.rlim_cur, available, left));
  return left;
}

}  // namespace foliot::program
