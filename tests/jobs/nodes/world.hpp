// A simulated world of nodes: several brokers over the store in PostgreSQL, each as in a process of its own, over one
// to three simulated databases that fail. Node, routing and broker are the shipped sources, compiled with the simulated
// side of the seams; all threads are fibers on one thread, on virtual time, by one seed.
//
// The judge knows what clients asked and were answered, and what the databases have committed. It finds a world at
// fault with one of these rules, by which a breach begins:
//   - once: what was answered is committed exactly once, what was refused is not, and what is in doubt is at most once;
//   - held: a client that has lost a job to another one cannot end it;
//   - early: no client gets a job before it is due;
//   - left: once all is well again, each job that is there comes to a client, and no registration stays;
//   - late: news that are lost delay a job by the time of a scan only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "simulated_database.hpp"

namespace foliot::jobs::nodes {

/// What a client asked of the store.
struct request {
  enum class kind : std::uint8_t { put, finish, release, bury };
  /// Unanswered: no answer has come yet.
  enum class fate : std::uint8_t { unanswered, done, refused, in_doubt };
  kind what = kind::put;
  std::string body;
  reservation token;
  std::uint64_t begin = 0;  ///< in the order of all moments
  instant due;              ///< of a put: no client gets the job before
  fate became = fate::unanswered;

  friend bool operator==(const request&, const request&) = default;
};

/// A job that a client got.
struct receipt {
  std::string body;
  reservation token;
  std::uint64_t order = 0;
  instant time;

  friend bool operator==(const receipt&, const receipt&) = default;
};

/// One process.
struct node_life {
  node_life(std::string name, std::span<const std::unique_ptr<simulated_database>> databases);

  const std::shared_ptr<simulated_process> process;
  const std::unique_ptr<job_store> store;
  jobs::broker broker;
};

struct world {
  explicit world(flaw wrong);

  [[nodiscard]] std::uint64_t next_moment() { return ++moments; }
  void receive(const claimed_job& job);
  /// A node that lives.
  [[nodiscard]] broker& any_broker();
  [[nodiscard]] simulated_database& any_database() { return *databases[simulation::choose(databases.size())]; }

  // What this seed brings.
  bool loses_commits;     ///< a standby lacks the last commits when it takes over
  bool has_clocks_apart;  ///< the servers' clocks differ
  bool has_moves;         ///< a tube moves to another database
  duration trouble_length;

  std::vector<std::unique_ptr<simulated_database>> databases;
  std::vector<std::unique_ptr<node_life>> nodes;
  std::vector<std::string> tubes;
  std::deque<request> requests;
  std::deque<receipt> receipts;
  std::vector<std::string> breaches;
  std::size_t bodies = 0;
  std::uint64_t moments = 0;
  std::size_t threads = 0;  ///< of troubles and moves, that run
};

/// What is left of a world.
struct outcome {
  std::deque<request> requests;
  std::deque<receipt> receipts;
  std::size_t lost_effects = 0;  ///< by failovers
  std::vector<std::string> breaches;
};

/// Lives in one world of the simulation.
[[nodiscard]] outcome live(flaw wrong);

/// What the databases have done, against what clients were told.
void judge(world& in);

}  // namespace foliot::jobs::nodes
