// A process with a node over simulated databases, and the troubles of such a database: what the simulated worlds of
// nodes, and those of nodes that serve clients over HTTP (tests/server/node_worlds), have in common.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include <foliot/core/duration.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "simulated_database.hpp"

namespace foliot::jobs::nodes {

/// A node that is silent for so long is taken for dead.
inline constexpr milliseconds node_timeout{2000};
inline constexpr milliseconds scan_every{500};

/// One process.
struct node_life {
  /// What a canary puts in front of the store of a node.
  using changed_store = std::function<std::unique_ptr<job_store>(std::unique_ptr<job_store>)>;

  /// Throws store_failure if the database cannot be reached.
  node_life(std::string name, std::span<const std::unique_ptr<simulated_database>> databases,
            const changed_store& change = nullptr);

  const std::shared_ptr<simulated_process> process;
  const std::unique_ptr<job_store> store;
  jobs::broker broker;
};

/// Something happens to a database: it is away for a while, or its standby takes over, without its last commits if
/// `loses_commits`; its disk is full for a while; notifications are late, or its nodes must listen again.
void trouble_database(simulated_database& one, bool loses_commits);

}  // namespace foliot::jobs::nodes
