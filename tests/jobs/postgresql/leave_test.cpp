// A tube leaves its database just while jobs are put into it, and a database that sends jobs has been restored.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "database.hpp"

namespace foliot::jobs {
namespace {

using foliot_test::postgresql_connection;

class PostgresqlLeave : public foliot_test::postgresql_database {
 protected:
  /// Waits until another connection waits for the lock of leave().
  void until_a_put_waits() {
    while (sql("SELECT count(*) FROM pg_locks WHERE relation = 'foliot.away'::regclass AND NOT granted AND mode ="
               " 'AccessShareLock' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())") ==
           "0") {
    }
  }
};

// A put that waits for the leave must see it, also on a connection whose statements have their plans: else its job
// would be where nobody looks for it.
TEST_F(PostgresqlLeave, APutThatWaitsForItIsRefused) {
  postgresql_connection mover(database_);
  postgresql_connection shop(database_);
  const std::string one_each = "ARRAY['b']::bytea[], ARRAY[0], ARRAY[0], ARRAY[0], ARRAY[1000]";
  int number = 0;
  for (const char* const form : {"keyed", "plain", "application"}) {
    for (int time = 0; time < 3; ++time, ++number) {
      const std::string tube = "tube" + std::to_string(number);
      std::string put = "SELECT foliot.put('" + tube + "', 'x')";
      std::string refused = "in another database";
      if (form == std::string("keyed")) {
        put = "SELECT foliot.put_keyed(NULL, ARRAY['" + tube + "']::bytea[], ARRAY['k']::bytea[], " + one_each +
              ", ARRAY[0])";
        refused = "{5,0}";
      } else if (form == std::string("plain")) {
        put = "SELECT foliot.put_plain(NULL, ARRAY['" + tube + "']::bytea[], " + one_each + ")";
        refused = "{0}";
      }
      mover.sql("BEGIN");
      mover.sql("SELECT foliot.leave('" + tube + "')");
      shop.send(put);
      until_a_put_waits();
      mover.sql("COMMIT");
      const std::string answer = shop.finish();
      EXPECT_NE(answer.find(refused), std::string::npos) << form << " " << time << ": " << answer;
    }
  }
  EXPECT_EQ(sql("SELECT count(*) FROM foliot.job"), "0");
}

// A snapshot from before the database became one of several does not show that it is one.
TEST_F(PostgresqlLeave, APutWithAnOlderSnapshotIsRefused) {
  const std::string second = foliot_test::new_database();
  postgresql_connection shop(database_);
  shop.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  shop.sql("SELECT count(*) FROM pg_class");
  database_map map(database_);
  map.add(second);
  map.move("mails", 1);
  const std::string error = shop.error_of("SELECT foliot.put('mails', 'x')");
  EXPECT_NE(error.find("READ COMMITTED"), std::string::npos) << error;
}

// The other database would take a piece with a number that it has seen for one that it has.
TEST_F(PostgresqlLeave, AfterARestoreNoNumberOfAPieceIsGivenAgain) {
  const std::string piece = "SELECT piece FROM foliot.send_piece('mails', 100, 1000000)";
  sql("SELECT foliot.put('mails', 'x')");
  const std::int64_t before = std::stoll(sql(piece));
  sql("SELECT foliot.forget_piece(" + std::to_string(before) + ")");
  sql("SELECT foliot.put('mails', 'x')");
  sql("UPDATE foliot.origin SET place = 'elsewhere'");  // as after a restore
  EXPECT_GT(std::stoll(sql(piece)), before + 1'000'000);
}

}  // namespace
}  // namespace foliot::jobs
