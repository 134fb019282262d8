#include "server_state.hpp"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <foliot/core/clock.hpp>
#include <foliot/core/seam/random.hpp>
#include <foliot/version.hpp>

#include "server/core/access.hpp"
#include "server/core/tls_certificates.hpp"

namespace foliot::program::beanstalk {

namespace {

std::chrono::microseconds to_microseconds(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

/// The reply is YAML, in which these two characters would have to be escaped within quotes. No known system has them in
/// such a text.
std::string without_quotes(std::string text) {
  std::erase_if(text, [](char c) { return c == '"' || c == '\\'; });
  return text;
}

tls_statistics of_tls(const tls_figures& seen) {
  const auto now = std::chrono::floor<std::chrono::seconds>(wall_clock::to_sys(wall_clock::instance().now()));
  tls_statistics shown;
  shown.ends = static_cast<std::uint64_t>(std::max<std::int64_t>(0, seen.ends.time_since_epoch().count()));
  shown.left = std::max(std::chrono::seconds(0), seen.ends - now);
  shown.taken = seen.taken;
  shown.is_refused = seen.is_refused;
  shown.failed = seen.failed;
  return shown;
}

}  // namespace

server_state::server_state(program::brokers with, std::size_t max_size, std::size_t most_tubes, held_memory& bounded_by)
    : brokers(std::move(with)),
      memory(bounded_by),
      max_job_size(max_size),
      max_tubes(most_tubes),
      began_(monotonic_clock::instance().now()),
      instance_(random_stream::entropy()) {}

server_statistics server_state::statistics() const {
  server_statistics all;
  for (std::size_t i = 0; i < verbs; ++i) all.commands[i] = commands[i];
  const jobs::broker_counters of_brokers = brokers.counters();
  all.job_timeouts = of_brokers.expired;
  all.total_jobs = total_jobs;
  all.max_job_size = max_job_size;
  all.current_tubes = tubes.size();
  all.current_connections = connections;
  all.current_producers = producers;
  all.current_workers = workers;
  all.current_waiting = of_brokers.waiting;
  all.total_connections = total_connections;
  all.pid = ::getpid();
  all.version = FOLIOT_VERSION;
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  all.user_time = to_microseconds(used.ru_utime);
  all.system_time = to_microseconds(used.ru_stime);
  all.uptime = std::chrono::seconds((monotonic_clock::instance().now() - began_).count() / 1'000'000'000);
  all.draining = draining;
  all.instance = instance_;
  utsname machine{};
  ::uname(&machine);
  all.hostname = without_quotes(machine.nodename);
  all.os = without_quotes(machine.version);
  all.platform = without_quotes(machine.machine);
  all.store_batches = of_brokers.batches;
  all.store_operations = of_brokers.operations;
  all.store_refused_batches = of_brokers.unavailable;
  all.store_refused_operations = of_brokers.refused;
  all.store_unavailable = of_brokers.is_unavailable;
  all.buffered_bytes = memory.bytes();
  all.buffered_waiting = memory.waiting();
  all.buffered_closed = memory.closed();
  if (door != nullptr) {
    const access_refusals refused = door->refusals();
    all.refused_connections = refused.by_all;
    all.refused_of_address = refused.by_address;
    all.refused_of_token = refused.by_token;
  }
  all.slow_clients = slow_clients;
  if (certificates != nullptr) all.tls = of_tls(certificates->figures());
  return all;
}

}  // namespace foliot::program::beanstalk
