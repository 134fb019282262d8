// A simulated world of nodes: several brokers over the store in PostgreSQL, each as in a process of its own, over one
// to three simulated databases that fail. Node, routing and broker are the shipped sources, compiled with the simulated
// side of the seams; all threads are fibers on one thread, on virtual time, by one seed.
//
// The judge knows what clients asked and were answered, and what the databases have committed. It finds a world at
// fault with one of these rules, by which a breach begins:
//   - once: what was answered is committed exactly once, what was refused is not, and what is in doubt is at most once;
//     also if a client has sent it again, through any node, until it was answered (once.hpp);
//   - together: of a put_all that is in doubt, all jobs are committed or none;
//   - held: a client that has lost a job to another one cannot end it, and the reservation of a client is not given
//     back before the client ends;
//   - early: no client gets a job before it is due, also after a release;
//   - order: the client that gets all jobs of one database at the end gets them by priority and id;
//   - replaced: no process is told that a change is done by a primary that it knows to be replaced;
//   - left: once all is well again, each job that is there comes to a client, and no registration stays; and no
//     reservation is committed for a registration that is over;
//   - late: news that are lost delay a job by the time of a scan only;
//   - version: of the changes that expect the same version of a job, at most one is answered by `done`, unless a
//     failover loses commits.
//
// It does not see: claims and put_alls that happen once, and the end of their lifetimes; the order of jobs by priority
// while several clients work, and over several databases; keys, turns, passing over; touch, pause, cancel, kick_job,
// counts, list_due; what else a peek and a reschedule do. Its databases do not refuse for want of rights or of their
// schema, and their rotation does not fail. No standby is away for a while, and no listener has an outage. It accepts a
// claim that nobody received, and a reserve() that answers late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/broker.hpp>

#include "node_life.hpp"
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
  std::uint64_t begin = 0;      ///< in the order of all moments
  instant due;                  ///< of a put or a release: no client gets the job before
  jobs::priority priority = 0;  ///< of a put
  std::size_t repeated = 0;     ///< how often it was sent again
  std::size_t group = 0;        ///< of what is one part of a put or a put_all: the number of that
  fate became = fate::unanswered;

  friend bool operator==(const request&, const request&) = default;
};

/// A job that a client got.
struct receipt {
  std::string body;
  reservation token;
  std::uint64_t order = 0;
  instant time;
  instant given_up = instant::never();  ///< when its client began to end
  bool is_of_drain = false;             ///< of the client that gets all jobs at the end

  friend bool operator==(const receipt&, const receipt&) = default;
};

struct world {
  explicit world(flaw wrong);

  [[nodiscard]] std::uint64_t next_moment() { return ++moments; }
  receipt& receive(const claimed_job& job);
  /// A node that lives.
  [[nodiscard]] broker& any_broker();
  [[nodiscard]] simulated_database& any_database() { return *databases[simulation::choose(databases.size())]; }

  // What this seed brings.
  bool loses_commits;     ///< a standby lacks the last commits when it takes over, and an old primary goes on
  bool has_clocks_apart;  ///< the servers' clocks differ
  bool has_moves;         ///< a tube moves to another database
  duration trouble_length;

  std::vector<std::unique_ptr<simulated_database>> databases;
  std::vector<std::unique_ptr<node_life>> nodes;
  std::vector<std::string> tubes;
  std::deque<request> requests;
  std::deque<receipt> receipts;
  std::vector<std::string> breaches;
  std::size_t replayed = 0;  ///< puts that were answered again
  std::vector<job_id> ids;   ///< of the jobs whose puts were answered
  std::size_t edits = 0;
  std::map<std::pair<job_id, job_version>, std::size_t> done_edits;  ///< changes that expected this version, by answers
  std::size_t refused_edits = 0;                                     ///< by `other_version`
  std::size_t bodies = 0;
  std::size_t groups = 0;
  std::size_t replaced = 0;                ///< jobs, by their holders
  std::size_t replaced_together = 0;       ///< the same by put_alls of several puts
  std::size_t refused_holders = 0;         ///< puts and put_alls that were to do so
  std::size_t refused_behind_holders = 0;  ///< put_alls that were to do so, because of a put behind that
  std::size_t refused_groups = 0;          ///< because of a put that is not the first one
  std::uint64_t moments = 0;
  std::size_t threads = 0;  ///< of troubles and moves, that run
};

/// What is left of a world.
struct outcome {
  std::deque<request> requests;
  std::deque<receipt> receipts;
  std::size_t lost_effects = 0;      ///< by failovers
  std::size_t confirmed_by_old = 0;  ///< changes, by primaries that were replaced
  std::size_t done_edits = 0;
  std::size_t refused_edits = 0;
  std::size_t replayed = 0;
  std::size_t replaced = 0;
  std::size_t replaced_together = 0;
  std::size_t refused_holders = 0;
  std::size_t refused_behind_holders = 0;
  std::size_t refused_groups = 0;
  std::vector<std::string> breaches;
};

/// Lives in one world of the simulation.
[[nodiscard]] outcome live(flaw wrong);

/// What the databases have done, against what clients were told.
void judge(world& in);

}  // namespace foliot::jobs::nodes
