// A job store in a PostgreSQL database (15 or later), which many nodes share.
//
//   foliot::jobs::postgresql_store::migrate("postgresql://db1,db2/jobs");           // once: makes the schema
//   foliot::jobs::postgresql_store store({.database = "postgresql://db1,db2/jobs", .node = "a"});
//   const auto put = execute_one(store, foliot::jobs::put{.tube = "mail", .body = "hello", .due = 30min});
//
// The database is the only truth. A batch is one transaction, which the database has made durable when execute()
// returns. A node keeps nothing in memory but the connection: any of them may be killed.
//
// Nodes. Each has a name of its own. The reservations and pauses that it has made are its own; they end when a node of
// the same name is opened, when close() is called, and when the node has not been heard of for `node_timeout`. A node
// that was stopped for longer than that changes nothing by its old reservations: each change names the reservation that
// it belongs to, and the database knows whether it is alive. Reservations of claims with claim::lasting are nobody's:
// they end with their TTR, or by an operation with their token at any node. Once their node has gone, the others end
// them up to a quarter of `node_timeout` and a second after their TTR.
//
// Time is the database's: due times, reservations and pauses go by its clock.
//
// Failures. If the database cannot be reached, does not answer in time, or is not the primary any more, execute() tries
// again until `give_up_after` has passed, then throws store_unavailable; each later batch tries again. A commit whose
// answer was lost is looked up by the number of its batch, and so has happened or not. If the database stays away
// meanwhile, the batch is in doubt: once the database answers again, the store gives back the jobs that the batch has
// reserved.
//
// A primary that another server has replaced is refused, and left: all stores of the process share the highest timeline
// that each has seen of a database. The first store of a connection string with several hosts asks all of them and
// takes the one with the highest timeline. A host that does not answer then costs two seconds.
//
// A full disk. If PostgreSQL has no room for what an operation would store, but goes on (an error of the class 53), the
// operation is answered with `no_space`, and the rest of its batch is executed: what ends jobs needs no room. Claims
// bring as many jobs as there is room for; due jobs, and those whose reservation has ended, wait for room.
//
// One thread at a time may use a store, but for others(). Besides it, the store has one thread of its own, which
// carries the news of the nodes.
#pragma once

#include <foliot/core/language.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/export.h>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/store_clocks.hpp>

namespace foliot::jobs {
namespace detail {
class postgresql_node;
class database_router;
}  // namespace detail

/// How a PostgreSQL store is opened.
struct postgresql_options {
  /// A connection string of libpq: `postgresql://…` or `host=… dbname=…`. It may name several hosts, and so may the
  /// service file or the environment (PGHOST); the store uses the one that accepts writes.
  std::string database;
  /// The name of this node, 1 to 200 bytes without a zero: unique among the nodes of the database at any time.
  std::string node;
  /// A node that was not heard of for so long is taken for dead by the others: its reservations end, except those that
  /// last. From one second to one day.
  milliseconds node_timeout = std::chrono::seconds(10);
  /// How long execute() tries to reach the database. Positive.
  milliseconds give_up_after = std::chrono::seconds(5);
  /// See other_nodes::scan_every().
  milliseconds scan_every = std::chrono::seconds(1);
  /// The clocks of tests. None: those of the database; the ends of reservations are then shown by the system's
  /// monotonic clock.
  std::optional<store_clocks> clocks = std::nullopt;
  /// Gets a sentence for each thing that an operator should know of the database: it does not sync its disk, or a
  /// primary that another server has replaced accepts writes; the connection for the news of other nodes is missing, or
  /// is there again; where there are several databases, one does not answer, or answers again. Called by the thread
  /// that uses the store, and, where there are several databases, also by others at the same time; must not use the
  /// store, and must not throw.
  std::function<void(std::string_view)> warn = {};
};

/// The job store in PostgreSQL.
class FOLIOT_EXPORT postgresql_store final : public job_store {
 public:
  /// Connects, and announces the node. Throws store_failure, which says what is wrong and what to do: the database
  /// cannot be reached, has no schema or one of another version, or the role may not use it.
  explicit postgresql_store(const postgresql_options& options);
  /// Closes the store, and drops a failure of that.
  ~postgresql_store() override;

  /// As job_store says. A batch of n operations takes about one round trip and one commit, and O(log m) for each job
  /// that an operation touches, m being all jobs. count_tube and count_all count, in O(m), and list_tubes looks at each
  /// tube: those of a batch together for 250 ms, then they are cut short, or refused.
  execution execute(std::span<operation> batch) override;
  /// O(1).
  [[nodiscard]] next_change next() const noexcept override;
  /// Reads the whole database, in one snapshot; where there are several, one after the other. Throws store_unavailable,
  /// which names it, if one of them does not answer.
  [[nodiscard]] check_result check() override;
  /// Gives back what the node has reserved, except what lasts, and ends its pauses. What lasts and was claimed by a
  /// batch that is in doubt waits for its TTR, too: a claim that happens once gets it at any node. Throws
  /// store_failure if the database could not be reached: then they end after `node_timeout`.
  void close() override;
  [[nodiscard]] other_nodes* others() noexcept override;

  /// The server that the store is connected to, for people: "db1:5432/jobs". Without a password.
  [[nodiscard]] std::string place() const;
  /// Where there are several databases: each that was reached, in the order of their numbers.
  [[nodiscard]] std::vector<std::string> places() const;

  /// What migrate() did.
  struct migration {
    int from = 0;  ///< 0: there was no schema
    int to = 0;
  };
  /// Makes the schema `foliot` in this database, or brings an older one up to date, in one transaction, while nodes may
  /// be running. Throws store_failure: no host that the connection string names has the database or can be reached, the
  /// role may not create the schema, or the schema is newer than this program.
  static migration migrate(const std::string& database);

 private:
  friend class detail::postgresql_node;
  explicit postgresql_store(std::unique_ptr<detail::postgresql_node> first);

  std::unique_ptr<detail::database_router> all_;
};

}  // namespace foliot::jobs
