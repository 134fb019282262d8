// Two databases with the schema, on the server of the test program, for tests that spread tubes over them.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "database.hpp"
#include "server.hpp"

namespace foliot_test {

class two_databases : public ::testing::Test {
 protected:
  static std::string new_database() { return foliot_test::new_database(); }
  /// Of a node over the map, which the first one has.
  [[nodiscard]] foliot::jobs::postgresql_options options(
      const std::string& node, foliot::jobs::milliseconds give_up_after = std::chrono::seconds(30)) const {
    return options_of(first_, node, give_up_after);
  }
  [[nodiscard]] std::unique_ptr<foliot::jobs::postgresql_store> open(
      const std::string& node, foliot::jobs::milliseconds give_up_after = std::chrono::seconds(30)) const {
    return std::make_unique<foliot::jobs::postgresql_store>(options(node, give_up_after));
  }
  /// What one of them answers.
  static std::string ask(const std::string& database, const std::string& statement) {
    return postgresql_connection(database).sql(statement);
  }
  /// The database ends all its connections, and refuses new ones.
  void shut(const std::string& database) const {
    const std::string name = name_of(database);
    ask(server_database_, "ALTER DATABASE " + name + " ALLOW_CONNECTIONS false");
    ask(server_database_,
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '" + name + "'");
  }
  void open_again(const std::string& database) const {
    ask(server_database_, "ALTER DATABASE " + name_of(database) + " ALLOW_CONNECTIONS true");
  }
  static std::string name_of(const std::string& database) { return database.substr(database.rfind('=') + 1); }

  postgresql_server& server_ = postgresql_server::instance();
  const std::string server_database_ = "host=" + server_.folder() + " user=postgres dbname=postgres";
  const std::string first_ = new_database();
  const std::string second_ = new_database();
};

}  // namespace foliot_test
