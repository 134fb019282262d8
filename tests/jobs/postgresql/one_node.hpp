// A node over a database of its own, and a connection beside it that is a superuser's.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "server.hpp"

namespace foliot_test {

class postgresql_one_node : public ::testing::Test {
 protected:
  /// The check of the whole database finds no damage.
  void expect_right() {
    const auto right = node_->check();
    EXPECT_TRUE(right) << right.error();
  }

  postgresql_server& server_ = postgresql_server::instance();
  const std::string database_ = server_.new_database();
  const std::unique_ptr<foliot::jobs::postgresql_store> node_ = [this] {
    foliot::jobs::postgresql_store::migrate(database_);
    foliot::jobs::postgresql_options options;
    options.database = database_;
    options.node = "n";
    options.node_timeout = std::chrono::hours(1);
    options.give_up_after = std::chrono::seconds(30);
    return std::make_unique<foliot::jobs::postgresql_store>(options);
  }();
  postgresql_connection other_{database_};
};

}  // namespace foliot_test
