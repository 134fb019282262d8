// The inside of a postgresql_store: the databases of a map, over which tubes are spread. The first database has the
// map; a store with one database has a map with one entry.
//
// A batch is planned by the map (routed_batch.hpp), then executed in rounds: the databases execute their shares in
// parallel, each as a transaction of its own. An operation for more than one database takes further rounds.
//
// A node learns of a change of the map by its batches: each database returns the version of the map that it knows. A
// database refuses a put into a tube that has left it, so an old map does no harm.
//
// A database that does not answer delays the others once, until the router gives up. Meanwhile the others get empty
// shares, so that their heartbeats are sent. From then on the router refuses the operations of that database at once,
// and its thread tries to reach it now and then. The same holds for the first database: while it is down, the router
// uses the map that it has read before. If no database answers, each batch tries those that have answered before, and
// is refused if it reaches none: the store is unavailable, or has failed if all of its databases have. Releases to a
// database that does not answer are retained and repeated later, in pieces, because their clients have already gone;
// but not if a client has sent its claim again meanwhile, and has got the reservation. A database without the schema
// that the program needs counts as one that does not answer.
//
// Each database has a thread, which executes its shares; the only database of a map uses none, and neither does one
// whose clock a test gives: the caller's thread executes them.
//
// Thread safety: one thread at a time, except others().
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/contract.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "database_set.hpp"
#include "database_worker.hpp"
#include "jobs/postgresql/postgresql_node.hpp"
#include "jobs/postgresql/tube_map.hpp"
#include "listener_set.hpp"
#include "routed_batch.hpp"

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
    bool has_room = true;          // by its latest share
    std::int64_t map_version = 0;  // with which the map was read; 0: none
    bool is_up = false;
    bool was_up = false;                   // it has been reached, so that a further attempt is short
    bool is_reported_down = false;         // an operator was told so
    std::exception_ptr failure = nullptr;  // why it is down
    bool is_tried = false;                 // it is down, and its thread tries to reach it
    instant tries_at = instant::earliest();
    bool is_listened_to = false;  // listeners_ has its news
  };
  /// The outcomes of one round: of the shares, and of the empty shares (heartbeats) while other databases were not
  /// ready.
  struct round_outcome {
    std::map<int, share_outcome> shares;
    std::vector<std::pair<int, share_outcome>> heartbeats;
  };
  /// What the databases have brought while a batch is executed, beside the answers.
  struct batch_state {
    execution done;
    bool has_executed = false;               // some database has
    bool tries_all = false;                  // its first round goes to databases that are down, too
    std::exception_ptr in_doubt = nullptr;   // the refusal of a share that is in doubt
    std::map<int, std::int64_t> newer = {};  // versions of the map that are not those with which it was read
  };

  [[nodiscard]] bool is_any_up() const;
  [[nodiscard]] bool is_due(const next_change& what) const;
  /// The clock by which batches are due.
  [[nodiscard]] instant now() const noexcept;
  /// As execute(), without the releases that are retained.
  execution execute_batch(std::span<operation> batch);
  /// Executes the rounds of the batch.
  void execute_rounds(routed_batch& batch, batch_state& state);
  /// Throws the refusal of a batch that no database has executed.
  [[noreturn]] void throw_refusal(const batch_state& state) const;
  /// Retains the reservation of each abandon in the batch that was answered with unavailable_answer; it is repeated
  /// later.
  void retain_releases(const routed_batch& batch, std::vector<answer>& answers);
  /// Does not repeat the release of what a claim has repeated: its client has sent the claim again, and may have it.
  void forget_repeated(std::span<const answer> answers);
  /// Repeats the retained releases, if it is time.
  void repeat_releases();
  /// Begins attempts to reach databases that are down, and takes the outcomes of those that have ended.
  void try_those_that_are_down(batch_state& state);
  void conclude_attempt(int number, member& one, share_outcome&& got, batch_state& state);
  /// Waits for the attempt to reach the database, if there is one: its node is not to be used meanwhile.
  static void await_attempt(const member& one);
  /// Gives shares to the databases that have something to do by themselves, also if the batch has nothing for them.
  void add_due(bool is_empty_batch, routed_batch::round& to, const batch_state& state) const;
  /// Has the databases execute these shares in parallel, and gives the batch what has become of each.
  void execute_round(routed_batch& batch, routed_batch::round& shares, batch_state& state);
  /// Waits for the shares that these databases execute, and keeps the other databases going meanwhile.
  [[nodiscard]] round_outcome wait_for(database_set awaited);
  void conclude_heartbeats(round_outcome& of, batch_state& state);
  /// Takes all that the share has brought, except the answers. Returns whether the database has executed it: else the
  /// database is down. Throws node_name_taken.
  bool take(int number, share_outcome& got, batch_state& state);
  void note_down(member& one, std::exception_ptr failure);
  /// Tells an operator which databases do not answer, or answer again, while others do. Of an outage of all databases
  /// the caller learns by the refusal of its batch.
  void report_outages();
  /// Reads the map again if a database knows more than it. If that is not possible now, the next batch does it.
  void read_map_if_changed(routed_batch& batch, batch_state& state);
  /// Throws store_unavailable or store_failure.
  void read_map();
  /// The map as the first database has it; the others go on meanwhile. Throws store_unavailable or store_failure.
  [[nodiscard]] tube_map map_now();
  /// Returns false if the first database is down, also if that has just become known.
  bool try_to_read_map();
  /// Opens the databases that are new in the map, in parallel: this takes as long as the slowest one.
  void open_members();
  /// The map has another connection string for this database.
  void reach_by(int number, member& one, const std::string& connection);
  /// Closes the databases that are no longer in the map.
  void leave_removed();
  /// Each database has a thread, if others can go on beside it.
  void choose_threads();
  /// The node of a database, which has just been reached, or was when it was last used. Throws store_unavailable or
  /// store_failure.
  [[nodiscard]] static postgresql_node& reach(member& one);
  /// What the check of this database finds, with the database's number, unless that is the first one. Throws
  /// store_unavailable, or for the first one store_failure.
  [[nodiscard]] check_result check_member(int number, member& one);
  /// Lets the unplaced puts begin again. Returns false if there are none, or if that is not possible.
  bool retry_unplaced(routed_batch& batch);

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
