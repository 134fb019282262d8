// What a node tells its operator of the connection for the news of other nodes: nothing else shows that it is missing.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <foliot/core/clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/postgresql_store.hpp>

#include "database.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

class PostgresqlNews : public foliot_test::postgresql_database {
 protected:
  // Roles belong to the server, and other cases use it.
  void TearDown() override {
    if (is_limited_) allow_connections(-1);
  }
  void allow_connections(int count) {
    is_limited_ = count >= 0;
    sql("ALTER ROLE foliot_node CONNECTION LIMIT " + std::to_string(count));
  }
  [[nodiscard]] postgresql_options options_that_note() {
    postgresql_options made = options("a");
    made.warn = [this](std::string_view sentence) {
      if (sentence.find("for news") != std::string_view::npos) warnings_.emplace_back(sentence);
    };
    return made;
  }
  static void use(postgresql_store& node) { execute_one(node, put{.tube = "a", .body = "x"}); }
  /// Uses the node until there are as many warnings, and then for a while.
  void use_until_warned(postgresql_store& node, std::size_t count) {
    while (warnings_.size() < count) use(node);
    use_for(node, 200ms);
  }
  static void use_for(postgresql_store& node, std::chrono::milliseconds length) {
    const instant until = monotonic_clock::instance().now() + duration(length);
    while (monotonic_clock::instance().now() < until) use(node);
  }

  std::vector<std::string> warnings_;  // of the connection for news
  bool is_limited_ = false;
};

TEST_F(PostgresqlNews, AMissingConnectionIsToldOfOnceAndSoIsItsEnd) {
  allow_connections(1);
  postgresql_store node(options_that_note());
  use_until_warned(node, 1);
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find("no connection for news to the database "), std::string::npos) << warnings_[0];
  EXPECT_NE(warnings_[0].find("too many connections for role \"foliot_node\""), std::string::npos) << warnings_[0];
  allow_connections(-1);
  use_until_warned(node, 2);
  ASSERT_EQ(warnings_.size(), 2U);
  EXPECT_NE(warnings_[1].find("is there again, after "), std::string::npos) << warnings_[1];
}

TEST_F(PostgresqlNews, AConnectionThatIsMadeAgainAtOnceIsNotToldOf) {
  postgresql_store node(options_that_note());
  use(node);
  const instant until = monotonic_clock::instance().now() + duration(4s);
  while (monotonic_clock::instance().now() < until) {
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND query LIKE '%LISTEN foliot%' AND pid <> pg_backend_pid()");
    use_for(node, 300ms);
  }
  EXPECT_EQ(warnings_, std::vector<std::string>{});
}

// The batches tell of it. It is longer than a connection may be missing.
TEST_F(PostgresqlNews, AnOutageOfTheServerIsNotToldOf) {
  postgresql_options made = options_that_note();
  made.give_up_after = 1ms;
  postgresql_store node(made);
  use(node);
  server_.crash();
  const instant until = monotonic_clock::instance().now() + duration(4s);
  while (monotonic_clock::instance().now() < until) EXPECT_THROW(use(node), store_unavailable);
  server_.start();
  bool is_back = false;
  while (!is_back) {
    try {
      use(node);
      is_back = true;
    } catch (const store_unavailable&) {  // not yet
    }
  }
  use_for(node, 1s);
  EXPECT_EQ(warnings_, std::vector<std::string>{});
}

}  // namespace
}  // namespace foliot::jobs
