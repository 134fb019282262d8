// The heartbeats of nodes: what they leave in the database, and where.
#include <gtest/gtest.h>

#include <string>

#include <foliot/jobs/postgresql_store.hpp>

#include "connection.hpp"
#include "one_node.hpp"

namespace foliot::jobs {
namespace {

using foliot_test::postgresql_connection;

class PostgresqlHeartbeats : public foliot_test::postgresql_one_node {
 protected:
  void send_heartbeat() { other_.sql("SELECT foliot.beat(n.session, 0, 0, NULL) FROM foliot.node n"); }
};

// A batch looks its registration up, and would walk over all versions of the row.
TEST_F(PostgresqlHeartbeats, LeaveNothingBehindThatABatchReads) {
  postgresql_connection old(database_);
  old.sql("BEGIN ISOLATION LEVEL REPEATABLE READ");
  old.sql("SELECT 1");  // from now on PostgreSQL keeps all rows that go
  const char* const version = "SELECT format('%s %s', ctid, xmin) FROM foliot.node";
  const std::string before = other_.sql(version);
  for (int i = 0; i < 20; ++i) {
    send_heartbeat();
    other_.sql("SELECT foliot.rotate_table('heard', 0, '0 s')");
  }
  EXPECT_EQ(other_.sql(version), before);
  EXPECT_EQ(other_.sql("SELECT pg_relation_size('foliot.heard_0') + pg_relation_size('foliot.heard_1')"),
            other_.sql("SELECT current_setting('block_size')"));
  EXPECT_EQ(other_.sql("SELECT count(*) FROM foliot.heard"), "1");
}

TEST_F(PostgresqlHeartbeats, WithoutRoomInTheNewPartitionStayInTheOldOne) {
  other_.sql(
      "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS "
      "$$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = 'disk_full'; END $$");
  other_.sql("CREATE TRIGGER refuse BEFORE INSERT ON foliot.heard_1 FOR EACH ROW EXECUTE FUNCTION public.refuse()");
  ASSERT_EQ(other_.sql("SELECT foliot.current_part('heard')"), "0");
  other_.sql("SELECT foliot.set_current_part('heard', 1::smallint)");
  other_.sql("UPDATE foliot.heard SET seen = 1");
  send_heartbeat();
  EXPECT_EQ(other_.sql("SELECT part FROM foliot.heard WHERE seen > 1"), "0");
}

// A dump may lack what its snapshot did not see of a partition that was truncated.
TEST_F(PostgresqlHeartbeats, ARegistrationOfWhichNothingSaysWhenItWasHeardOfHasEnded) {
  other_.sql("DELETE FROM foliot.heard");
  const std::string made = other_.sql("SELECT foliot.announce('other', 1, 3600000000000, 0, NULL)");
  other_.sql("UPDATE foliot.heard SET since = 0");
  EXPECT_EQ(other_.sql("SELECT foliot.beat(" + made + ", 0, 0, NULL)"), "t");
  EXPECT_EQ(other_.sql("SELECT session FROM foliot.node"), made);
}

}  // namespace
}  // namespace foliot::jobs
