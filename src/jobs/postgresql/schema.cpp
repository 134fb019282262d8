#include "schema.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/clock.hpp>

#include "database_connection.hpp"
#include "primary.hpp"
#include "schema_history.hpp"
#include "sleep_for.hpp"
#include "target.hpp"

namespace foliot::jobs::detail {

namespace {

/// For how long a migration is tried again that does not get its locks, and the pause between two attempts, in which
/// the nodes execute what has waited.
constexpr duration attempts_for = std::chrono::seconds(10);
constexpr duration pause_between_attempts = std::chrono::seconds(1);
/// How long to wait for each server until it has accepted the connection.
constexpr duration connect_patience = std::chrono::seconds(10);

/// Takes the lock of migrations, of which one runs at a time, and returns whether there is a schema. The number is that
/// of foliot.lock_of_migration(), which a database without the schema does not have.
constexpr const char* lock_and_look =
    "BEGIN; SET LOCAL client_min_messages = warning; SET LOCAL search_path = pg_catalog; SELECT "
    "pg_advisory_xact_lock(7310845120174305907); "
    "SET LOCAL lock_timeout = '1s'; SELECT to_regprocedure('foliot.schema_version()') IS NOT NULL";
/// Takes the locks of all registrations, which batches hold, and the lock of the rotation (sql/constants.sql): so no
/// transaction of a node begins before a step of the migration and ends after it. Nodes take these locks before any
/// other one, so there is no deadlock.
constexpr const char* wait_for_nodes =
    "SELECT pg_advisory_xact_lock(foliot.lock_of(n.session)) FROM foliot.node n ORDER BY n.session; "
    "SELECT pg_advisory_xact_lock(1718578282::bigint << 32)";
/// Has all nodes announce themselves again, so that those of programs that are no longer admitted are refused.
constexpr const char* end_registrations = "UPDATE foliot.node SET name = NULL";
constexpr const char* look = "SELECT foliot.schema_version(), foliot.oldest_program()";

int number_of(const reply& from, int column) { return std::stoi(std::string(from.bytes(0, column))); }

std::string constant_function(const char* name, int value) {
  return std::string("CREATE OR REPLACE FUNCTION foliot.") + name +
         "() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT " + std::to_string(value) + "'";
}

/// Brings the tables from version `from` to that of the program; 0: there are none.
void take_steps(database_connection& over, int from, const schema_history& history, instant deadline) {
  if (from == 0) {
    over.execute_text("CREATE SCHEMA IF NOT EXISTS foliot", deadline);
    over.execute_text(std::string(schema_tables()), deadline);
    from = 1;
  } else if (from < history.version) {
    over.execute_text(wait_for_nodes, deadline);
    const int admitted = number_of(over.execute_text(look, deadline), 1);
    if (admitted < history.oldest_program) over.execute_text(end_registrations, deadline);
  }
  for (const schema_step& each : history.steps) {
    if (each.to > from) over.execute_text(std::string(each.statements), deadline);
  }
}

/// Connects to the first host that accepts the connection. libpq asks the next host by itself if one cannot be reached
/// or does not accept writes, but not if one has no such database, as a standby of a database that was just made.
std::unique_ptr<database_connection> connect_to_any(target& where, const exchange_step& at_step) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < where.hosts(); ++i) {
    const target::arguments to = where.next();
    try {
      const instant deadline = monotonic_clock::instance().now() + connect_patience;
      return std::make_unique<database_connection>(to.keywords(), to.values(), deadline, at_step);
    } catch (const connect_failure& error) {
      for (const std::string& each : error.reasons()) {  // libpq may have asked this host before
        if (std::ranges::find(reasons, each) == reasons.end()) reasons.push_back(each);
      }
    }
  }
  throw connect_failure(std::move(reasons));
}

postgresql_store::migration migrate_once(target& where, instant deadline) {
  const schema_history history = history_of_schema();
  const exchange_step no_step;
  const std::unique_ptr<database_connection> made = connect_to_any(where, no_step);
  database_connection& connection = *made;
  postgresql_store::migration did;
  if (connection.execute_text(std::string(no_time_limits) + lock_and_look, deadline).bytes(0, 0) == "t") {
    did.from = number_of(connection.execute_text(look, deadline), 0);
  }
  if (did.from > history.version) {
    throw store_failure("the schema in " + connection.place() + " has version " + std::to_string(did.from) +
                        ", which is newer than this program's " + std::to_string(history.version) +
                        ": use a newer program");
  }
  take_steps(connection, did.from, history, deadline);
  connection.execute_text(constant_function("schema_version", history.version), deadline);
  connection.execute_text(constant_function("oldest_program", history.oldest_program), deadline);
  for (const std::string_view file : schema_functions()) connection.execute_text(std::string(file), deadline);
  connection.execute_text("COMMIT", deadline);
  did.to = history.version;
  return did;
}

}  // namespace

postgresql_store::migration migrate_schema(const std::string& database) {
  constexpr duration patience = std::chrono::minutes(10);
  target where(database);
  const instant begin = monotonic_clock::instance().now();
  for (;;) {
    try {
      return migrate_once(where, begin + patience);
    } catch (const database_failure& error) {
      const bool is_locked = error.is_state(lock_not_available);
      const bool is_busy = is_locked || error.is_state(deadlock_detected);
      if (!is_busy || begin + attempts_for < monotonic_clock::instance().now()) {
        throw store_failure("cannot make the schema in " + where.to_string() + ": " + error.what() +
                            (is_locked ? "; nothing has changed. End the transactions that have been open for long "
                                         "(pg_stat_activity), and try again"
                                       : ""));
      }
      sleep_for(pause_between_attempts);
    }
  }
}

void expect_admitted(database_connection& over, instant deadline) {
  const int program = history_of_schema().version;
  const reply versions = over.execute_text(look, deadline);
  const int version = number_of(versions, 0);
  const int oldest = number_of(versions, 1);
  const std::string sentence = "the schema of foliot in " + over.place() + " has version " + std::to_string(version);
  if (version < program) {
    throw store_failure(sentence + ", and this program needs version " + std::to_string(program) +
                        ": bring it up to date with postgresql_store::migrate(), or `foliot serve --migrate`");
  }
  if (program < oldest) {
    throw store_failure(sentence + ", which is for programs of version " + std::to_string(oldest) +
                        " or later, and this one has version " + std::to_string(program) + ": use a newer program");
  }
}

}  // namespace foliot::jobs::detail
