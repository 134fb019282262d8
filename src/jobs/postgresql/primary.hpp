// Connections to the primary: the server that accepts writes and that no other server has replaced, as far as this
// process knows (timelines.hpp).
//
// The first connection to a database with several hosts asks all of them, one after the other, and keeps the connection
// to the server with the highest timeline. A host that does not answer delays us by its connect timeout. Each
// later connection is to the next host that accepts writes, and is refused if another server has replaced that one.
#pragma once

#include <functional>
#include <string_view>

#include "database_connection.hpp"
#include "primary_search.hpp"
#include "target.hpp"

namespace foliot::jobs::detail {

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
