// A simulated world of nodes that serve clients over HTTP: each node is a process with a broker over the store in
// PostgreSQL and sessions of HTTP, over one or two simulated databases that fail (tests/jobs/nodes). All of these are
// the shipped sources, compiled with the simulated side of the seams; threads are fibers on one thread, on virtual
// time, by one seed. The connections between clients and nodes are in memory.
//
// A client reserves at one node and shows its reservation token at another one. Nodes stand still for longer than their
// timeout, die, and are started again under the same name; connections to a database are lost before and after a call
// and in a commit, commits happen late, a standby takes over, disks are full, clocks of databases differ.
//
// The history of the clients is judged by the checker of the simulated server (tests/server/worlds): a reservation
// lasts until its TTR is over or its token has ended it, whatever becomes of the node that has made it. The checker
// accepts the answer that the store cannot be reached. Two more rules are judged here:
//   - ended: where only nodes fail, no database ends the registration of a node before the node was silent for half of
//     its timeout;
//   - left: at the end, when all nodes have ended and all reservations are over, no registration stays.
//
// No failover loses commits, no tube moves, and no tube is paused in these worlds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/schedule/zone.hpp>

#include "jobs/nodes/node_life.hpp"
#include "server/actions/action_runner.hpp"
#include "server/core/byte_stream.hpp"
#include "server/core/held_memory.hpp"
#include "server/http/api.hpp"
#include "server/http/protocol.hpp"
#include "server/schedules/schedule_runner.hpp"
#include "server/schedules/zone_cache.hpp"
#include "server/worlds/client_world.hpp"

namespace foliot::program::worlds {

/// What the nodes of a world do besides what clients ask.
struct node_duties {
  bool acts = false;  ///< changes by filter
  /// Turns of schedules, by these data of time zones: one after the other, from process to process. Empty: none.
  std::vector<schedule::zone_directory> zone_data = {};
  schedule_runner::planning planning = {};
  jobs::nodes::node_life::changed_store store = nullptr;  ///< what a canary does to the store of each node
};

/// One process, from its start to its end.
class http_node {
 public:
  /// Throws store_failure if the database cannot be reached.
  http_node(std::size_t its_number, std::string its_name,
            std::span<const std::unique_ptr<jobs::nodes::simulated_database>> databases, const node_duties& duties)
      : number(its_number), name(std::move(its_name)), process(name, databases, duties.store), duties_(duties) {}

  /// Begins to execute what clients ask, and to do its duties.
  void begin();
  /// Opens a connection, and returns the client's end of it.
  [[nodiscard]] std::unique_ptr<byte_stream> connect();
  /// Ends all connections. Bytes that were on their way are lost, or not.
  void disconnect();
  /// Ends, in order.
  [[nodiscard]] task<> end();
  [[nodiscard]] bool is_dead() const noexcept { return process.process->is_dead(); }

  const std::size_t number;  ///< of all processes of the world, from 1 on
  const std::string name;    ///< also that of its successor
  jobs::nodes::node_life process;
  instant started;
  instant died;  ///< if it is dead, or will be with its next commit

 private:
  static constexpr std::size_t largest_job = 65'535;

  struct session {
    std::unique_ptr<byte_stream> peer;
    runtime::join_handle<> serving;
  };
  [[nodiscard]] task<> serve(byte_stream& peer);

  http::api api_{process.broker, largest_job};
  held_memory memory_{std::size_t{1} << 30};
  http::protocol speaks_{api_, memory_, http::api::limits_for(largest_job)};
  action_runner actions_{process.broker, nullptr, largest_job};
  runtime::join_handle<> running_;  // the broker
  runtime::join_handle<> acting_;
  std::optional<zone_cache> zones_;
  std::optional<schedule_runner> schedules_;
  runtime::join_handle<> scheduling_;
  const node_duties& duties_;
  std::vector<std::unique_ptr<session>> sessions_;
};

class node_world final : public client_world {
 public:
  explicit node_world(jobs::nodes::flaw wrong, node_duties of_nodes = {});

  [[nodiscard]] instant time_now() const override;
  [[nodiscard]] jobs::utc_time utc() const override;
  /// The latest process of some name, which may be dead.
  [[nodiscard]] http_node& any_node() { return *places[below(places.size())]; }
  /// Starts a process in the place of an earlier one of this name.
  void start(std::size_t place);
  /// Whether a node may die: one lives then, or will.
  [[nodiscard]] bool may_lose_one() const;
  /// From now on nothing comes from this process any more.
  void note_death(http_node& of);
  /// From now on registrations of nodes with this name may end.
  void expect_end_of(const std::string& name, instant from);

  // What this seed brings.
  duration trouble_length;
  const node_duties duties;

  std::vector<std::unique_ptr<jobs::nodes::simulated_database>> databases;
  std::vector<std::unique_ptr<http_node>> processes;  ///< in the order of their numbers
  std::vector<http_node*> places;                     ///< the latest process of each name
  /// From when on a database may rightly take a node for dead: by name, the first time.
  std::map<std::string, instant> may_end;
  std::vector<std::string> breaches;
  bool has_troubles = false;  ///< the thread of troubles runs
  std::size_t restarts = 3;   ///< so many processes may still be started in the place of others
  std::size_t deaths = 0;
  instant ends_at;  ///< when the nodes that live began to end, in order
};

/// Runs the nodes of a world, its troubles and its clients, from the beginning to the end.
void run_world(node_world& in, const std::function<task<>()>& clients);

/// What is left of a world.
struct node_outcome {
  history seen;
  std::vector<std::string> breaches;  ///< of the checker, and of the rules above
  std::size_t deaths = 0;
  std::size_t used_elsewhere = 0;    ///< reservations that were ended, or touched, at another node
  std::size_t used_after_death = 0;  ///< and of them those whose node had died
  std::size_t repeated_elsewhere =
      0;  ///< reserves that were sent again to another node, and brought reservations there
};

/// Lives in one world of the simulation.
[[nodiscard]] node_outcome live_with_http(jobs::nodes::flaw wrong);

/// What is left of a world with a change by filter.
struct action_outcome_seen {
  std::vector<std::string> breaches;  ///< of the rule that each job that fits is changed once, and nothing else
  bool died_meanwhile = false;        ///< a node has died while the action ran
};

/// Lives in one world of the simulation, whose client has an action change some jobs of a tube: an action of this kind,
/// or of any if it is empty.
[[nodiscard]] action_outcome_seen live_with_an_action(jobs::nodes::flaw wrong, std::string_view kind = "");

/// What the runner of schedules does wrong.
enum class runner_flaw : std::uint8_t {
  none,
  decides_again,   ///< some turns leave the cursor where it was
  commits_in_two,  ///< the jobs of a turn first, and then its record
};

/// What is left of a world with schedules.
struct schedule_outcome_seen {
  std::vector<std::string> breaches;  ///< of the rule that each occurrence is made once, and nothing else
  std::size_t made = 0;               ///< occurrences
  std::size_t deaths = 0;             ///< of nodes
  std::size_t struck_turns = 0;       ///< turns at whose commit something happened
  std::size_t clock_steps = 0;
  bool has_zones_apart = false;  ///< the nodes had different data of a time zone
};

/// Lives in one world of the simulation, whose nodes take the turns of schedules in a night in which clocks change.
[[nodiscard]] schedule_outcome_seen live_with_schedules(runner_flaw wrong);

}  // namespace foliot::program::worlds
