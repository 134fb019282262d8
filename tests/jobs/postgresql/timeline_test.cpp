// A primary that another server has replaced, and that accepts writes all the same: nothing may go there any more.
#include <gtest/gtest.h>

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "broken_node.hpp"
#include "connection.hpp"
#include "database.hpp"
#include "jobs/kit/jobs.hpp"
#include "jobs/postgresql/notification_listener.hpp"
#include "server.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_connection;
using foliot_test::postgresql_server;
using foliot_test::put_one;

/// A primary with a database, and its standby, which takes its place.
class PostgresqlReplacedPrimary : public ::testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& hosts) const { return "host=" + hosts + here_; }
  /// A node that knows both servers, the first primary first.
  [[nodiscard]] postgresql_options options(const std::string& node, const std::string& hosts) {
    postgresql_options made = foliot_test::options_of(at(hosts) + " application_name=" + node, node, 10min);
    made.warn = [this](std::string_view sentence) {
      if (sentence.find("fsync") == sentence.npos) warnings_.emplace_back(sentence);
    };
    return made;
  }
  [[nodiscard]] std::unique_ptr<postgresql_store> open(const std::string& node, const std::string& hosts) {
    return std::make_unique<postgresql_store>(options(node, hosts));
  }
  [[nodiscard]] std::string both() const { return old_.folder() + "," + new_->folder(); }
  [[nodiscard]] int jobs_of(const postgresql_server& server) const {
    return std::stoi(postgresql_connection(at(server.folder())).sql("SELECT count(*) FROM foliot.job"));
  }
  /// Ends the connections of this node.
  void end_connections(const std::string& node, const postgresql_server& server) const {
    postgresql_connection(at(server.folder()))
        .sql("SELECT count(pg_terminate_backend(pid, 600000)) FROM pg_stat_activity WHERE application_name = '" + node +
             "'");
  }
  /// From its next start on, or from now on with `at_once`, the old primary commits without its standby.
  void stand_alone(bool at_once) const {
    postgresql_connection over(at(old_.folder()));
    over.sql("ALTER SYSTEM SET synchronous_standby_names = ''");
    if (at_once) over.sql("SELECT pg_reload_conf()");
  }
  /// Both servers accept writes.
  void divide() const {
    stand_alone(true);
    new_->promote();
  }
  /// Cuts the node off the old primary until it has found the new one. Each connection begins with the next host.
  void move(job_store& node, const std::string& name) const {
    const int before = jobs_of(*new_);
    while (jobs_of(*new_) == before) {
      end_connections(name, old_);
      put_one(node);
    }
  }
  void expect_warning(const postgresql_server& of) const {
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_EQ(warnings_[0], "the database " + of.folder() + "/" + here_.substr(here_.rfind('=') + 1) +
                                " is on timeline 1, but timeline 2 was seen: another server has replaced it. It "
                                "accepts writes, which would be lost: stop it");
  }

  postgresql_server old_;
  const std::string here_ = [this] {
    const std::string database = foliot_test::new_database(old_);
    return database.substr(database.find(' '));
  }();
  const std::unique_ptr<postgresql_server> new_ = postgresql_server::standby_of(old_);
  std::vector<std::string> warnings_;
};

TEST_F(PostgresqlReplacedPrimary, IsRefusedWhenItComesBack) {
  const auto node = open("n", both());
  put_one(*node);
  stand_alone(false);
  old_.crash();
  new_->promote();
  put_one(*node);
  old_.start();
  constexpr int rounds = 4;
  for (int round = 0; round < rounds; ++round) {
    end_connections("n", *new_);
    put_one(*node);
  }
  EXPECT_EQ(jobs_of(*new_), 2 + rounds);
  EXPECT_EQ(jobs_of(old_), 1);
  expect_warning(old_);
}

TEST_F(PostgresqlReplacedPrimary, IsLeftWhenAnotherStoreOfTheProcessHasFoundItsSuccessor) {
  const auto moves = open("moves", both());
  const auto stays = open("stays", both());
  put_one(*stays);
  divide();
  move(*moves, "moves");
  const int at_old = jobs_of(old_);
  const int at_new = jobs_of(*new_);
  put_one(*stays);
  EXPECT_EQ(jobs_of(old_), at_old);
  EXPECT_EQ(jobs_of(*new_), at_new + 1);
}

// A node may wait for the answer to its commit while the old primary stands still and others find the new one.
TEST_F(PostgresqlReplacedPrimary, IsNotBelievedWhenItCommitsLater) {
  const auto moves = open("moves", both());
  foliot_test::broken_node stays(options("stays", both()));
  put_one(*stays);
  divide();
  int at_new = 0;
  stays.break_at({});  // none: counts from here
  stays.at_exchange = [&](int number) {
    if (number != 3) return;  // its commit was sent
    move(*moves, "moves");
    at_new = jobs_of(*new_);
  };
  put_one(*stays);
  EXPECT_GT(at_new, 0);
  EXPECT_EQ(jobs_of(*new_), at_new + 1);
}

// As in a process that has just started: no store of this one has used these connection strings before.
TEST_F(PostgresqlReplacedPrimary, IsRefusedByTheFirstConnection) {
  divide();
  int jobs = 0;
  for (const std::string& hosts : {both(), new_->folder() + "," + old_.folder()}) {
    const auto node = open("n", hosts);
    put_one(*node);
    EXPECT_EQ(jobs_of(*new_), ++jobs);
    EXPECT_EQ(jobs_of(old_), 0);
    expect_warning(old_);
  }
}

// The new primary may lack the last transactions of the old one, and with them the last ids that its sequence has
// given.
TEST_F(PostgresqlReplacedPrimary, HasGivenNoIdThatAnApplicationGetsBeforeANodeHasConnected) {
  constexpr std::int64_t skipped = std::int64_t{1} << 32;
  const auto put = [&](const postgresql_server& into) {
    return std::stoll(postgresql_connection(at(into.folder())).sql("SELECT foliot.put('a', 'x')"));
  };
  const std::int64_t given = put(old_);
  EXPECT_LT(given, skipped) << "a new database skips none";
  new_->promote();
  const std::int64_t next = put(*new_);
  EXPECT_GT(next, skipped);
  EXPECT_EQ(put(*new_), next + 1) << "it skips once";
  put_one(*open("n", new_->folder()));
  EXPECT_GT(put(*new_), next + 1);
}

TEST_F(PostgresqlReplacedPrimary, HasGivenNoIdThatAnApplicationGetsAfterANodeOfThatHasGone) {
  open("n", both())->close();
  new_->promote();
  postgresql_connection shop(at(new_->folder()));
  shop.sql("BEGIN");
  EXPECT_GT(std::stoll(shop.sql("SELECT foliot.put('b', 'x')")), std::int64_t{1} << 32);
  put_one(*open("n", new_->folder()));  // the open transaction does not keep it from connecting
}

TEST_F(PostgresqlReplacedPrimary, DoesNotKeepTheFirstConnectionFromItsOnlyServer) {
  old_.crash();
  new_->promote();
  put_one(*open("n", both()));
  EXPECT_EQ(jobs_of(*new_), 1);
  EXPECT_EQ(warnings_, std::vector<std::string>());
}

TEST_F(PostgresqlReplacedPrimary, GetsNoNews) {
  const auto next_news = [](detail::notification_listener& from) {
    pollfd asked{from.descriptor(), POLLIN, 0};
    while (::poll(&asked, 1, -1) <= 0) {
    }
    return from.take_news();
  };
  detail::notification_listener here(at(both()), 1s);
  EXPECT_TRUE(next_news(here).any_tube);  // it is connected
  const auto node = open("n", both());
  divide();
  move(*node, "n");
  detail::notification_listener there(at(new_->folder()), 1s);
  EXPECT_TRUE(next_news(there).any_tube);
  here.tell(std::vector<std::string>{"a"});
  EXPECT_EQ(next_news(there), (news{{"a"}, false}));
  EXPECT_TRUE(next_news(here).any_tube);  // over another connection
}

}  // namespace
}  // namespace foliot::jobs
