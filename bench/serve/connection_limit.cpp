#include "connection_limit.hpp"

#include <algorithm>
#include <fstream>

#include <sys/resource.h>

namespace foliot::program::bench {

namespace {

/// What the server opens besides, and what it keeps free.
constexpr std::size_t other_descriptors = 1500;
/// Ports that others have, or had a moment ago.
constexpr std::size_t other_ports = 1000;

/// How many ports the system gives to clients.
std::size_t client_ports() {
  std::ifstream range("/proc/sys/net/ipv4/ip_local_port_range");
  std::size_t first = 32'768;
  std::size_t last = 60'999;
  range >> first >> last;
  return last < first ? 0 : last - first + 1;
}

}  // namespace

std::size_t connections_to_server(std::size_t wanted, transport way) {
  rlimit now{};
  if (::getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur < now.rlim_max) {
    const rlimit all{now.rlim_max, now.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &all) == 0) now = all;
  }
  const auto descriptors = static_cast<std::size_t>(now.rlim_cur);
  std::size_t most = descriptors - std::min(descriptors, other_descriptors);
  if (way == transport::tcp) most = std::min(most, client_ports() - std::min(client_ports(), other_ports));
  return std::min(wanted, std::max<std::size_t>(most, 1));
}

}  // namespace foliot::program::bench
