// Connections to the primary: the server that accepts writes and that no other server has replaced, as far as this
// process knows (timelines.hpp).
//
// The first connection to a database with several hosts asks all of them, one after the other, and keeps the connection
// to the server with the highest timeline. A host that does not answer delays us by its connect timeout. Each
// later connection is to the next host that accepts writes, and is refused if another server has replaced that one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "database_connection.hpp"
#include "target.hpp"
#include "timelines.hpp"

namespace foliot::jobs::detail {

/// A connection, and the server that it has reached.
template <class Connection>
struct reached_connection {
  std::unique_ptr<Connection> over;
  reached_server server;
};

/// `connect` makes a connection with some arguments of a target: reached_connection<Connection>(const
/// target::arguments&). It throws connect_failure, or database_failure. Each server that it reaches is added to
/// `known`.
template <class Connection, class Connect>
class primary_search {
 public:
  primary_search(target& to, timelines& known, const std::function<void(std::string_view)>& warn, Connect connect)
      : to_(to), known_(known), warn_(warn), connect_(std::move(connect)) {}

  /// See connect_to_primary().
  [[nodiscard]] reached_connection<Connection> find() {
    if (to_.hosts() > 1 && !known_.has(to_.to_string())) return find_newest();
    reached_connection<Connection> made = connect(to_.next());
    if (known_.is_replaced(made.server)) {
      tell_refusal(made.server);
      throw database_failure("", why_refused(made.server));
    }
    return made;
  }

 private:
  reached_connection<Connection> connect(const target::arguments& with) {
    reached_connection<Connection> made = connect_(with);
    known_.add(made.server);
    return made;
  }

  reached_connection<Connection> find_newest() {
    std::vector<std::pair<std::size_t, reached_connection<Connection>>> all;  // with their hosts
    std::vector<std::string> reasons;
    const auto note = [&](const std::string& reason) {
      if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(reason);
    };
    for (std::size_t host = 0; host < to_.hosts(); ++host) {
      try {
        all.emplace_back(host, connect(to_.only(host)));
      } catch (const connect_failure& error) {
        for (const std::string& each : error.reasons()) note(each);
      } catch (const database_failure& error) {
        note(error.what());
      }
    }
    reached_connection<Connection> newest;
    for (auto& [host, each] : all) {
      if (known_.is_replaced(each.server)) {
        tell_refusal(each.server);
        note(why_refused(each.server));
      } else if (newest.over == nullptr) {
        newest = std::move(each);
        to_.go_on_behind(host);  // if this server is lost, another one is asked first
      }
    }
    if (newest.over == nullptr) throw connect_failure(std::move(reasons));
    return newest;
  }

  [[nodiscard]] std::string why_refused(const reached_server& server) const {
    return server.place + " is on timeline " + std::to_string(server.timeline) + ", but timeline " +
           std::to_string(known_.highest(server)) + " was seen: another server has replaced it";
  }

  void tell_refusal(const reached_server& server) {
    if (!warn_ || !known_.begins_refusal(server)) return;
    warn_("the database " + why_refused(server) + ". It accepts writes, which would be lost: stop it");
  }

  target& to_;
  timelines& known_;
  const std::function<void(std::string_view)>& warn_;
  const Connect connect_;
};

/// Makes commits durable for the rest of a connection: on the disk, and at those standbys that the database waits for.
/// Sets it also where it is right already: otherwise the connection would follow a change of the server's setting.
constexpr std::string_view durable_commits =
    "SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN "
    "('off', 'local', 'remote_write') THEN 'on' ELSE current_setting('synchronous_commit') END, false); ";

/// Ends the time limits of the role, the database or the server for the rest of a connection. The program has limits of
/// its own, and takes a statement that such a limit has ended for a lost connection. `transaction_timeout` came with
/// PostgreSQL 17.
constexpr std::string_view no_time_limits =
    "SELECT pg_catalog.set_config(s.name, '0', false) FROM pg_catalog.pg_settings s "
    "WHERE s.name IN ('statement_timeout', 'transaction_timeout', 'idle_session_timeout'); ";

using primary_connection = reached_connection<database_connection>;

/// Connects, has the connection look for names in pg_catalog only, and ends its time limits. Throws database_failure if
/// no host is reached, and if the one that is has been replaced: then the next call asks another one. `at_step` must
/// outlive the connection. `warn` may be empty; it gets a sentence for each server that is refused, once in this
/// process.
[[nodiscard]] primary_connection connect_to_primary(target& to, const exchange_step& at_step,
                                                    const std::function<void(std::string_view)>& warn = {});

}  // namespace foliot::jobs::detail
