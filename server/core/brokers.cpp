#include "brokers.hpp"

#include <algorithm>
#include <compare>
#include <cstddef>

#include "server/access/server_tubes.hpp"

namespace foliot::program {

namespace {

/// The counters of a broker without the clients by which the server itself waits for the records of schedules.
jobs::broker_counters counters_of(const jobs::broker& one) noexcept {
  jobs::broker_counters all = one.counters();
  const jobs::tube_clients own = one.clients_of(tube_of_schedules);
  all.clients -= std::min(all.clients, own.watchers);
  all.waiting -= std::min(all.waiting, own.waiting);
  all.tubes -= std::min<std::size_t>(all.tubes, own.watchers > 0 ? 1 : 0);
  return all;
}

}  // namespace

jobs::broker& brokers::for_next_connection() const noexcept {
  if (all_.size() == 1) return *all_.front();
  // The broker with the least rank gets the connection.
  struct rank {
    bool is_unavailable = false;
    bool is_crowded = false;
    std::size_t clients = 0;
    auto operator<=>(const rank&) const = default;
  };
  const auto rank_of = [this](const jobs::broker* const one) {
    const jobs::broker_counters now = counters_of(*one);
    const bool has_room = one == all_.front() && now.clients < connections_of_first_broker;
    return rank{now.is_unavailable, !has_room, now.clients};
  };
  return **std::ranges::min_element(all_, {}, rank_of);
}

jobs::broker_counters brokers::counters() const noexcept {
  jobs::broker_counters sum;
  for (const jobs::broker* const each : all_) {
    const jobs::broker_counters one = counters_of(*each);
    sum.batches += one.batches;
    sum.operations += one.operations;
    sum.unavailable += one.unavailable;
    sum.refused += one.refused;
    sum.is_unavailable = sum.is_unavailable || one.is_unavailable;
    sum.no_space += one.no_space;
    sum.lacks_room = sum.lacks_room || one.lacks_room;
    sum.expired += one.expired;
    sum.queued += one.queued;
    sum.queued_bytes += one.queued_bytes;
    sum.clients += one.clients;
    sum.waiting += one.waiting;
    sum.reservations += one.reservations;
    sum.tubes += one.tubes;
  }
  return sum;
}

jobs::job_flow brokers::flow() const noexcept {
  jobs::job_flow sum;
  for (const jobs::broker* const each : all_) sum += each->flow();
  return sum;
}

jobs::tube_clients brokers::clients_of(std::string_view tube) const {
  jobs::tube_clients sum;
  for (const jobs::broker* const each : all_) {
    const jobs::tube_clients one = each->clients_of(tube);
    sum.users += one.users;
    sum.watchers += one.watchers;
    sum.waiting += one.waiting;
  }
  return sum;
}

std::string brokers::holder_of(jobs::job_id id, std::uint32_t reserves) const {
  for (const jobs::broker* const each : all_) {
    std::string name = each->holder_of(id, reserves);
    if (!name.empty()) return name;
  }
  return {};
}

}  // namespace foliot::program
