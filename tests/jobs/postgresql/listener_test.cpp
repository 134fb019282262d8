// What the nodes of a PostgreSQL store tell each other.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "jobs/postgresql/notification_listener.hpp"
#include "server.hpp"

namespace foliot::jobs::detail {
namespace {

using namespace std::chrono_literals;
using foliot_test::postgresql_server;

/// Waits until there is news.
news next_news(notification_listener& from) {
  pollfd asked{from.descriptor(), POLLIN, 0};
  while (::poll(&asked, 1, -1) <= 0) {
  }
  return from.take_news();
}

bool is_readable(const notification_listener& of) {
  pollfd asked{of.descriptor(), POLLIN, 0};
  return ::poll(&asked, 1, 0) == 1;
}

/// Reads news until as many tubes have been named, and returns them. They may come one after the other.
std::set<std::string> next_names(notification_listener& at, std::size_t count) {
  std::set<std::string> all;
  while (all.size() < count) {
    const news heard = next_news(at);
    EXPECT_FALSE(heard.any_tube);
    if (heard.any_tube) break;
    all.insert(heard.tubes.begin(), heard.tubes.end());
  }
  return all;
}

using names = std::set<std::string>;

/// A socket that listens on a port of this machine.
class listener {
 public:
  listener() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size), 0);
    port_ = ntohs(at.sin_port);
  }
  ~listener() { ::close(socket_); }
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  /// What connects here, as a part of a connection string.
  [[nodiscard]] std::string address() const { return "host=127.0.0.1 port=" + std::to_string(port_); }
  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] int accept() const { return ::accept(socket_, nullptr, nullptr); }

 private:
  const int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  unsigned port_ = 0;
};

/// Passes connections on to a server's socket, until they are cut: then they stay open, and nothing passes any more.
class relay {
 public:
  explicit relay(const std::string& folder) {
    to_.sun_family = AF_UNIX;
    (folder + "/.s.PGSQL.5432").copy(to_.sun_path, sizeof to_.sun_path - 1);
    EXPECT_EQ(::pipe(orders_), 0);
    thread_ = std::thread([this] { run(); });
  }
  ~relay() {
    order('e');
    thread_.join();
    for (const int each : orders_) ::close(each);
  }
  relay(const relay&) = delete;
  relay& operator=(const relay&) = delete;

  [[nodiscard]] std::string address() const { return listener_.address(); }
  /// Cuts the connections that there are; later ones pass.
  void cut() { order('c'); }

 private:
  void order(char what) { EXPECT_EQ(::write(orders_[1], &what, 1), 1); }

  void run() {
    std::vector<int> all;          // both ends of all connections
    std::map<int, int> other_end;  // of those that pass
    for (;;) {
      std::vector<pollfd> asked{{orders_[0], POLLIN, 0}, {listener_.socket(), POLLIN, 0}};
      for (const auto& [from, to] : other_end) asked.push_back({from, POLLIN, 0});
      if (::poll(asked.data(), asked.size(), -1) <= 0) continue;
      for (std::size_t i = 2; i < asked.size(); ++i) {
        const auto pair = other_end.find(asked[i].fd);
        if (asked[i].revents != 0 && pair != other_end.end() && !pass(pair->first, pair->second)) {
          const int other = pair->second;
          ::shutdown(other, SHUT_RDWR);
          other_end.erase(asked[i].fd);
          other_end.erase(other);
        }
      }
      if (asked[1].revents != 0) {
        const int here = listener_.accept();
        const int there = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        EXPECT_EQ(::connect(there, reinterpret_cast<const sockaddr*>(&to_), sizeof to_), 0);
        other_end[here] = there;
        other_end[there] = here;
        all.insert(all.end(), {here, there});
      }
      char what = 0;
      if (asked[0].revents == 0 || ::read(orders_[0], &what, 1) != 1) continue;
      other_end.clear();
      if (what == 'e') break;
    }
    for (const int each : all) ::close(each);
  }
  /// False if the connection has ended.
  static bool pass(int from, int to) {
    char bytes[4096];
    const auto got = ::read(from, bytes, sizeof bytes);
    return got > 0 && ::send(to, bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
  }

  listener listener_;
  sockaddr_un to_{};
  int orders_[2] = {-1, -1};
  std::thread thread_;
};

class NotificationListener : public ::testing::Test {
 protected:
  /// A listener that is connected: it begins with news of any tube.
  void connect(notification_listener& one) {
    EXPECT_TRUE(next_news(one).any_tube);
    EXPECT_FALSE(is_readable(one));
  }

  postgresql_server& server_ = postgresql_server::instance();
  const std::string database_ = server_.new_database();
};

TEST_F(NotificationListener, IsHeardByTheOthersOnly) {
  notification_listener here(database_, 1s);
  notification_listener there(database_, 1s);
  connect(here);
  connect(there);
  EXPECT_EQ(here.scan_every(), duration(1s));
  here.tell(std::vector<std::string>{"mail"});
  EXPECT_EQ(next_names(there, 1), names{"mail"});
  EXPECT_FALSE(is_readable(there));
  // All hear messages in one order, so this one comes to `here` after its own.
  there.tell(std::vector<std::string>{"back"});
  EXPECT_EQ(next_names(here, 1), names{"back"});
}

TEST_F(NotificationListener, NamesMayHaveAnyBytes) {
  notification_listener here(database_, 1s);
  notification_listener there(database_, 1s);
  connect(here);
  connect(there);
  std::string low;
  std::string high;
  for (int byte = 0; byte < 200; ++byte) {  // the longest name
    low += static_cast<char>(byte);
    high += static_cast<char>(255 - byte);
  }
  const std::string odd = "'{},\"\\\n";
  here.tell(std::vector<std::string>{low, high, odd});
  EXPECT_EQ(next_names(there, 3), (names{low, high, odd}));
}

TEST_F(NotificationListener, NewsStayUntilTheyAreTaken) {
  notification_listener here(database_, 1s);
  notification_listener there(database_, 1s);
  connect(here);
  connect(there);
  pollfd asked{there.descriptor(), POLLIN, 0};
  for (const char* const each : {"a", "b"}) {
    here.tell(std::vector<std::string>{each});
    while (::poll(&asked, 1, -1) <= 0) {
    }
  }
  here.tell(std::vector<std::string>{"c"});
  EXPECT_EQ(next_names(there, 3), (names{"a", "b", "c"}));
  EXPECT_FALSE(is_readable(there));
  EXPECT_EQ(there.take_news(), news{});
}

TEST_F(NotificationListener, TooManyNamesAreAnyTube) {
  notification_listener here(database_, 1s);
  notification_listener there(database_, 1s);
  connect(here);
  connect(there);
  std::vector<std::string> many;
  for (std::size_t i = 0; i <= most_names; ++i) many.push_back("tube " + std::to_string(i));
  here.tell(many);
  news heard;
  while (!heard.any_tube) heard = next_news(there);
}

TEST_F(NotificationListener, AsManyNamesAsAreKeptAreTold) {
  notification_listener here(database_, 1s);
  notification_listener there(database_, 1s);
  connect(here);
  connect(there);
  names many;
  for (std::size_t i = 0; i < most_names; ++i) many.insert("tube " + std::to_string(i));
  here.tell(std::vector<std::string>(many.begin(), many.end()));
  EXPECT_EQ(next_names(there, most_names), many);
}

TEST_F(NotificationListener, AConnectionThatWasLostIsNewsOfAnyTube) {
  notification_listener one(database_, 1s);
  connect(one);
  server_.sql(database_,
              "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
              "WHERE application_name = 'foliot' AND datname = current_database()");
  EXPECT_TRUE(next_news(one).any_tube);
  notification_listener other(database_, 1s);
  connect(other);
  one.tell(std::vector<std::string>{"a"});
  EXPECT_EQ(next_names(other, 1), names{"a"});
}

TEST_F(NotificationListener, AServerThatFallsSilentIsLeft) {
  relay between(server_.folder());
  notification_listener one(between.address() + database_.substr(database_.find(' ')), 1s, 1ms);
  connect(one);
  between.cut();
  EXPECT_TRUE(next_news(one).any_tube);  // over another connection
}

TEST_F(NotificationListener, AServerThatComesBackIsNewsOfAnyTube) {
  notification_listener one(database_, 1s);
  notification_listener other(database_, 1s);
  connect(one);
  connect(other);
  server_.crash();
  one.tell(std::vector<std::string>{"a"});
  EXPECT_FALSE(is_readable(other));
  server_.start();
  EXPECT_TRUE(next_news(one).any_tube);
  EXPECT_TRUE(next_news(other).any_tube);
}

TEST_F(NotificationListener, IgnoresWhatIsNoNameOfATube) {
  notification_listener one(database_, 1s);
  connect(one);
  for (const char* const each : {"xyz", "6", "zz", "6g"}) {
    server_.sql(database_, std::string("SELECT pg_notify('foliot', '") + each + "')");
  }
  server_.sql(database_, "SELECT pg_notify('foliot', '61')");
  EXPECT_EQ(next_news(one), (news{{"a"}, false}));
}

TEST_F(NotificationListener, EndsWhileTheServerIsAway) {
  {
    notification_listener one(database_, 1s);
    connect(one);
    server_.crash();
    one.tell(std::vector<std::string>{"a"});
    const notification_listener other(database_, 1s);
  }
  server_.start();  // for the other cases of this program
}

TEST_F(NotificationListener, EndsWhileAServerDoesNotAnswer) {
  const listener silent;
  int accepted = -1;
  {
    notification_listener waiting(silent.address(), 1s);
    waiting.tell(std::vector<std::string>{"a"});
    accepted = silent.accept();
    EXPECT_FALSE(is_readable(waiting));
  }
  ::close(accepted);
}

}  // namespace
}  // namespace foliot::jobs::detail
