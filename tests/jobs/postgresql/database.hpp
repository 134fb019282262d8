// A database with the schema, for tests that open several nodes over it, and a connection beside them. The nodes have
// the role that docs/serve/nodes.md describes, so that no test passes by rights that they do not have.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "node_role.hpp"
#include "server.hpp"

namespace foliot_test {

/// The options of a node that is not taken for dead, and does not give up, because the machine is slow.
inline foliot::jobs::postgresql_options options_of(
    const std::string& database, const std::string& node,
    foliot::jobs::milliseconds give_up_after = std::chrono::seconds(30)) {
  foliot::jobs::postgresql_options made;
  made.database = database;
  made.node = node;
  made.node_timeout = std::chrono::hours(1);
  made.give_up_after = give_up_after;
  return made;
}

/// The connection string of a new database that has the schema. It is a copy of one: a migration takes three times as
/// long. The sequences that have the time of the migration get the time of the copy.
inline std::string new_database(postgresql_server& on = postgresql_server::instance()) {
  std::string made = on.new_copy([](const std::string& model) { foliot::jobs::postgresql_store::migrate(model); });
  postgresql_connection(made).sql(
      "SELECT count(setval(c.oid::regclass, now.ms << CASE WHEN c.relname LIKE 'part_of_%' THEN 4 ELSE 0 END)) "
      "FROM pg_class c, (SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint) now (ms) "
      "WHERE c.relkind = 'S' AND c.relnamespace = 'foliot'::regnamespace "
      "AND (c.relname LIKE 'part_of_%' OR c.relname = 'ballast_tried')");
  return made;
}

/// What the constructor of a store says that it throws; empty: it throws nothing.
inline std::string error_of_opening(const foliot::jobs::postgresql_options& with) {
  try {
    const foliot::jobs::postgresql_store opened(with);
  } catch (const foliot::jobs::store_failure& error) {
    return error.what();
  }
  return "";
}

class postgresql_database : public ::testing::Test {
 protected:
  [[nodiscard]] foliot::jobs::postgresql_options options(const std::string& node) const {
    return options_of(for_nodes_, node);
  }
  [[nodiscard]] std::unique_ptr<foliot::jobs::postgresql_store> open(const std::string& node) const {
    return std::make_unique<foliot::jobs::postgresql_store>(options(node));
  }
  std::string sql(const std::string& statement) { return other_.sql(statement); }
  /// A turn of the rotation.
  void rotate() { sql("SELECT setval('foliot.last_turn', 1), foliot.rotate()"); }
  /// How many pages this statement reads, which are in the cache.
  int pages_of(const std::string& statement) {
    sql("CREATE OR REPLACE FUNCTION public.plan_of(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN "
        "RETURN QUERY EXECUTE 'EXPLAIN (ANALYZE, BUFFERS) ' || statement; END $$");
    return std::stoi(
        sql("SELECT substring(string_agg(line, ' ') FROM 'Buffers: shared hit=([0-9]+)') FROM public.plan_of($$" +
            statement + "$$) line"));
  }
  /// So long may counts and pages take.
  void let_counts_take(const std::string& interval) {
    sql("CREATE OR REPLACE FUNCTION foliot.patience_of_counts() RETURNS interval LANGUAGE sql STABLE AS $$ SELECT "
        "interval '" +
        interval + "' $$");
  }

  postgresql_server& server_ = postgresql_server::instance();
  const std::string database_ = new_database();
  const std::string for_nodes_ = as_node_role(database_);
  postgresql_connection other_{database_};
};

}  // namespace foliot_test
