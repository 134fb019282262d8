// A node over a database of its own, and a connection beside it that is a superuser's.
#pragma once

#include <memory>

#include <foliot/jobs/postgresql_store.hpp>

#include "database.hpp"

namespace foliot_test {

/// The plans of a node, for a connection.
inline constexpr const char* plans_of_nodes =
    "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; "
    "SET enable_sort = off; SET jit = off";

class postgresql_one_node : public postgresql_database {
 protected:
  /// The check of the whole database finds no damage.
  void expect_right() {
    const auto right = node_->check();
    EXPECT_TRUE(right) << right.error();
  }

  const std::unique_ptr<foliot::jobs::postgresql_store> node_ = open("n");
};

}  // namespace foliot_test
