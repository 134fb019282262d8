// What the nodes of a PostgreSQL store tell each other.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "../../src/jobs/postgresql/bell.hpp"
#include "postgresql_server.hpp"

namespace foliot::jobs::detail {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_server;

/// Waits until there is news.
news next_news(bell& from) {
  pollfd asked{from.descriptor(), POLLIN, 0};
  while (::poll(&asked, 1, -1) <= 0) {
  }
  return from.take_news();
}

bool is_readable(const bell& of) {
  pollfd asked{of.descriptor(), POLLIN, 0};
  return ::poll(&asked, 1, 0) == 1;
}

/// Reads news until these tubes have been named.
void expect_names(bell& at, std::set<std::string> tubes) {
  while (!tubes.empty()) {
    const news heard = next_news(at);
    ASSERT_FALSE(heard.any_tube);
    for (const std::string& each : heard.tubes) tubes.erase(each);
  }
}

class Bell : public ::testing::Test {
 protected:
  /// A bell that is connected: it begins with news of any tube.
  void connect(bell& one) {
    EXPECT_TRUE(next_news(one).any_tube);
    EXPECT_FALSE(is_readable(one));
  }

  postgresql_server& server_ = postgresql_server::instance();
  const std::string database_ = server_.new_database();
};

TEST_F(Bell, IsHeardByTheOthers) {
  bell here(database_, 1s);
  bell there(database_, 1s);
  connect(here);
  connect(there);
  EXPECT_EQ(here.scan_every(), duration(1s));
  const std::string odd("'{},\"\\\n\xff\x01", 10);
  here.tell(std::vector<std::string>{"mail", odd});
  expect_names(there, {"mail", odd});
  EXPECT_FALSE(is_readable(there));
  there.tell(std::vector<std::string>{"back"});
  expect_names(here, {"back"});  // and nothing of what it has told itself
}

TEST_F(Bell, TooManyNamesAreAnyTube) {
  bell here(database_, 1s);
  bell there(database_, 1s);
  connect(here);
  connect(there);
  std::vector<std::string> many;
  for (std::size_t i = 0; i <= most_names; ++i) many.push_back("tube " + std::to_string(i));
  here.tell(many);
  news heard;
  while (!heard.any_tube) heard = next_news(there);
}

TEST_F(Bell, AConnectionThatWasLostIsNewsOfAnyTube) {
  bell one(database_, 1s);
  connect(one);
  server_.sql(database_, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'foliot'");
  EXPECT_TRUE(next_news(one).any_tube);
  bell other(database_, 1s);
  connect(other);
  one.tell(std::vector<std::string>{"a"});
  expect_names(other, {"a"});
}

TEST_F(Bell, IgnoresWhatIsNoNameOfATube) {
  bell one(database_, 1s);
  connect(one);
  for (const char* const each : {"xyz", "6", "zz", "6g"}) {
    server_.sql(database_, std::string("SELECT pg_notify('foliot', '") + each + "')");
  }
  server_.sql(database_, "SELECT pg_notify('foliot', '61')");
  EXPECT_EQ(next_news(one), (news{{"a"}, false}));
}

TEST_F(Bell, EndsWhileTheServerIsAwayOrDoesNotAnswer) {
  {
    const bell nowhere("host=/nowhere", 1s);
  }
  const int silent = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(silent, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  ASSERT_EQ(::bind(silent, reinterpret_cast<sockaddr*>(&at), size), 0);
  ASSERT_EQ(::listen(silent, 1), 0);
  ASSERT_EQ(::getsockname(silent, reinterpret_cast<sockaddr*>(&at), &size), 0);
  {
    bell waiting("host=127.0.0.1 port=" + std::to_string(ntohs(at.sin_port)), 1s);
    waiting.tell(std::vector<std::string>{"a"});
    const int accepted = ::accept(silent, nullptr, nullptr);
    ::close(accepted);
  }
  ::close(silent);
}

}  // namespace
}  // namespace foliot::jobs::detail
