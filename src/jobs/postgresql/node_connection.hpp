// What a node asks of its database: everything below this interface speaks SQL, and everything above it does not.
//
// sql_connection.hpp is the real side: the functions of sql/*.sql, over libpq. The simulated side is in
// tests/jobs/nodes: a database whose content is the oracle of the conformance suite, with servers that fail, standbys,
// lost answers and late commits, so that nodes, routing and brokers run in one thread on virtual time. The conformance
// suite on a server proves the SQL.
//
// Each call of a node_connection executes in the open transaction, or in one that begins with it; commit() ends it. A
// call ends at its deadline of the monotonic clock, or somewhat later, and throws database_failure if it fails: then
// only goes_on_after() may be called, and the destructor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/job.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/other_nodes.hpp>

#include "batch_plan.hpp"
#include "database_connection.hpp"
#include "target.hpp"
#include "tube_map.hpp"

namespace foliot::jobs::detail {

/// A connection of a node to the primary of its database. One thread at a time.
class node_connection {
 public:
  /// The time that the database takes for its own; none: that of its server. See foliot.time_of().
  using given_time = std::optional<std::vector<std::int64_t>>;
  /// What a new connection has found.
  struct description {
    std::string origin;      ///< changes when the database was promoted or restored: foliot.here()
    std::string process;     ///< the server's process of this connection: see ends_process()
    bool is_durable = true;  ///< the server syncs its disk
  };
  /// How a node announces itself.
  struct announcement {
    std::string_view node;
    std::int64_t process = 0;  ///< a random number of this node object
    duration timeout;
    std::int64_t before = 0;  ///< the registration that the node had until now, or 0
  };
  struct held_reservation {
    reservation token;
    duration left;
  };

  node_connection() = default;
  node_connection(const node_connection&) = delete;
  node_connection& operator=(const node_connection&) = delete;
  virtual ~node_connection() = default;

  /// The server, for people: "db1:5432/jobs".
  [[nodiscard]] virtual std::string place() const = 0;
  /// Whether another server has replaced that of this connection, as far as this process knows (timelines.hpp).
  [[nodiscard]] virtual bool is_replaced() const = 0;

  /// The first call of a connection; commits by itself. Throws store_failure if the database has no schema, or one of
  /// another version. If the role lacks a right, throws store_failure for the first connection of a node, and
  /// database_failure later: a store that is open may wait for the right.
  [[nodiscard]] virtual description prepare(bool is_first, instant deadline) = 0;
  /// Returns the registration, or nothing if another process has taken the name of the node.
  [[nodiscard]] virtual std::optional<std::int64_t> announce(const announcement& who, const given_time& time,
                                                             instant deadline) = 0;
  /// Executes a batch of the registration that the frame names. Sets the server's times of `time`.
  [[nodiscard]] virtual batch_plan::outcome execute(std::span<const operation> batch, const batch_frame& frame,
                                                    batch_time& time, instant deadline) = 0;
  /// Commits. A warning of the server counts as a failure: the server may have stopped waiting for its standby.
  virtual void commit(instant deadline) = 0;
  /// Ends the open transaction, which has not failed, without its effect.
  virtual void roll_back(instant deadline) = 0;
  /// As database_connection::goes_on_after().
  [[nodiscard]] virtual bool goes_on_after(const database_failure& failure, instant deadline) noexcept = 0;

  /// Whether the batch with this number was committed; if not, it never will be. Fails with a conflict if the server is
  /// still committing it.
  [[nodiscard]] virtual bool has_happened(std::int64_t registration, std::int64_t number, std::int64_t partition,
                                          instant deadline) = 0;
  [[nodiscard]] virtual std::vector<held_reservation> reservations_of(std::int64_t registration, const given_time& time,
                                                                      instant deadline) = 0;
  /// Ends the registration, or a piece of it: returns whether more is left.
  [[nodiscard]] virtual bool close_registration(std::int64_t registration, instant deadline) = 0;
  [[nodiscard]] virtual tube_map read_map(instant deadline) = 0;
  /// The first invariant of the database that does not hold.
  [[nodiscard]] virtual std::optional<std::string> check_jobs(instant deadline) = 0;
  /// Has the database rotate its partitions; returns what foliot.rotate() does.
  [[nodiscard]] virtual std::int64_t rotate(instant deadline) = 0;
  /// Frees the disk space that the database keeps for reservations.
  virtual void give_up_ballast(instant deadline) = 0;
  /// Makes these tubes, and waits for no other transaction that does.
  virtual void make_tubes_before(const std::set<std::string_view>& tubes, instant deadline) = 0;

  // Of the server's process of a lost connection. Outside of transactions, right after prepare().

  /// Whether that process has ended. `terminates`: ends it, if the role may do that.
  [[nodiscard]] virtual bool ends_process(const std::string& process, bool terminates, instant deadline) = 0;
  /// Whether that process still waits for a standby to confirm its commit.
  [[nodiscard]] virtual bool waits_for_standby(const std::string& process, instant deadline) = 0;
};

/// The news of the other nodes, over a connection of its own.
class node_listener : public other_nodes {
 public:
  /// Why there is no connection.
  struct missing_connection {
    instant since;    ///< when the last one was lost; if there was none, when the first attempt began
    instant attempt;  ///< when the last attempt that has failed began
    std::string why;
  };
  /// The next connection is made to this target.
  virtual void connect_to(target database) = 0;
  /// Nothing while there is a connection, and before the first attempt to make one has failed.
  [[nodiscard]] virtual std::optional<missing_connection> outage() const = 0;
};

/// How nodes reach databases. Any thread.
class database_access {
 public:
  using warning = std::function<void(std::string_view)>;

  database_access() = default;
  database_access(const database_access&) = delete;
  database_access& operator=(const database_access&) = delete;
  virtual ~database_access() = default;

  /// Connects to the primary, as connect_to_primary() does. This object must outlive the connection.
  [[nodiscard]] virtual std::unique_ptr<node_connection> connect(target& to, const warning& warn) = 0;
  /// Begins to listen, as notification_listener does.
  [[nodiscard]] virtual std::unique_ptr<node_listener> listen(const std::string& database, duration scan_every) = 0;
  /// How the nodes of the other databases of a map are reached.
  [[nodiscard]] virtual std::shared_ptr<database_access> of_other_databases() = 0;
};

}  // namespace foliot::jobs::detail
