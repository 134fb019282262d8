// Two databases with the schema, on the server of the test program, for tests that spread tubes over them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "server.hpp"

namespace foliot_test {

class two_databases : public ::testing::Test {
 protected:
  [[nodiscard]] std::string new_database() const {
    std::string made = server_.new_database();
    foliot::jobs::postgresql_store::migrate(made);
    return made;
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
