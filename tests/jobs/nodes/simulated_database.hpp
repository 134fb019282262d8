// A simulated database: two servers, of which one is the primary, and the notifications of its nodes. And how nodes
// reach such databases: the simulated side of node_connection.hpp.
//
// Troubles come while `is_troubled`, by the seed: connections that are lost before or after a call, also in a commit;
// calls that take long; conflicts; servers that are down or full; notifications that are lost, late, or come twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/instant.hpp>
#include <foliot/jobs/other_nodes.hpp>

#include "foliot_simulation/world.hpp"
#include "jobs/postgresql/node_connection.hpp"
#include "jobs/postgresql/timelines.hpp"
#include "simulated_server.hpp"

namespace foliot::jobs::nodes {

class simulated_listener;
class simulated_process;

/// What becomes of a primary when its standby takes its place.
enum class old_primary : std::uint8_t {
  is_down,
  confirms_nothing,  ///< it stays, and accepts writes, which no standby confirms
  goes_on,           ///< it comes back, and confirms writes, which are lost
};

/// What becomes of a commit.
enum class commit_fate : std::uint8_t {
  arrives,
  is_sent_late,   ///< the process stands still before it, for longer than a transaction may be idle
  is_lost,        ///< the connection is lost before it
  loses_answer,   ///< it happens, at once or later, and the connection is lost before its answer
  goes_down,      ///< the server is away for a while, before it or behind it
  fails_over,     ///< the standby takes over, before it or behind it
  ends_with_node  ///< it happens, at once or later, and is the last thing that the process has done
};

class simulated_database {
 public:
  simulated_database(std::size_t number, flaw wrong);

  /// For target.
  [[nodiscard]] std::string connection_string() const;
  [[nodiscard]] simulated_server* find(std::string_view host);
  [[nodiscard]] simulated_server& primary() { return *servers_[primary_]; }

  /// The standby takes the place of the primary, and lacks its last `lost` commits.
  void fail_over(std::size_t lost, old_primary then);
  /// The primary is away for so long; a commit under way has happened, if `completes`.
  void go_down(duration length, bool completes);
  /// It is there again if that time is over.
  void come_back();
  /// Everything works again.
  void heal();

  void add(simulated_listener& each) { listeners_.push_back(&each); }
  void remove(simulated_listener& each) { std::erase(listeners_, &each); }
  void notify(const simulated_listener& from, std::span<const std::string> tubes);
  /// Notifications that were late arrive.
  void deliver_late();
  /// The listeners connect again: they have missed something.
  void interrupt_listeners();

  /// Is called with each batch before it is executed, if there is one: a world's own troubles, which come at a certain
  /// step of what a node does. The process may stop, and die.
  std::function<commit_fate(std::span<const operation>, simulated_process&)> meets_batch;
  bool is_troubled = false;
  bool drops_notifications = false;
  /// What failovers have lost.
  std::vector<effect> lost;
  /// How many changes an old primary has confirmed, to any process.
  std::size_t confirmed_by_old = 0;
  /// How many of them to a process that knew before it asked that another server has replaced this one.
  std::size_t confirmed_by_known_old = 0;
  const flaw wrong;

 private:
  /// Stops the server that is not the primary. What it has committed since it was replaced is lost.
  void end_old();

  std::vector<std::unique_ptr<simulated_server>> servers_;
  /// The length of the log of the server that is not the primary when it was replaced: if it goes on.
  std::optional<std::size_t> replaced_at_;
  std::size_t primary_ = 0;
  instant comes_back_ = instant::never();
  std::vector<simulated_listener*> listeners_;
  std::vector<std::pair<simulated_listener*, std::vector<std::string>>> late_;
};

class simulated_listener final : public detail::node_listener {
 public:
  simulated_listener(simulated_database& in, duration scan_every) : in_(in), scan_every_(scan_every) { in_.add(*this); }
  ~simulated_listener() override { in_.remove(*this); }

  void connect_to(detail::target) override {}
  [[nodiscard]] std::optional<missing_connection> outage() const override { return std::nullopt; }
  void tell(std::span<const std::string> tubes) noexcept override { in_.notify(*this, tubes); }
  [[nodiscard]] int descriptor() const noexcept override { return wire_.number(); }
  [[nodiscard]] news take_news() override;
  [[nodiscard]] duration scan_every() const noexcept override { return scan_every_; }

  void hear(std::span<const std::string> tubes);
  void hear_any();

 private:
  simulated_database& in_;
  const duration scan_every_;
  std::set<std::string> tubes_;
  bool any_tube_ = false;
  simulation::descriptor wire_;
};

/// One process with its node, and the way from there to the databases.
class simulated_process final : public detail::database_access, public std::enable_shared_from_this<simulated_process> {
 public:
  explicit simulated_process(std::span<const std::unique_ptr<simulated_database>> all) : all_(all) {}

  [[nodiscard]] std::unique_ptr<detail::node_connection> connect(detail::target& to, const warning& warn) override;
  [[nodiscard]] std::unique_ptr<detail::node_listener> listen(const std::string& database,
                                                              duration scan_every) override;
  [[nodiscard]] std::shared_ptr<database_access> of_other_databases() override { return shared_from_this(); }

  /// The process stands still at its next call, for so long.
  void stop_for(duration length) { stands_still_ = length; }
  /// From now on nothing comes from this process any more.
  void die() noexcept { is_dead_ = true; }
  [[nodiscard]] bool is_dead() const noexcept { return is_dead_; }
  [[nodiscard]] duration take_stop() { return std::exchange(stands_still_, duration::zero()); }

 private:
  [[nodiscard]] simulated_database& database_with(std::string_view host) const;

  const std::span<const std::unique_ptr<simulated_database>> all_;
  detail::timelines known_;
  duration stands_still_{};
  bool is_dead_ = false;
};

}  // namespace foliot::jobs::nodes
