// A node of the store in one database: its connection, its registration there, and what happens when the database goes
// away.
//
// What has a state of its own is a class of its own, without a connection: node_registration.hpp, commits_in_doubt.hpp,
// execution_modes.hpp (what is passed over, refused or executed by itself), deadlines.hpp (the reservations).
//
// One batch is one transaction. What can go wrong, and what follows:
//   - the connection fails before the commit was sent: nothing was committed. execute() connects again and sends the
//     whole batch again. After a conflict with another transaction (a lock, a deadlock) it rolls back, and sends the
//     batch again over the same connection;
//   - the connection fails after that: the commit is in doubt. foliot.has_happened() returns whether the number of the
//     batch is stored; if it is not, the function prevents the batch from being committed later. Only then is the batch
//     sent again, with another number. If the database stays away, execute() gives up. If the batch was committed, no
//     client has the jobs that it has reserved: the node asks again when the database is back, and releases them;
//   - the transaction of an application holds a lock for long: execute() sends the batch again such that operations
//     which wait for such locks are passed over, and does the same with the next batches for a while. A batch with keys
//     takes its turn first, because it may have waited for a batch that waits for it (sql/keys.sql);
//   - the database has no room, as on a full disk (SQLSTATE 53...): execute() sends the batch again so that each
//     operation is executed by itself, and refused with `no_space` if it needs room, and does so with the next batches
//     for a while. Operations that only delete are executed. Due jobs and jobs of ended reservations become ready as
//     far as there is room. If there is no room for the number of the batch either, its commit cannot be looked up, and
//     stays in doubt if its answer is lost;
//   - the registration has ended, because the other nodes took this one for dead: its reservations have ended as well,
//     except those that last (lasting.hpp), which this node goes on to end in time. The node announces itself again.
//
// A server that was replaced by another one has a lower timeline. Once a store of the process has seen a timeline of
// the database, all stores of the process refuse and leave servers with lower timelines (primary.hpp).
//
// A database that was restored from a backup, or promoted, may have lost its last transactions: the store goes on with
// the data that is left (sql/restore.sql). Each connection has an opening of its own, so no token is given a second
// time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/contract.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "backoff.hpp"
#include "batch_plan.hpp"
#include "commits_in_doubt.hpp"
#include "database_connection.hpp"
#include "deadlines.hpp"
#include "execution_modes.hpp"
#include "node_connection.hpp"
#include "node_registration.hpp"
#include "target.hpp"
#include "tube_map.hpp"

namespace foliot::jobs::detail {

/// Joins the results of several executions that are one for their caller: adds to `all` what `more` has brought besides
/// its answers: ready and emptied tubes, and ended reservations.
inline void add_news(execution& all, execution& more) {
  const auto add_names = [](std::vector<std::string>& names, std::vector<std::string>& others) {
    for (std::string& each : others) {
      if (std::ranges::find(names, each) == names.end()) names.push_back(std::move(each));
    }
  };
  add_names(all.ready_tubes, more.ready_tubes);
  add_names(all.emptied_tubes, more.emptied_tubes);
  all.expired.insert(all.expired.end(), more.expired.begin(), more.expired.end());
}

inline constexpr std::size_t longest_node_name = 200;

/// Another process has opened a node of the same name. This node has lost its reservations for good.
class node_name_taken : public store_failure {
 public:
  using store_failure::store_failure;
};

class postgresql_node {
 public:
  /// `at_step` is for tests; see database_connection.
  explicit postgresql_node(const postgresql_options& options, exchange_step at_step = {});
  postgresql_node(const postgresql_options& options, std::shared_ptr<database_access> access);
  ~postgresql_node();
  postgresql_node(const postgresql_node&) = delete;
  postgresql_node& operator=(const postgresql_node&) = delete;

  /// A store with this node.
  [[nodiscard]] static std::unique_ptr<postgresql_store> as_store(std::unique_ptr<postgresql_node> node) {
    return std::unique_ptr<postgresql_store>(new postgresql_store(std::move(node)));
  }

  /// If the database refuses one operation (database_failure::is_refusal()), answers that one with unavailable_answer,
  /// and executes the others. Then the batch is several transactions; and so it is if a put_all is refused after some
  /// of its jobs were put.
  execution execute(std::span<operation> batch);
  [[nodiscard]] next_change next() const noexcept;
  /// The next connections are made with this string, which leads to the same database. Throws as target does.
  void connect_to(const std::string& database);
  [[nodiscard]] check_result check();
  /// Gives back the jobs of this node, and ends its registration. Tries again until `give_up_after` has passed, also
  /// over another connection, unless none can be made. Throws store_failure.
  void close();
  [[nodiscard]] other_nodes* others() noexcept { return listener_.get(); }
  [[nodiscard]] std::string place() const;
  [[nodiscard]] const postgresql_options& options() const noexcept { return options_; }
  [[nodiscard]] database_access& access() const noexcept { return *access_; }

  /// What the last batch that was executed has shown of the map.
  [[nodiscard]] const map_state& map_seen() const noexcept { return map_seen_; }
  /// Reads the map. Only where the database is the first one. Throws store_unavailable.
  [[nodiscard]] tube_map read_map();

 private:
  /// Whether a commit has happened.
  enum class commit_state : std::uint8_t { committed, not_committed };

  /// Connects and announces the node, unless that is already done.
  void make_ready();
  /// Whether there is a connection. Closes a connection to a server that was replaced: another store of the
  /// process may have noticed that while this connection still works.
  [[nodiscard]] bool is_connected();
  void connect();
  /// Waits until the server has ended the process of a lost connection, and with it the transaction that was open
  /// there: a claim would pass over the jobs that this transaction has locked. Terminates the process if the server
  /// does not notice the loss. If that takes longer than a quarter of the node's timeout, or ten seconds, those jobs
  /// come later.
  void end_lost(const std::string& backend);
  /// Throws if the last unanswered commit still waits for a standby in the server: the next commit would wait as well,
  /// and each of them occupies a connection of the server. Precondition: the connection has just been made.
  void expect_commits();
  void announce();
  /// Reads the reservations that the database has for the node's registration: after a failover or a restore they may
  /// differ from those that the node knows, and no other node would end them.
  void adopt_reservations();
  [[nodiscard]] batch_frame frame_for(std::span<const operation> batch, instant now);
  [[nodiscard]] std::optional<std::vector<std::int64_t>> given_time() const;
  /// Commits the transaction of this batch, which has brought these answers. Throws store_unavailable if it stays in
  /// doubt.
  [[nodiscard]] commit_state commit(std::span<const operation> batch, const batch_frame& frame,
                                    const batch_plan::outcome& got);
  /// Commits the open transaction. Also fails if another store of the process has found a new primary meanwhile: the
  /// old one may have been stopped until then, and may have committed alone.
  void commit_at_primary();
  /// Asks the server whether the batch was committed, and ensures that the answer stays true. Soon fails with a
  /// conflict if the server is still committing the batch.
  [[nodiscard]] bool has_happened(std::int64_t number, std::int64_t partition);
  /// Notes that the commit of this batch stays in doubt.
  void leave_in_doubt(std::span<const operation> batch, const batch_frame& frame, const batch_plan::outcome& got);
  /// Finds out which of the batches in doubt were committed. A batch that the server is still committing stays in
  /// doubt.
  void settle_doubts();
  /// As execute(). Divides the batch after this number of refused attempts.
  execution execute(std::span<operation> batch, int attempts);
  /// Executes a batch with a refused operation, in two halves.
  execution execute_halves(std::span<operation> batch);
  /// The same as two batches: the first `size` operations, and the others.
  execution execute_parts(std::span<operation> batch, std::size_t size, int attempts);
  /// Executes a batch again that was rolled back, because its put_all must not have put anything: in two halves, of
  /// which that with the put_all is halved again, until the put_all is alone. `got`: what the batch has brought.
  execution execute_around(std::span<operation> batch, batch_plan::outcome& got);
  /// Of the one operation that is refused, for this reason; throws store_unavailable if an empty batch is, too.
  execution refuse_operation(const std::string& why);
  /// Updates the state of the node after a batch.
  void conclude(std::span<const operation> batch, batch_plan::outcome& what, const batch_frame& frame);
  /// Updates the reservations of the node by an answer. `of_others`: those of other registrations, which end them.
  void follow(const operation& of, const answer& got, std::span<const reservation> of_others);
  /// Prepares the next attempt after a failed one: closes the connection, and waits. After a conflict or a lack of room
  /// it rolls back instead, if that is possible. Throws store_unavailable at `until`.
  void recover(const database_failure& from, instant until, store_unavailable::kind known);
  /// Waits before the next attempt, longer after each.
  void wait_before_next() noexcept;
  void note_registration_ended() noexcept;
  /// Has the database rotate its partitions (sql/rotation.sql).
  void rotate() noexcept;
  /// Calls a function of this name outside of a batch, in a transaction of its own. Returns whether it was executed.
  /// Precondition: the node is connected; afterwards it may not be.
  bool run_aside(const char* name, const std::function<void(node_connection&)>& what) noexcept;
  void note_failure_aside(const char* name, const database_failure& error) noexcept;
  // Locked jobs, turns, a full disk and outages.

  /// Makes the tubes that this batch may make, if they are several, after it has timed out on a lock: it may have
  /// waited for a batch that waits for it. Precondition: that of run_aside().
  void make_tubes_before(std::span<const operation> batch) noexcept;
  void note_lack_of_room(std::string_view why);
  /// Notes whether the puts of the batch had room, and tells it with what the batch has brought.
  void note_room(std::span<const operation> batch, execution& done) noexcept;
  /// The database has refused a batch: for a while, operations are executed each by itself (sql/patient.sql), unless
  /// it was only because the schema lacks the function of one of them.
  void note_refusal(std::string_view why, bool lacks_function);
  /// Frees the disk space that the database keeps for reservations. Precondition: that of run_aside().
  void give_up_ballast() noexcept;
  /// If an answer says that an operation was passed over, the next batches pass over locked jobs, too.
  void note_passed_over(const std::vector<answer>& answers) noexcept;
  /// Warns if the connection for notifications is missing although the one for jobs works, and reports when it is back.
  /// Precondition: a batch has just been executed.
  void note_missing_news();
  void warn(std::string_view sentence) const;
  [[nodiscard]] instant patience() const;
  [[nodiscard]] duration heartbeat_interval() const { return duration(options_.node_timeout) / 4; }
  /// The clock of the reservations.
  [[nodiscard]] const clock& steady() const noexcept;

  const postgresql_options options_;
  const std::shared_ptr<database_access> access_;
  const std::int64_t process_;
  target target_;
  std::unique_ptr<node_connection> connection_;
  std::string place_;
  std::string backend_;       // the server's process of the last connection; empty: none to end
  std::string committing_;    // that of a commit that was not answered
  std::string origin_;        // of the last connection
  bool has_moved_ = false;    // it was another one before, and the reservations were not adopted since
  std::int64_t opening_ = 0;  // of the tokens that this connection gives (lasting.hpp): no other one has it
  node_registration registration_;
  deadlines own_;
  std::vector<reservation> lost_;  // with a registration that has ended, not yet reported
  commits_in_doubt in_doubt_;      // of registration_
  execution_modes modes_;
  next_change next_;
  map_state map_seen_;
  instant warns_aside_at_ = instant::earliest();
  instant connected_at_ = instant::earliest();  // for jobs
  std::optional<instant> news_missing_since_;   // as an operator was told
  instant next_rotation_ = instant::earliest();
  backoff rotations_;
  duration pause_;  // before the next attempt
  instant room_missing_until_ =
      instant::earliest();  // by the monotonic clock: a put had no room, and none since had any
  bool is_down_ = false;    // the last batch was not executed, because the database did not answer
  bool is_closed_ = false;
  std::unique_ptr<node_listener> listener_;  // null: a test gives the time, and drives the nodes by itself
};

}  // namespace foliot::jobs::detail
