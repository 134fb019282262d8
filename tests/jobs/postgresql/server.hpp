// A PostgreSQL server of the test program's own: in a temporary folder, on a socket there, without syncs. It ends with
// its object, and with the program, also if that is killed.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "connection.hpp"

namespace foliot_test {

class postgresql_server {
 public:
  postgresql_server() : postgresql_server(command("make")) { start(); }
  ~postgresql_server() { run("remove " + folder_); }
  /// A running standby of this server, which from now on must have each commit before it is acknowledged.
  [[nodiscard]] static std::unique_ptr<postgresql_server> standby_of(const postgresql_server& primary) {
    return std::unique_ptr<postgresql_server>(new postgresql_server(command("standby " + primary.folder_)));
  }
  /// The server of this program, which starts with the first use.
  [[nodiscard]] static postgresql_server& instance() {
    static postgresql_server only;
    return only;
  }

  /// The connection string of a new database.
  [[nodiscard]] std::string new_database() { return new_database_like("template1"); }
  /// The same, for a copy of a database that `make` makes of an empty one, once for this server.
  template <class Make>
  [[nodiscard]] std::string new_copy(Make make) {
    if (model_.empty()) {
      const std::string made = new_database();
      make(made);
      model_ = name_of(made);
      // A database cannot be copied while somebody is connected to it, and `make` may have disconnected just now.
      postgresql_connection over("host=" + folder_ + " user=postgres dbname=postgres");
      while (over.sql("SELECT count(*) FROM pg_stat_activity, pg_sleep(0.01) WHERE backend_type = 'client backend' "
                      "AND datname = '" +
                      model_ + "'") != "0") {
      }
    }
    return new_database_like(model_);
  }
  /// Where its socket is.
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// Ends the server as a crash of its process would.
  void crash() { command("crash " + folder_); }
  void start() { command("start " + folder_); }
  /// A standby becomes a primary.
  void promote() { command("promote " + folder_); }
  /// Executes a statement in this database, and returns what it prints.
  std::string sql(const std::string& database, const std::string& statement) {
    return command("sql '" + database + "' \"" + statement + "\"");
  }

  postgresql_server(const postgresql_server&) = delete;
  postgresql_server& operator=(const postgresql_server&) = delete;

 private:
  explicit postgresql_server(std::string folder) : folder_(std::move(folder)) {}

  std::string new_database_like(const std::string& model) {
    const std::string at = "host=" + folder_ + " user=postgres dbname=";
    const std::string name = "test" + std::to_string(++databases_);
    postgresql_connection(at + "postgres").sql("CREATE DATABASE " + name + " TEMPLATE " + model);
    return at + name;
  }
  static std::string name_of(const std::string& database) { return database.substr(database.rfind('=') + 1); }

  static std::pair<int, std::string> run(const std::string& arguments) {
    // The script takes the parent of its shell for the test program, so the shell must not become the script.
    const std::string line = "bash " FOLIOT_POSTGRESQL_SERVER " " + arguments + "; exit $?";
    FILE* const pipe = ::popen(line.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("cannot start a shell");
    std::string output;
    for (int each = 0; (each = std::fgetc(pipe)) != EOF;) output += static_cast<char>(each);
    while (output.ends_with('\n')) output.pop_back();
    return {::pclose(pipe), output};
  }
  static std::string command(const std::string& arguments) {
    auto [status, output] = run(arguments);
    if (status != 0) throw std::runtime_error("postgresql_server.sh " + arguments + " failed: " + output);
    return output;
  }

  std::string folder_;
  std::string model_;  // the database that new_copy() copies; empty: there is none yet
  int databases_ = 0;
};

}  // namespace foliot_test
