// A database with the schema, for tests that open several nodes over it, and a connection beside them. The nodes have
// the role that docs/serve/nodes.md describes, so that no test passes by rights that they do not have.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "node_role.hpp"
#include "server.hpp"

namespace foliot_test {

class postgresql_database : public ::testing::Test {
 protected:
  [[nodiscard]] foliot::jobs::postgresql_options options(const std::string& node) const {
    foliot::jobs::postgresql_options made;
    made.database = for_nodes_;
    made.node = node;
    made.node_timeout = std::chrono::hours(1);
    made.give_up_after = std::chrono::seconds(30);
    return made;
  }
  std::string sql(const std::string& statement) { return other_.sql(statement); }

  postgresql_server& server_ = postgresql_server::instance();
  const std::string database_ = [this] {
    std::string made = server_.new_database();
    foliot::jobs::postgresql_store::migrate(made);
    return made;
  }();
  const std::string for_nodes_ = as_node_role(database_);
  postgresql_connection other_{database_};
};

}  // namespace foliot_test
