// The signatures of the SQL functions that programs of users call (docs/serve/sql.md, docs/serve/monitoring.md). They
// are stable: arguments may be added at the end, with defaults; a change of what is here breaks those programs.
#include <gtest/gtest.h>

#include <string>

#include "database.hpp"

namespace foliot::jobs {
namespace {

using PostgresqlSignatures = foliot_test::postgresql_database;

TEST_F(PostgresqlSignatures, AreStable) {
  const std::string found = sql(
      "SELECT string_agg(format('%s(%s): %s', p.proname, pg_get_function_arguments(p.oid), "
      "pg_get_function_result(p.oid)),"
      " E'\\n' ORDER BY p.proname, p.oid) FROM pg_proc p WHERE p.pronamespace = 'foliot'::regnamespace AND p.proname IN"
      " ('put', 'put_schedule', 'put_policy', 'cancel', 'cancel_by_key', 'reschedule', 'reschedule_by_key', 'tell', "
      "'metrics', "
      "'restored', 'due')");
  const std::string rest_of_put =
      "delay interval DEFAULT '00:00:00'::interval, at timestamp with time zone DEFAULT NULL::timestamp with time "
      "zone, "
      "priority bigint DEFAULT 1024, ttr interval DEFAULT '00:01:00'::interval, key text DEFAULT NULL::text, "
      "existing text DEFAULT 'keep'::text): bigint\n";
  const std::string due =
      "delay interval DEFAULT '00:00:00'::interval, at timestamp with time zone DEFAULT NULL::timestamp with time "
      "zone): "
      "boolean\n";
  EXPECT_EQ(found,
            "cancel(job bigint): boolean\n"
            "cancel_by_key(tube text, key text): boolean\n"
            "due(prefix text DEFAULT ''::text, since timestamp with time zone DEFAULT NULL::timestamp with time zone, "
            "after bigint DEFAULT 0, most integer DEFAULT 100): TABLE(job bigint, tube text, state text, due timestamp "
            "with time zone)\n"
            "metrics(): TABLE(name text, label text, value double precision)\n"
            "put(tube text, body bytea, " +
                rest_of_put + "put(tube text, body text, " + rest_of_put +
                "put_policy(tube text, policy jsonb): text\n"
                "put_schedule(tube text, name text, plan jsonb): text\n"
                "reschedule(job bigint, " +
                due + "reschedule_by_key(tube text, key text, " + due +
                "restored(): void\n"
                "tell(tube text): void");
}

}  // namespace
}  // namespace foliot::jobs
