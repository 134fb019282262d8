#include "schema.hpp"

#include <chrono>
#include <string>

#include <foliot/core/clock.hpp>

#include "engine.hpp"
#include "lane.hpp"
#include "target.hpp"

namespace foliot::jobs::detail {

namespace {

/// Only one migration at a time: a number that other programs hardly use.
constexpr const char* lock_and_look =
    "BEGIN; SET LOCAL client_min_messages = warning; SELECT pg_advisory_xact_lock(7310845120174305907); "
    "SELECT to_regprocedure('foliot.schema_version()') IS NOT NULL";

}  // namespace

postgresql_store::migration migrate_schema(const std::string& database) {
  constexpr duration patience = std::chrono::minutes(10);
  target where(database);
  const lane_step no_step;
  try {
    const target::arguments to = where.next();
    const instant deadline = monotonic_clock::instance().now() + patience;
    lane connection(to.keywords(), to.values(), deadline, no_step);
    postgresql_store::migration did;
    if (connection.execute_text(lock_and_look, deadline).bytes(0, 0) == "t") {
      const reply version = connection.execute_text("SELECT foliot.schema_version()", deadline);
      did.from = std::stoi(std::string(version.bytes(0, 0)));
    }
    if (did.from > schema_version) {
      throw store_failure("foliot: the schema in " + connection.place() + " has version " + std::to_string(did.from) +
                          ", which is newer than this program's " + std::to_string(schema_version) +
                          ": use a newer program");
    }
    if (did.from == 0) {
      connection.execute_text("CREATE SCHEMA IF NOT EXISTS foliot", deadline);
      connection.execute_text(std::string(schema_tables()), deadline);
    }
    connection.execute_text(std::string(schema_functions()), deadline);
    did.to = schema_version;
    connection.execute_text(
        "CREATE OR REPLACE FUNCTION foliot.schema_version() RETURNS integer LANGUAGE sql IMMUTABLE "
        "AS 'SELECT " +
            std::to_string(schema_version) + "'",
        deadline);
    connection.execute_text("COMMIT", deadline);
    return did;
  } catch (const lane_failure& error) {
    throw store_failure("foliot: cannot make the schema in " + where.to_string() + ": " + error.what());
  }
}

}  // namespace foliot::jobs::detail
