// The role that docs/serve/nodes.md describes for nodes.
#pragma once

#include <string>

#include "connection.hpp"
#include "documented_sql.hpp"

namespace foliot_test {

/// Makes the role, with its rights in this database, which has the schema. Returns the database's connection string for
/// the role.
inline std::string as_node_role(const std::string& database) {
  postgresql_connection over(database);
  // Roles belong to the server, and databases to tests.
  over.sql("DO $$ BEGIN CREATE ROLE foliot_node LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$");
  over.sql(documented_grants("serve/nodes.md", "foliot_node", "foliot_node"));
  return database + " user=foliot_node";
}

}  // namespace foliot_test
