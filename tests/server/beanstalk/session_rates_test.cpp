// Commands that come sooner than the rate limits allow: each waits for its turn. On virtual time.
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "server/access/authority.hpp"
#include "server/access/rights.hpp"
#include "server/beanstalk/session.hpp"
#include "server/beanstalk/session_streams.hpp"
#include "server/core/client_source.hpp"
#include "server/core/known_stream.hpp"
#include "server/core/rate_limits.hpp"

namespace foliot::program::beanstalk {
namespace {

using namespace std::chrono_literals;

task<> serve_with(server_state& state, byte_stream& peer, const rights_holder& by) {
  {
    session with(state, peer, by);
    co_await with.run();
  }
  peer.close();
}

/// A client with an address and an access token, and its session.
struct client_of {
  client_of(shop& in, std::string_view from, std::string token)
      : by(nullptr,
           std::make_shared<const rights>(std::move(token), "a test", scope_set::all(), std::vector<std::string>{""},
                                          instant::never()),
           nullptr) {
    auto both = test::simulated_stream::pair();
    client = std::move(both.second);
    server = std::make_unique<test::stream_of_known>(std::move(both.first), runtime::address::parse(from).value(), "");
    serving = runtime::spawn(serve_with(in.state, *server, by), "session");
  }

  task<std::string> ask(std::string commands, std::string_view end) {
    const bool written = co_await write_all(*client, commands);
    EXPECT_TRUE(written);
    std::string replies = co_await read_up_to(*client, end);
    co_return replies;
  }
  task<> leave() {
    client->close();
    co_await serving.join();
  }

  rights_holder by;
  std::unique_ptr<byte_stream> client;
  std::unique_ptr<byte_stream> server;
  runtime::join_handle<> serving;
};

TEST(SessionRates, CommandsBeyondTheRateWaitForTheirTurn) {
  request_rates rates({.each_second = 10, .burst = 2}, {});
  with_shop([&](shop& in) -> task<> {
    in.state.rates = &rates;
    client_of one(in, "192.0.2.1:1", "a");
    client_of same(in, "192.0.2.1:2", "b");
    client_of other(in, "192.0.2.2:1", "a");
    const instant begin = runtime::now();
    std::string twelve;
    for (int i = 0; i < 11; ++i) twelve += "put 0 0 60 2\r\nhi\r\n";
    const std::string replies = co_await one.ask(twelve + "list-tube-used\r\n", "USING default\r\n");
    EXPECT_TRUE(replies.starts_with("INSERTED 1\r\nINSERTED 2\r\n")) << replies;
    EXPECT_TRUE(replies.contains("INSERTED 11\r\n")) << replies;
    EXPECT_EQ(runtime::now() - begin, duration(1s)) << "two at once, and ten by their turns: a put is one command";
    const std::string next = co_await same.ask("list-tube-used\r\n", "\r\n");
    EXPECT_EQ(runtime::now() - begin, duration(1100ms)) << "the same address";
    const std::string at_once = co_await other.ask("list-tube-used\r\n", "\r\n");
    EXPECT_EQ(runtime::now() - begin, duration(1100ms)) << "another address";
    EXPECT_EQ(rates.of_address.held_back(), 11U);
    co_await one.leave();
    co_await same.leave();
    co_await other.leave();
  });
}

TEST(SessionRates, ATokenHasItsOwnRate) {
  request_rates rates({}, {.each_second = 1, .burst = 1});
  with_shop([&](shop& in) -> task<> {
    in.state.rates = &rates;
    client_of one(in, "192.0.2.1:1", "a");
    client_of same(in, "192.0.2.2:1", "a");
    client_of other(in, "192.0.2.1:2", "b");
    const instant begin = runtime::now();
    static_cast<void>(co_await one.ask("list-tube-used\r\n", "\r\n"));
    static_cast<void>(co_await other.ask("list-tube-used\r\n", "\r\n"));
    EXPECT_EQ(runtime::now(), begin);
    static_cast<void>(co_await same.ask("list-tube-used\r\n", "\r\n"));
    EXPECT_EQ(runtime::now() - begin, duration(1s));
    co_await one.leave();
    co_await same.leave();
    co_await other.leave();
  });
}

/// A command for which there is no turn is refused, and what its client goes on sending does not keep it from reading
/// so.
TEST(SessionRates, ACommandWhoseTurnIsFarAheadIsRefused) {
  request_rates rates({.each_second = 1, .burst = 1}, {});
  with_shop([&](shop& in) -> task<> {
    in.state.rates = &rates;
    const std::string source = source_of(runtime::address::parse("192.0.2.1:1").value());
    for (int i = 0; i <= 5; ++i) static_cast<void>(rates.of_address.take_ahead(source, runtime::now()));
    client_of one(in, "192.0.2.1:1", "a");
    const std::string refused =
        co_await one.ask("put 0 0 60 60000\r\n" + std::string(60'000, 'x'), "OUT_OF_MEMORY\r\n");
    EXPECT_EQ(refused, "OUT_OF_MEMORY\r\n");
    co_await one.leave();
  });
}

/// The end of a connection does not wait for the turn of a command.
TEST(SessionRates, AConnectionThatIsClosedWaitsNoMore) {
  request_rates rates({.each_second = 1, .burst = 1}, {});
  with_shop([&](shop& in) -> task<> {
    in.state.rates = &rates;
    client_of one(in, "192.0.2.1:1", "a");
    std::string many;
    for (int i = 0; i < 100; ++i) many += "list-tube-used\r\n";
    const std::string first = co_await one.ask(many, "USING default\r\n");
    co_await runtime::sleep(10s);
    EXPECT_FALSE(one.serving.done());
    const instant begin = runtime::now();
    one.server->close();
    co_await one.serving.join();
    EXPECT_LE(runtime::now() - begin, duration(250ms));
  });
}

/// A client that has sent all its commands and closed its side gets its answers.
TEST(SessionRates, AClientThatWritesNoMoreIsAnswered) {
  request_rates rates({.each_second = 1, .burst = 1}, {});
  with_shop([&](shop& in) -> task<> {
    in.state.rates = &rates;
    client_of one(in, "192.0.2.1:1", "a");
    const bool written = co_await write_all(*one.client, "use a\r\nuse b\r\nuse c\r\n");
    EXPECT_TRUE(written);
    co_await one.client->close_write();
    const std::string replies = co_await read_up_to(*one.client, "");
    EXPECT_EQ(replies, "USING a\r\nUSING b\r\nUSING c\r\n");
    co_await one.leave();
  });
}

}  // namespace
}  // namespace foliot::program::beanstalk
