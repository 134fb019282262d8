// Connections, TCP and local: written data is read, ends are reported, and waiting tasks are woken.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "peers.hpp"

namespace foliot::runtime {
namespace {

using namespace std::chrono_literals;
using test::everywhere;
using test::local_pair;

task<> echo(stream peer) {
  std::array<char, 1000> buffer{};
  for (;;) {
    const auto got = co_await peer.read_some(buffer);
    EXPECT_TRUE(got.has_value());
    if (!got || *got == 0) break;
    const auto sent = co_await peer.write_all(std::string_view(buffer.data(), *got));
    EXPECT_EQ(sent.value_or(0), *got);
  }
  EXPECT_FALSE(peer.close_write());
}

task<> echo_all(listener& gate, int connections) {
  std::vector<join_handle<>> all;
  for (int i = 0; i < connections; ++i) {
    auto peer = co_await gate.accept();
    EXPECT_TRUE(peer.has_value());
    if (peer) all.push_back(spawn(echo(std::move(*peer)), "echo"));
  }
  for (auto& each : all) co_await each.join();
}

task<> write_then_end(stream& to, const std::string& text) {
  const auto sent = co_await to.write_all(text);
  EXPECT_EQ(sent.value_or(0), text.size());
  EXPECT_FALSE(to.close_write());
}

task<> talk(address to, std::string text) {
  auto peer = co_await stream::connect(to);
  EXPECT_TRUE(peer.has_value());
  if (!peer) co_return;
  auto writing = spawn(write_then_end(*peer, text), "writes");
  std::string back(text.size() + 1, ' ');
  const auto got = co_await peer->read_all(std::span<char>(back));
  EXPECT_EQ(got.value_or(0), text.size());
  back.resize(got.value_or(0));
  EXPECT_TRUE(back == text);
  co_await writing.join();
  const auto end = co_await peer->read_some(std::span<char>(back));
  EXPECT_EQ(end.value_or(1), 0U);
}

/// Ten connections at once to an echo at that address, half-closed by the one side and then by the other.
void echo_at(const address& at) {
  everywhere([&at]() -> task<> {
    auto gate = listener::listen(at);
    EXPECT_TRUE(gate.has_value());
    const address reached = gate->local_address().value();
    auto serving = spawn(echo_all(*gate, 10), "serves");
    std::vector<join_handle<>> all;
    for (int i = 0; i < 10; ++i) {
      std::string text(static_cast<std::size_t>(1 << (2 * i)), static_cast<char>('a' + i));
      all.push_back(spawn(talk(reached, std::move(text)), "talks"));
    }
    for (auto& each : all) co_await each.join();
    co_await serving.join();
  });
}

TEST(Streams, EchoOverIPv4) { echo_at(address::loopback(0)); }
TEST(Streams, EchoOverIPv6) {
  const int probe = ::socket(AF_INET6, SOCK_STREAM, 0);
  const address at = address::loopback6(0);
  const bool has_it =
      probe >= 0 && ::bind(probe, static_cast<const sockaddr*>(at.system().data()), at.system().size()) == 0;
  if (probe >= 0) ::close(probe);
  if (!has_it) GTEST_SKIP() << "this machine has no IPv6 loopback";
  echo_at(at);
}
TEST(Streams, EchoOverAbstractNames) { echo_at(test::fresh_name()); }
/// A path without a file, even if an earlier run of this test was killed.
std::string fresh_path(const std::string& name) {
  std::string path = ::testing::TempDir() + "foliot-" + name + "-" + std::to_string(::getpid());
  std::filesystem::remove(path);
  return path;
}

TEST(Streams, EchoOverPathsWhichAreRemoved) {
  const std::string path = fresh_path("echo");
  echo_at(address::parse("unix:" + path).value());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Streams, APathThatIsThereIsRefusedAndStays) {
  everywhere([]() -> task<> {
    const std::string path = fresh_path("there");
    const address at = address::parse("unix:" + path).value();
    auto first = listener::listen(at);
    EXPECT_TRUE(first.has_value());
    const auto second = listener::listen(at);
    EXPECT_TRUE(!second && second.error() == std::errc::address_in_use);
    EXPECT_TRUE(std::filesystem::exists(path));
    listener moved = std::move(*first);
    EXPECT_TRUE(std::filesystem::exists(path));
    moved.close();
    EXPECT_FALSE(std::filesystem::exists(path));
    const auto closed = co_await moved.accept();
    EXPECT_TRUE(!closed && closed.error() == io_errc::closed);
  });
}

TEST(Streams, BothEndsKnowTheAddresses) {
  everywhere([]() -> task<> {
    auto gate = listener::listen(address::loopback(0));
    const address at = gate->local_address().value();
    EXPECT_NE(at.port(), 0);
    const address from = address::parse("127.0.0.9:0").value();
    auto peer = co_await stream::connect(at, from);
    auto accepted = co_await gate->accept();
    EXPECT_EQ(peer->peer_address().value(), at);
    EXPECT_EQ(accepted->local_address().value(), at);
    EXPECT_EQ(accepted->peer_address().value(), peer->local_address().value());
    EXPECT_TRUE(peer->local_address().value().to_string().starts_with("127.0.0.9:"));
  });
}

/// A port at which no socket listens, and which no other program on this machine can get meanwhile.
class held_port {
 public:
  held_port() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const address any = address::loopback(0);
    EXPECT_EQ(::bind(socket_, static_cast<const sockaddr*>(any.system().data()), any.system().size()), 0);
  }
  ~held_port() { ::close(socket_); }
  held_port(const held_port&) = delete;
  held_port& operator=(const held_port&) = delete;

  [[nodiscard]] address at() const {
    sockaddr_in bound{};
    socklen_t size = sizeof(bound);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&bound), &size), 0);
    return address::loopback(ntohs(bound.sin_port));
  }

 private:
  const int socket_;
};

TEST(Streams, ARefusedConnectionSaysSo) {
  everywhere([]() -> task<> {
    const held_port unheard;
    const auto refused = co_await stream::connect(unheard.at());
    EXPECT_TRUE(!refused && refused.error() == std::errc::connection_refused);
    const auto absent = co_await stream::connect(test::fresh_name());
    EXPECT_TRUE(!absent && absent.error() == std::errc::connection_refused);
    const auto nowhere = co_await stream::connect(address());
    EXPECT_FALSE(nowhere.has_value());
  });
}

TEST(Streams, TheEndOfAStreamStays) {
  everywhere([]() -> task<> {
    auto [here, there] = local_pair();
    const auto sent = co_await there.write_all(std::string_view("last words"));
    EXPECT_TRUE(sent.has_value());
    there.close();
    std::array<char, 100> buffer{};
    const auto words = co_await here.read_some(buffer);
    EXPECT_EQ(words.value_or(0), 10U);
    for (int i = 0; i < 3; ++i) {
      const auto end = co_await here.read_some(buffer);
      EXPECT_EQ(end.value_or(1), 0U);
    }
  });
}

// A short read means that no more data is there: an end that comes at the same time must not be missed.
TEST(Streams, AnEndThatComesWithTheLastBytesIsSeen) {
  everywhere([]() -> task<> {
    for (int i = 0; i < 100; ++i) {
      auto both = stream::pair();
      auto ends = [](stream to) -> task<> {
        const auto sent = co_await to.write_all(std::string_view("x"));
        EXPECT_TRUE(sent.has_value());
      };
      auto ending = spawn(ends(std::move(both->second)), "ends");
      std::array<char, 100> buffer{};
      std::size_t sum = 0;
      for (;;) {
        const auto got = co_await both->first.read_some(buffer);
        if (!got || *got == 0) break;
        sum += *got;
      }
      EXPECT_EQ(sum, 1U);
      co_await ending.join();
    }
  });
}

TEST(Streams, WritingToWhoIsGoneIsAnErrorAndNoSignal) {
  everywhere([]() -> task<> {
    auto [here, there] = local_pair();
    there.close();
    const auto sent = co_await here.write_all(std::string_view("x"));
    EXPECT_TRUE(!sent && sent.error() == std::errc::broken_pipe);
    here.close();
    EXPECT_EQ(here.close_write(), io_errc::closed);
    const auto closed = co_await here.write_all(std::string_view("x"));
    EXPECT_TRUE(!closed && closed.error() == io_errc::closed);
  });
}

TEST(Streams, AResetReachesWhoReads) {
  everywhere([]() -> task<> {
    auto gate = listener::listen(address::loopback(0));
    auto peer = co_await stream::connect(gate->local_address().value());
    auto accepted = co_await gate->accept();
    std::array<char, 10> buffer{};
    auto reading = spawn(accepted->read_some(std::span<char>(buffer)), "reads");
    co_await yield();
    peer->reset();
    const auto got = co_await reading.join();
    EXPECT_TRUE(!got && got.error() == std::errc::connection_reset);
    const auto end = co_await accepted->read_some(std::span<char>(buffer));
    EXPECT_TRUE(!end || *end == 0);
  });
}

// A reader that always finds data, and tasks that always run: neither keeps the other from running.
TEST(Streams, AlwaysReadyOnesLetOthersRun) {
  run_options options;
  options.processors = 1;
  run(
      []() -> task<> {
        auto [here, there] = local_pair();
        bool enough = false;
        auto counts = [](bool& stop) -> task<> {
          for (int i = 0; i < 100; ++i) co_await yield();
          stop = true;
        };
        auto counting = spawn(counts(enough), "counts");
        std::array<char, 1> byte{};
        while (!enough) {  // what it writes it reads at once: it never waits
          const auto sent = co_await there.write_all(std::string_view("x"));
          const auto got = co_await here.read_some(std::span<char>(byte));
          EXPECT_TRUE(sent && got);
        }
        co_await counting.join();
      }(),
      options);
}

TEST(Streams, NeedARuntime) {
  EXPECT_THROW(static_cast<void>(stream::pair()), std::logic_error);
  EXPECT_THROW(static_cast<void>(listener::listen(address::loopback(0))), std::logic_error);
  EXPECT_THROW(static_cast<void>(watched_descriptor::watch(0)), std::logic_error);
}

/// An error here shows as a hang, hence the deadline: the poller does not repeat a report that an empty try has
/// cleared.
TEST(Streams, NothingIsReadAndWrittenWithoutForgettingThatItIsReady) {
  everywhere([]() -> task<> {
    auto [here, there] = local_pair();
    auto answer = spawn(echo(std::move(there)));
    std::array<char, 5> buffer{};
    for (int round = 0; round < 2; ++round) {
      const auto nothing = co_await here.write_all(std::string_view());
      EXPECT_EQ(nothing.value_or(1), 0U);
      here.set_write_deadline(2min);
      const auto sent = co_await here.write_all(std::string_view("hello"));
      EXPECT_EQ(sent.value_or(0), 5U);
      const auto no_room = co_await here.read_some(std::span<char>(buffer).first(0));
      EXPECT_EQ(no_room.value_or(1), 0U);
      here.set_read_deadline(2min);
      const auto got = co_await here.read_all(std::span<char>(buffer));
      EXPECT_EQ(got.value_or(0), 5U);
    }
    EXPECT_FALSE(here.close_write());
    co_await answer.join();
  });
}

}  // namespace
}  // namespace foliot::runtime
