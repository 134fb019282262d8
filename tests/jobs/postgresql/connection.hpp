// A connection to a PostgreSQL server, for tests that ask a database themselves.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

namespace foliot_test {

class postgresql_connection {
 public:
  explicit postgresql_connection(const std::string& database) : connection_(PQconnectdb(database.c_str())) {
    if (PQstatus(connection_) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_));
    this->sql("SET client_min_messages = warning");
  }
  ~postgresql_connection() { PQfinish(connection_); }
  postgresql_connection(const postgresql_connection&) = delete;
  postgresql_connection& operator=(const postgresql_connection&) = delete;

  /// The first column of the first row; nothing if that is NULL or there is none.
  std::optional<std::string> ask(const std::string& statement) {
    PGresult* const got = PQexec(connection_, statement.c_str());
    const ExecStatusType status = PQresultStatus(got);
    std::optional<std::string> value;
    if (status == PGRES_TUPLES_OK && PQntuples(got) > 0 && PQgetisnull(got, 0, 0) == 0) value = PQgetvalue(got, 0, 0);
    const std::string error = PQresultErrorMessage(got);
    PQclear(got);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw std::runtime_error(error);
    return value;
  }
  std::string sql(const std::string& statement) { return ask(statement).value_or("NULL"); }
  /// Sends a statement and does not wait: finish() waits for the answer.
  void send(const std::string& statement) {
    if (PQsendQuery(connection_, statement.c_str()) != 1) throw std::runtime_error(PQerrorMessage(connection_));
  }
  std::string finish() {
    std::string value;
    while (PGresult* const got = PQgetResult(connection_)) {
      value = PQntuples(got) > 0 ? PQgetvalue(got, 0, 0) : PQresultErrorMessage(got);
      PQclear(got);
    }
    return value;
  }
  /// The text of the error; empty: there was none.
  std::string error_of(const std::string& statement) {
    try {
      sql(statement);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

 private:
  PGconn* const connection_;
};

/// Waits until a session of the database waits for a lock, in a statement of which this is true.
inline void until_a_lock_is_awaited(postgresql_connection& over, const std::string& condition = "true") {
  while (over.sql("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = "
                  "'Lock' AND " +
                  condition) == "0") {
  }
}

/// As if the partitions of this table had not changed for so much longer.
inline void age_partitions(postgresql_connection& over, const std::string& table, std::chrono::milliseconds by) {
  const std::string sequence = "foliot.part_of_" + table;
  over.sql("SELECT setval('" + sequence + "', last_value - " + std::to_string(16 * by.count()) + ") FROM " + sequence);
}

}  // namespace foliot_test
