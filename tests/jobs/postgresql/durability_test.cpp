// What is acknowledged is durable: the store asks its database for that, and does not believe a commit that the
// database warns of.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/database_map.hpp>
#include <foliot/jobs/operations.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "broken_node.hpp"
#include "connection.hpp"
#include "database.hpp"
#include "jobs/kit/jobs.hpp"
#include "server.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;
using foliot_test::postgresql_server;
using foliot_test::put_one;

/// A node over a server of its own, which can be told to wait for a standby that does not exist.
class PostgresqlAbsentStandby : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<postgresql_store> open(milliseconds give_up_after,
                                                       const std::string& name = "a") const {
    return std::make_unique<postgresql_store>(foliot_test::options_of(database_, name, give_up_after));
  }
  void name_standby(const std::string& name) {
    other_.sql("ALTER SYSTEM SET synchronous_standby_names = '" + name + "'");
    other_.sql("SELECT pg_reload_conf()");
  }
  /// The process of the server that waits for the standby, with other work than `but`'s; "NULL": there is none.
  std::string waiting(const std::string& but = "0") {
    return other_.sql(
        "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'foliot' AND pid <> " +
        but);
  }

  postgresql_server server_;
  const std::string database_ = foliot_test::new_database(server_);
  postgresql_connection other_{database_};
};

// The server warns of the commit, and would show it to others, though the standby does not have it.
TEST_F(PostgresqlAbsentStandby, ACommitWhoseWaitWasCancelledIsNotBelieved) {
  const auto node = open(1h);
  std::atomic<int> acknowledged = 0;
  std::atomic<bool> is_last = false;
  std::atomic<bool> is_done = false;
  std::thread putting([&] {
    while (!is_last) {
      put_one(*node);
      ++acknowledged;
    }
    is_done = true;
  });
  name_standby("absent");
  std::string process;
  while ((process = waiting()) == "NULL") {  // the server says not when the name counts
  }
  const int before = acknowledged;
  is_last = true;
  // First the commit of the put, then those of the questions what has become of it.
  for (const char* const end : {"pg_cancel_backend", "pg_cancel_backend", "pg_terminate_backend"}) {
    other_.sql(std::string("SELECT ") + end + "(" + process + ")");
    std::string next;
    while ((next = waiting(process)) == "NULL" && !is_done) {
    }
    process = next;
    EXPECT_EQ(acknowledged, before) << "acknowledged without the standby, after " << end;
    if (is_done) break;
  }
  name_standby("");
  putting.join();
  EXPECT_EQ(acknowledged, before + 1);
  EXPECT_EQ(other_.sql("SELECT count(*) FROM foliot.job"), std::to_string(before + 1));
  put_one(*node);
  EXPECT_EQ(other_.sql("SELECT count(*) FROM foliot.job"), std::to_string(before + 2));
}

// Each commit that waits keeps a connection of the server, also when its node has given up.
TEST_F(PostgresqlAbsentStandby, NoSecondCommitBeginsToWait) {
  const auto node = open(1ms);
  int acknowledged = 0;
  const auto try_put = [&] {
    try {
      put_one(*node);
      ++acknowledged;
      return 'a';
    } catch (const store_unavailable& error) {
      return error.is_in_doubt() ? 'd' : 'n';
    }
  };
  EXPECT_EQ(try_put(), 'a');  // else the next ones would wait for the row of the tube
  name_standby("absent");
  while (try_put() == 'a') {  // the server says not when the name counts
  }
  const std::string first = waiting();
  EXPECT_NE(first, "NULL");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(try_put(), 'n');
  EXPECT_EQ(waiting(first), "NULL");
  const int before = acknowledged;
  name_standby("");
  foliot_test::until_available([&] { put_one(*node); });
  EXPECT_EQ(other_.sql("SELECT count(*) FROM foliot.job"), std::to_string(before + 2))
      << "the one in doubt has happened";
}

// None of these operations changes anything, but each tells its client of the state of the jobs. If the standby has
// become the primary unseen, that state is an old one.
TEST_F(PostgresqlAbsentStandby, NoAnswerLeavesWithoutTheStandby) {
  const auto first = open(1h);
  const job_id kept = execute_one(*first, put{.tube = "b", .key = "k", .body = "x"}).id;
  const job_id none = kept + 1000;
  const std::vector<operation> all{
      peek{none},
      peek_first{"a"},
      put{.tube = "b", .key = "k", .body = "x"},
      finish{{none, 1, 1}},
      release{{none, 1, 1}},
      abandon{{none, 1, 1}},
      bury{{none, 1, 1}},
      touch{{none, 1, 1}},
      cancel{none},
      reschedule{none, milliseconds(0)},
      fire_now{none},
      kick_job{none},
      claim_job{none},
      kick{.tube = "a", .count = 1},
      clear_tube{.tube = "a", .count = 1},
      count_tube{"a"},
      count_all{},
      list_tubes{},
  };
  std::vector<std::unique_ptr<postgresql_store>> nodes;
  for (std::size_t i = 0; i < all.size(); ++i) nodes.push_back(open(1h, "node " + std::to_string(i)));
  std::atomic<bool> is_last = false;
  std::vector<std::jthread> asking;
  for (std::size_t i = 0; i < all.size(); ++i) {
    asking.emplace_back([&, i] {
      while (!is_last) {
        operation each = all[i];
        nodes[i]->execute(std::span(&each, 1));
      }
    });
  }
  name_standby("absent");
  const std::string count =
      "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'foliot'";
  while (other_.sql(count) != std::to_string(all.size())) {  // the server says not when the name counts
  }
  is_last = true;
  // It tells nobody that there is no job.
  EXPECT_TRUE(execute_one(*first, claim{{"a"}}).jobs.empty());
  EXPECT_EQ(other_.sql(count), std::to_string(all.size()));
  name_standby("");
  asking.clear();
  EXPECT_EQ(other_.sql("SELECT count(*) FROM foliot.job"), "1");
}

/// A database whose sessions begin with a setting of its own.
class PostgresqlWeakDatabase : public foliot_test::postgresql_database {
 protected:
  void set_commit(const std::string& level) {
    sql("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = " + level +
        "', current_database()); END $$");
  }
  /// From now on seen() has what is set in transactions that insert into this table, and where, if that is not the
  /// session, whose setting does not follow when those of the server are reloaded.
  void watch(const std::string& table) {
    sql("CREATE TABLE IF NOT EXISTS public.seen (level text)");
    sql("CREATE OR REPLACE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN "
        "INSERT INTO public.seen SELECT setting || coalesce(', ' || nullif(source, 'session'), '') FROM pg_settings "
        "WHERE "
        "name = 'synchronous_commit'; RETURN NULL; END $$");
    sql("CREATE TRIGGER see AFTER INSERT ON " + table + " FOR EACH ROW EXECUTE FUNCTION public.see()");
  }
  std::string seen() { return sql("SELECT string_agg(DISTINCT level, ' ') FROM public.seen"); }
};

TEST_F(PostgresqlWeakDatabase, WaitsForTheDiskAndTheStandbyAllTheSame) {
  watch("foliot.batch");
  for (const char* const level : {"off", "local", "remote_write", "on"}) {
    SCOPED_TRACE(level);
    set_commit(level);
    EXPECT_EQ(postgresql_connection(database_).sql("SHOW synchronous_commit"), level);
    sql("TRUNCATE public.seen");
    postgresql_store node(options("a"));
    put_one(node);
    EXPECT_EQ(seen(), "on");
  }
}

TEST_F(PostgresqlWeakDatabase, MayBeAStrongerOne) {
  watch("foliot.batch");
  set_commit("remote_apply");
  postgresql_store node(options("a"));
  put_one(node);
  EXPECT_EQ(seen(), "remote_apply");
}

TEST_F(PostgresqlWeakDatabase, TheMapWaitsForTheDiskAndTheStandbyAllTheSame) {
  watch("foliot.database");
  set_commit("off");
  const std::string added = foliot_test::new_database();
  database_map(database_).add(added);
  EXPECT_EQ(seen(), "on");
}

}  // namespace
}  // namespace foliot::jobs
