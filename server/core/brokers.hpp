// The brokers of a server, one for each of its sessions with the store. Each has a batch of its own, so that the store
// executes as many batches at once; to each other they are nodes (jobs/other_nodes.hpp).
//
// A connection belongs to one broker from its beginning to its end: its operations are executed in their order, and a
// job that it holds is held by one session.
//
// The first connections all go to the first broker: so few are served as fast by one batch as by two, which cost the
// database more, and hear of each other's jobs without a message through the database.
//
// Thread safety: any task.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/jobs/broker.hpp>

namespace foliot::program {

/// How many connections the first broker gets before the next one gets any. Measured: docs/decisions/0013, "A node with
/// several sessions".
inline constexpr std::size_t connections_of_first_broker = 100;

class brokers {
 public:
  /// A server with one broker.
  brokers(jobs::broker& only) : all_{&only} {}  // NOLINT(google-explicit-constructor): one is a case of many
  /// Precondition: `all` is not empty.
  explicit brokers(std::vector<jobs::broker*> all) : all_(std::move(all)) {}

  /// The broker for the next connection: the first one while few use it, then that with the fewest clients. A
  /// broker whose store is unavailable is chosen only if all stores are unavailable.
  [[nodiscard]] jobs::broker& for_next_connection() const noexcept;
  /// The sums over all brokers. The clients by which the server itself waits for the records of schedules do not count.
  [[nodiscard]] jobs::broker_counters counters() const noexcept;
  [[nodiscard]] jobs::job_flow flow() const noexcept;
  [[nodiscard]] jobs::tube_clients clients_of(std::string_view tube) const;
  /// The name that the first broker tells which knows the reservation: broker::holder_of().
  [[nodiscard]] std::string holder_of(jobs::job_id id, std::uint32_t reserves) const;
  /// See broker::has_other_nodes().
  [[nodiscard]] bool has_other_nodes() const noexcept { return all_.front()->has_other_nodes(); }

 private:
  std::vector<jobs::broker*> all_;
};

}  // namespace foliot::program
