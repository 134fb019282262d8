// The same session under TLS, and the way to it.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/tls/tls_stream.hpp>

#include "server/beanstalk/session_streams.hpp"
#include "tls/certificates.hpp"

namespace foliot::program::beanstalk {
namespace {

using namespace std::chrono_literals;

task<std::unique_ptr<byte_stream>> accept_tls(runtime::stream accepted) {
  const tls::tls_context& context = foliot::test::server();
  auto shaken = co_await tls::tls_stream::accept(std::move(accepted), context);
  if (!shaken) co_return nullptr;
  co_return over(std::move(*shaken));
}

task<std::unique_ptr<byte_stream>> connect_tls(runtime::stream below) {
  const tls::tls_context& context = foliot::test::client();
  auto shaken = co_await tls::tls_stream::connect(std::move(below), context, "localhost");
  if (!shaken) co_return nullptr;
  co_return over(std::move(*shaken));
}

task<ends> tls_ends() {
  auto both = runtime::stream::pair().value();
  auto accepting = runtime::spawn(accept_tls(std::move(both.first)), "accepts");
  auto connecting = connect_tls(std::move(both.second));
  std::unique_ptr<byte_stream> client = co_await connecting;
  std::unique_ptr<byte_stream> server = co_await accepting.join();
  co_return ends{std::move(server), std::move(client)};
}

TEST(SessionStreams, UnderTls) {
  with_shop([](shop& in) { return live_over(in, tls_ends); });
}

TEST(SessionStreams, SlowClientsUnderTls) {
  with_shop([](shop& in) { return meet_slow_clients(in, tls_ends); });
}

TEST(SessionStreams, ComeInByTheDoorUnderTls) {
  with_shop([](shop& in) { return come_in(in, accept_tls, connect_tls); });
}

// A client that fails in its handshake keeps nobody out, nor does one that says nothing in it, for long; and the end
// waits for neither.
task<> fail_in_the_handshake(shop& in) {
  const runtime::address at = fresh_name();
  const server_log log(true);
  listener gate(runtime::listener::listen(at).value(), accept_tls);
  access door(2);
  connections clients(in.speaks, door, log);
  auto accepting = runtime::spawn(clients.accept_all(gate), "accepts connections");
  auto silent = co_await runtime::stream::connect(at);
  auto plain = co_await runtime::stream::connect(at);
  static_cast<void>(co_await plain->write_all(std::string_view("reserve\r\n")));
  co_await runtime::sleep(1ms);
  auto making = connect(at, connect_tls);
  const std::unique_ptr<byte_stream> one = co_await making;
  const std::string reply = co_await ask(*one, "list-tube-used\r\n", "\r\n");
  EXPECT_EQ(reply, "USING default\r\n");
  one->close();
  const instant ending = runtime::now();
  gate.close();
  co_await accepting.join();
  co_await clients.end(5s);
  EXPECT_LT(runtime::now() - ending, 1s) << "the end waits for no handshake";
  EXPECT_EQ(in.jobs.counters().clients, 0U);
  silent->close();
}

TEST(SessionStreams, AFailedHandshakeKeepsNobodyOut) { with_shop(fail_in_the_handshake); }

std::size_t count_ended(const std::vector<runtime::stream>& all) {
  return static_cast<std::size_t>(std::ranges::count_if(all, [](const auto& each) { return each.peer_has_ended(); }));
}

// Clients that may not come in are told so under TLS, too; but a crowd of them that says nothing in its handshakes does
// not take more than its places, nor take them for long.
task<> crowd_the_door(shop& in) {
  constexpr std::size_t crowd = 300;
  constexpr std::size_t told = 256;
  const runtime::address at = fresh_name();
  const server_log log(true);
  listener gate(runtime::listener::listen(at).value(), accept_tls);
  access door(0);
  connections clients(in.speaks, door, log);
  auto accepting = runtime::spawn(clients.accept_all(gate), "accepts connections");
  std::vector<runtime::stream> silent;
  for (std::size_t i = 0; i < crowd; ++i) {
    auto connecting = runtime::stream::connect(at);
    auto one = co_await connecting;
    EXPECT_TRUE(one.has_value());
    if (!one) co_return;
    silent.push_back(std::move(*one));
  }
  co_await runtime::sleep(1ms);
  EXPECT_EQ(count_ended(silent), crowd - told);
  co_await runtime::sleep(11s);
  EXPECT_EQ(count_ended(silent), crowd);
  auto making = connect(at, connect_tls);
  const std::unique_ptr<byte_stream> refused = co_await making;
  const std::string refusal = co_await read_up_to(*refused, "");
  EXPECT_EQ(refusal, "OUT_OF_MEMORY\r\n");
  auto connecting = runtime::stream::connect(at);
  auto last = co_await connecting;
  co_await runtime::sleep(1ms);
  const instant ending = runtime::now();
  gate.close();
  co_await accepting.join();
  co_await clients.end(5s);
  EXPECT_LT(runtime::now() - ending, 1s) << "the end waits for no handshake of one that is refused";
  last->close();
}

TEST(SessionStreams, ACrowdAtTheDoorIsBounded) { with_shop(crowd_the_door); }

}  // namespace
}  // namespace foliot::program::beanstalk
