// The inside of a postgresql_store: one database, or several, over which tubes are spread by the map that the first one
// has (sql/map.sql).
//
// A batch is divided: the databases execute their shares in parallel, each as a transaction of its own. An operation
// for more than one database takes further rounds (routed_operation.hpp).
//
// A node learns of a change of the map by its batches: each database returns the version of the map that it knows. A
// database refuses a put into a tube that has left it, so an old map does no harm.
//
// A database that does not answer delays the others once, until the router gives up. Meanwhile the others get empty
// shares, so that their heartbeats are sent. From then on the router refuses the operations of that database at once,
// and its thread tries to reach it now and then. The same holds for the first database: while it is down, the router
// uses the map that it has read before. If no database answers, the batch is refused, as with one database. Releases to
// a database that does not answer are retained and repeated later, in pieces, because their clients have already gone.
// A database without the schema that the program needs counts as one that does not answer.
//
// While there is one database only, batches are executed by the caller's thread.
//
// Thread safety: one thread at a time, except others().
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/contract.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "database_worker.hpp"
#include "jobs/postgresql/postgresql_node.hpp"
#include "jobs/postgresql/tube_map.hpp"
#include "listener_set.hpp"
#include "routed_operation.hpp"

namespace foliot::jobs::detail {

class database_router {
 public:
  /// With the node of the first database.
  database_router(const postgresql_options& options, std::unique_ptr<postgresql_node> first);
  ~database_router();
  database_router(const database_router&) = delete;
  database_router& operator=(const database_router&) = delete;

  execution execute(std::span<operation> batch);
  [[nodiscard]] next_change next() const noexcept;
  [[nodiscard]] check_result check();
  void close();
  [[nodiscard]] other_nodes* others() noexcept { return listeners_.get(); }
  [[nodiscard]] std::string place() const;
  [[nodiscard]] std::vector<std::string> places() const;

 private:
  /// One of the databases. The first one has the number 0.
  struct member {
    std::unique_ptr<database_worker> worker;
    next_change next;
    std::int64_t map_version = 0;  // with which the map was read; 0: none
    bool is_up = false;
    bool is_tried = false;  // it is down, and its thread tries to reach it
    instant tries_at = instant::earliest();
    bool is_listened_to = false;  // listeners_ has its news
  };
  /// The operations of one database in one round.
  struct share {
    std::vector<operation> operations;
    std::vector<std::size_t> of;  // by operation: its index in batch_state::routed
  };
  /// The outcomes of one round: of the shares, and of the empty shares (heartbeats) while other databases were not
  /// ready.
  struct round_outcome {
    std::map<int, share_outcome> shares;
    std::vector<std::pair<int, share_outcome>> heartbeats;
  };
  /// A batch that is being executed.
  struct batch_state {
    std::vector<routed_operation> routed;
    std::map<int, share> shares;  // of the present round
    execution done;
    bool has_executed = false;             // some database has
    std::exception_ptr refusal = nullptr;  // the last one
    bool is_in_doubt = false;
    std::map<int, std::int64_t> newer;  // versions of the map that are not those with which it was read
  };

  /// Precondition: there is one database only, or the first one is up.
  [[nodiscard]] postgresql_node& first() const noexcept { return *members_.at(0).worker->node(); }
  [[nodiscard]] bool is_any_up() const;
  [[nodiscard]] bool is_due(const next_change& what) const;
  void begin(std::span<operation> batch, batch_state& state);
  void go_on(batch_state& state);
  /// The answers of the operations. Throws store_unavailable if no database is up.
  void end(std::size_t operations, batch_state& state);
  /// Retains a release that a database has not executed; it is repeated later.
  void leave_over(const reservation& token);
  /// Retains the reservation of each abandon in the batch that was answered with unavailable_answer.
  void keep_left_over(std::span<const operation> batch, std::vector<answer>& answers);
  /// Repeats the retained releases, if it is time. Precondition: there is one database only.
  void give_back_left_over();
  void try_those_that_are_down(batch_state& state);
  void conclude_attempt(int number, member& one, share_outcome&& got, batch_state& state);
  void add_due(batch_state& state);
  /// Returns false if no operation has anywhere to go.
  bool add_operations(batch_state& state);
  void execute_round(batch_state& state);
  /// Waits for the shares that these databases execute, and keeps the other databases going meanwhile.
  [[nodiscard]] round_outcome wait_for(std::set<int> awaited);
  void conclude_heartbeats(round_outcome& of, batch_state& state);
  void take(int number, share& of, share_outcome&& got, batch_state& state);
  static void refuse(int number, share& of, bool is_in_doubt, const std::string& why, batch_state& state);
  void note_down(int number, member& one, std::string_view why);
  void note_up(int number, member& one);
  /// Reads the map again if a database knows more than it. If that is not possible now, the next batch does it.
  void read_map_if_changed(batch_state& state);
  /// Throws store_unavailable.
  void read_map();
  /// The map as the first database has it; the others go on meanwhile. Throws store_unavailable.
  [[nodiscard]] tube_map map_now();
  /// Returns false if the first database is down, also if that has just become known.
  bool try_to_read_map();
  /// Opens the databases that are new in the map, in parallel: this takes as long as the slowest one.
  void open_members();
  /// The map has another connection string for this database.
  void reach_by(int number, member& one, const std::string& connection);
  /// Closes the databases that are no longer in the map.
  void leave_removed();
  /// The node of a database, which has just been reached, or was when it was last used. Throws store_unavailable.
  [[nodiscard]] static postgresql_node& reach(member& one);
  /// Throws store_unavailable, which names the database.
  [[nodiscard]] static check_result check_member(int number, member& one);
  /// Lets the unplaced puts begin again. Returns false if there are none, or if it is too late.
  bool retry_unplaced(batch_state& state, instant until);

  const postgresql_options options_;
  const std::shared_ptr<database_access> access_;  // of the databases besides the first one
  std::shared_ptr<const tube_map> map_ = std::make_shared<const tube_map>();
  std::map<int, member> members_;  // the first one is always there
  std::size_t claims_begin_ = 0;
  /// The reservations whose releases a database did not answer or refused, and when they are repeated.
  std::deque<reservation> left_over_;
  instant left_over_at_ = instant::earliest();
  execution aside_;                          // news of heartbeats outside of a batch, for the next batch
  std::unique_ptr<listener_set> listeners_;  // null: a test gives the time
};

}  // namespace foliot::jobs::detail
