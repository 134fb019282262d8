// A node over a database of its own, with a clock of its own: so it has one connection, and none for news. Its
// connections break where a test says.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/postgresql_store.hpp>
#include <foliot/jobs/store_clocks.hpp>

#include "broken_node.hpp"
#include "database.hpp"

namespace foliot_test {

class postgresql_clock_node : public postgresql_database {
 protected:
  explicit postgresql_clock_node(std::chrono::milliseconds give_up_after = std::chrono::seconds(30))
      : give_up_after_(give_up_after) {}

  /// The check of the whole database finds no damage.
  void expect_right() {
    const auto right = (*node_).check();
    EXPECT_TRUE(right) << right.error();
  }

  /// The server's process for the node's newest connection.
  std::string process() {
    return sql(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'foliot' "
        "ORDER BY backend_start DESC LIMIT 1");
  }

  const std::chrono::milliseconds give_up_after_;
  foliot::virtual_clock time_;
  const foliot::jobs::virtual_wall_clock wall_{time_};
  std::vector<std::string> warnings_;
  broken_node node_{[this] {
    foliot::jobs::postgresql_options made = options_of(for_nodes_, "a", give_up_after_);
    made.clocks = foliot::jobs::store_clocks{&wall_, &time_};
    made.warn = [this](std::string_view sentence) { warnings_.emplace_back(sentence); };
    return made;
  }()};
};

}  // namespace foliot_test
