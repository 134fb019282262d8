// What all connections of the beanstalk protocol share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/task_mutex.hpp>

#include "commands.hpp"
#include "server/access/authority.hpp"
#include "server/access/rights.hpp"
#include "server/access/server_tubes.hpp"
#include "server/core/brokers.hpp"
#include "server/core/held_memory.hpp"
#include "statistics.hpp"
#include "tube_records.hpp"

namespace foliot::program {
class access;
class server_log;
struct request_rates;
class tls_certificates;
}  // namespace foliot::program

namespace foliot::program::beanstalk {

/// The list of the tubes of all nodes. One client's session at a time asks the store for it. A session that has waited
/// for its turn takes the list of the session before it, if the store was asked after its own command had come.
struct stored_list {
  /// The number of the latest command that wants the list. Sequentially consistent: a session that reads this number
  /// and asks the store afterwards has an answer for all commands up to this one.
  seam::atomic<std::uint64_t> tickets{0};
  /// The bytes of the latest list: an estimate of what the next one needs. Relaxed, as it orders nothing.
  seam::atomic<std::size_t> bytes{0};
  runtime::task_mutex turn;  // guards the rest
  std::uint64_t as_of = 0;   ///< the answer below is good for the tickets up to this one
  std::weak_ptr<const shared_text> latest;
  std::exception_ptr failure;  ///< why there was no answer; null: there was one
  /// The broker that has failed to answer, with its store. Another broker has another store, which may answer.
  const jobs::broker* failed_broker = nullptr;
};

/// Any task may use it. Sessions write the counters as their connections and commands begin and end; statistics()
/// reads them. They order nothing.
class server_state {
 public:
  /// `memory`: what bounds the bytes of all connections.
  server_state(program::brokers with, std::size_t max_job_size, std::size_t max_tubes, held_memory& memory);
  /// A state whose connections may hold any number of bytes.
  server_state(program::brokers with, std::size_t max_job_size, std::size_t max_tubes)
      : server_state(std::move(with), max_job_size, max_tubes, unbounded_) {}

  const program::brokers brokers;
  held_memory& memory;
  const std::size_t max_job_size;
  const std::size_t max_tubes;
  /// Of clients where no access tokens are asked for.
  const rights_holder everything{nullptr, rights::everything(), nullptr};
  tube_records tubes;
  stored_list list_of_store;
  std::array<seam::atomic<std::uint64_t>, verbs> commands{};
  seam::atomic<std::uint64_t> total_jobs{0};
  seam::atomic<std::uint64_t> total_connections{0};
  seam::atomic<std::uint64_t> connections{0};
  seam::atomic<std::uint64_t> producers{0};
  seam::atomic<std::uint64_t> workers{0};
  /// Whether there may be jobs of the server itself; null: there are none. Set before there are sessions.
  const server_jobs* own_jobs = nullptr;
  /// Whether new jobs are refused. Once set by the signal SIGUSR1, it stays set until the server is started again.
  seam::atomic<bool> draining{false};
  /// Connections that were closed because their clients did not go on for `patience`.
  seam::atomic<std::uint64_t> slow_clients{0};

  // Set before there are connections.

  /// What the connections are opened with; null: they are in plain.
  const tls_certificates* certificates = nullptr;
  /// By which the connections have come in; null: by none.
  access* door = nullptr;
  /// How many commands may come in a second; null: any number.
  request_rates* rates = nullptr;
  /// Null: nothing is logged.
  const server_log* log = nullptr;
  /// For so long a client may send nothing more of a command that it has begun, and take nothing of its answers.
  duration patience = duration::forever();

  void count(verb which) noexcept { ++commands[static_cast<std::size_t>(which)]; }
  /// What `stats` shows, except the counts of jobs, which the store has.
  [[nodiscard]] server_statistics statistics() const;

 private:
  held_memory unbounded_{std::numeric_limits<std::size_t>::max()};
  instant began_;
  std::uint64_t instance_;  // a random number, which tells one start of a server from another
};

}  // namespace foliot::program::beanstalk
