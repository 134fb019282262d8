// What a session asks of its byte stream, whatever that is: the lives of some connections, of which the replies are the
// same for every kind, byte for byte; and the whole way of a connection: listener, access, protocol.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/net/listener.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "jobs/kit/broker_world.hpp"
#include "server/beanstalk/protocol.hpp"
#include "server/beanstalk/server_state.hpp"
#include "server/core/access.hpp"
#include "server/core/connections.hpp"
#include "server/core/listener.hpp"
#include "server/core/simulated_stream.hpp"
#include "server/core/stream_over.hpp"
#include "support/virtual_time.hpp"

namespace foliot::program::beanstalk {

/// The ends of a connection, as the server and the client see them.
struct ends {
  std::unique_ptr<byte_stream> server;
  std::unique_ptr<byte_stream> client;
};

inline task<ends> plain_ends() {
  auto both = runtime::stream::pair().value();
  co_return ends{over(std::move(both.first)), over(std::move(both.second))};
}

inline task<ends> simulated_ends() {
  auto both = test::simulated_stream::pair();
  co_return ends{std::move(both.first), std::move(both.second)};
}

/// What comes up to this end; all that comes if it is empty. An error of a read is added in angle brackets.
inline task<std::string> read_up_to(byte_stream& from, std::string_view end) {
  std::string all;
  while (end.empty() || !all.ends_with(end)) {
    std::string piece(4096, '\0');
    const auto got = co_await from.read_some(std::span(piece));
    if (!got) all += "<" + got.error().message() + ">";
    if (!got || *got == 0) break;
    all.append(piece, 0, *got);
  }
  co_return all;
}

inline task<std::string> ask(byte_stream& with, std::string commands, std::string_view end) {
  const bool written = co_await write_all(with, commands);
  EXPECT_TRUE(written);
  std::string replies = co_await read_up_to(with, end);
  co_return replies;
}

/// One server in memory, on virtual time.
struct shop : foliot::test::broker_world {
  explicit shop(const virtual_clock& time) : broker_world(time, limits()), state(jobs, most, 1000) {}

  static constexpr std::size_t most = 1'000'000;
  static jobs::broker_limits limits() {
    jobs::broker_limits limits;
    limits.job.max_body = most;
    return limits;
  }

  server_state state;
  beanstalk::protocol speaks{state};
};

inline task<> serve_to_the_end(shop& in, byte_stream& peer) {
  co_await in.speaks.serve(peer);
  co_await peer.close_write();
}

template <class Body>
task<> run_shop(shop& in, Body& body) {
  auto running = runtime::spawn(in.jobs.run(), "the broker");
  co_await body(in);
  in.jobs.close();
  co_await running.join();
}

template <class Body>
void with_shop(Body body) {
  virtual_clock clock;
  shop one(clock);
  foliot::test::on_virtual_time(clock, run_shop(one, body));
}

/// A life of a connection with all that a session asks of its stream. `client` is closed at the end.
inline task<> live(shop& in, byte_stream& server, byte_stream& client) {
  auto serving = runtime::spawn(serve_to_the_end(in, server), "session");
  const std::string first = co_await ask(
      client, "put 0 0 60 5\r\nhello\r\nreserve\r\ndelete 1\r\nreserve-with-timeout 0\r\n", "TIMED_OUT\r\n");
  EXPECT_EQ(first, "INSERTED 1\r\nRESERVED 1 5\r\nhello\r\nDELETED\r\nTIMED_OUT\r\n");
  // A reserve that waits, and commands behind it that are read meanwhile.
  const std::string late =
      co_await ask(client, "put 0 1 60 4\r\nlate\r\nreserve\r\nrelease 2 0 0\r\nlist-tube-used\r\n", "default\r\n");
  EXPECT_EQ(late, "INSERTED 2\r\nRESERVED 2 4\r\nlate\r\nRELEASED\r\nUSING default\r\n");
  // A body and a reply that are larger than what any buffer between the two holds at once.
  const std::string large(300'000, 'x');
  const std::string inserted = co_await ask(client, "use t\r\nput 0 0 60 300000\r\n" + large + "\r\n", "3\r\n");
  EXPECT_EQ(inserted, "USING t\r\nINSERTED 3\r\n");
  const std::string found = co_await ask(client, "peek 3\r\nlist-tube-used\r\n", "USING t\r\n");
  EXPECT_TRUE(found == "FOUND 3 300000\r\n" + large + "\r\nUSING t\r\n") << found.size();
  co_await runtime::sleep(
      std::chrono::seconds(3));  // for which the session gives its large buffers back, by a deadline of its reads
  const std::string rest = co_await ask(client, "reserve\r\nquit\r\n", "");
  EXPECT_EQ(rest, "RESERVED 2 4\r\nlate\r\n") << "the end must be one, and no error";
  co_await serving.join();
  client.close();
  co_await runtime::sleep(std::chrono::milliseconds(1));  // on virtual time: the broker has executed its next batch
  EXPECT_EQ(in.jobs.counters().reservations, 0U) << "what the client held is ready again";
}

/// A client that says the end of its side while a reserve waits, and one that goes away without a word.
inline task<> leave(shop& in, byte_stream& polite, byte_stream& client, byte_stream& rude, byte_stream& other_client) {
  auto serving = runtime::spawn(serve_to_the_end(in, polite), "session");
  const bool written = co_await write_all(client, "watch none\r\nignore default\r\nreserve\r\n");
  EXPECT_TRUE(written);
  co_await runtime::sleep(std::chrono::seconds(1));
  co_await client.close_write();
  const std::string answer = co_await read_up_to(client, "");
  EXPECT_EQ(answer, "WATCHING 2\r\nWATCHING 1\r\nTIMED_OUT\r\n");
  co_await serving.join();

  serving = runtime::spawn(serve_to_the_end(in, rude), "session");
  const bool asked = co_await write_all(other_client, "watch none\r\nignore default\r\nreserve\r\n");
  EXPECT_TRUE(asked);
  co_await runtime::sleep(std::chrono::seconds(1));
  EXPECT_EQ(in.jobs.counters().waiting, 1U);
  other_client.close();
  co_await serving.join();
  EXPECT_TRUE(rude.peer_has_ended());
  EXPECT_EQ(in.jobs.counters().waiting, 0U);
  EXPECT_EQ(in.jobs.counters().clients, 0U);
}

/// A client of another protocol is told so, and then the end; a session whose reading is ended by the server answers
/// what it has read.
inline task<> end_early(shop& in, byte_stream& server, byte_stream& client, byte_stream& other,
                        byte_stream& other_client) {
  auto serving = runtime::spawn(serve_to_the_end(in, server), "session");
  const std::string page = co_await ask(client, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "");
  EXPECT_TRUE(page.starts_with("HTTP/1.1 400")) << page;
  EXPECT_TRUE(page.ends_with("no web page.\n")) << page;
  client.close();
  co_await serving.join();

  serving = runtime::spawn(serve_to_the_end(in, other), "session");
  const std::string reply = co_await ask(other_client, "list-tube-used\r\n", "\r\n");
  EXPECT_EQ(reply, "USING default\r\n");
  other.end_reading();
  const std::string rest = co_await read_up_to(other_client, "");
  EXPECT_EQ(rest, "");
  co_await serving.join();
}

/// Makes two connections with `make` for each of the lives above.
template <class Make>
task<> live_over(shop& in, Make make) {
  auto making = make();
  ends one = co_await making;
  co_await live(in, *one.server, *one.client);
  auto making_two = make();
  ends two = co_await making_two;
  auto making_three = make();
  ends three = co_await making_three;
  co_await leave(in, *two.server, *two.client, *three.server, *three.client);
  auto making_four = make();
  ends four = co_await making_four;
  auto making_five = make();
  ends five = co_await making_five;
  co_await end_early(in, *four.server, *four.client, *five.server, *five.client);
}

// ---------------------------------------------------------------- clients that do not go on

constexpr duration test_patience = std::chrono::seconds(60);
constexpr duration just_less = std::chrono::seconds(59);
constexpr duration the_rest = std::chrono::seconds(2);

/// Each byte of a command gives the client its time anew; then it has too little.
template <class Make>
task<> begin_commands(shop& in, Make make) {
  for (const std::string_view half : {"pu", "use a\r\npu", "put 0 0 60 5\r\n", "put 0 0 60 5\r\nhel",
                                      "put 0 0 60 5\r\nhello\r", "put 0 0 60 2000000\r\ntoo large"}) {
    const std::uint64_t before = in.state.slow_clients;
    auto making = make();
    ends one = co_await making;
    auto serving = runtime::spawn(serve_to_the_end(in, *one.server), "session");
    const std::string_view first = half.substr(0, half.size() - 1);
    const bool begun = co_await write_all(*one.client, first);
    EXPECT_TRUE(begun);
    co_await runtime::sleep(just_less);
    const bool written = co_await write_all(*one.client, half.substr(first.size()));
    EXPECT_TRUE(written);
    co_await runtime::sleep(just_less);
    EXPECT_FALSE(serving.done()) << half;
    co_await runtime::sleep(the_rest);
    EXPECT_TRUE(serving.done()) << half;
    EXPECT_EQ(in.state.slow_clients, before + 1) << half;
    one.client->close();
    co_await serving.join();
  }
}

/// Who has sent whole commands may be silent, and so may a worker that waits, whatever it has sent behind that.
template <class Make>
task<> be_silent(shop& in, Make make) {
  for (const std::string_view sent : {"", "list-tube-used\r\n", "watch none\r\nignore default\r\nreserve\r\n",
                                      "watch none\r\nignore default\r\nreserve\r\npu"}) {
    const std::uint64_t before = in.state.slow_clients;
    auto making = make();
    ends one = co_await making;
    auto serving = runtime::spawn(serve_to_the_end(in, *one.server), "session");
    const bool written = co_await write_all(*one.client, sent);
    EXPECT_TRUE(written);
    co_await runtime::sleep(std::chrono::hours(240));
    EXPECT_FALSE(serving.done()) << sent;
    EXPECT_EQ(in.state.slow_clients, before) << sent;
    one.client->close();
    co_await serving.join();
  }
}

inline task<> write_to(byte_stream& to, std::string text) { static_cast<void>(co_await write_all(to, text)); }

/// A client that holds a job and asks for far more than it reads. What it reads gives it its time anew.
template <class Make>
task<> take_no_answers(shop& in, Make make) {
  const std::uint64_t before = in.state.slow_clients;
  auto making = make();
  ends one = co_await making;
  auto serving = runtime::spawn(serve_to_the_end(in, *one.server), "session");
  const std::string held = co_await ask(*one.client, "put 0 0 60000 1\r\nx\r\nreserve\r\n", "x\r\n");
  EXPECT_TRUE(held.contains("RESERVED ")) << held;
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "stats\r\n";
  auto asking = runtime::spawn(write_to(*one.client, many), "asks");
  co_await runtime::sleep(just_less);
  std::string piece(4096, '\0');
  for (std::size_t sum = 0; sum < 300'000;) {
    const auto got = co_await one.client->read_some(std::span(piece));
    EXPECT_TRUE(got.has_value() && *got > 0);
    if (!got || *got == 0) break;
    sum += *got;
  }
  co_await runtime::sleep(just_less);
  EXPECT_FALSE(serving.done());
  EXPECT_EQ(in.jobs.counters().reservations, 1U);
  co_await runtime::sleep(the_rest);
  EXPECT_TRUE(serving.done());
  EXPECT_EQ(in.state.slow_clients, before + 1);
  EXPECT_EQ(in.jobs.counters().reservations, 0U) << "what it held is ready again";
  one.client->close();
  co_await asking.join();
  co_await serving.join();
}

template <class Make>
task<> meet_slow_clients(shop& in, Make make) {
  in.state.patience = test_patience;
  auto beginning = begin_commands(in, make);
  co_await beginning;
  auto being_silent = be_silent(in, make);
  co_await being_silent;
  auto taking = take_no_answers(in, make);
  co_await taking;
}

// ---------------------------------------------------------------- listener, access, protocol

inline runtime::address fresh_name() {
  static int count = 0;
  return runtime::address::parse(fmt::format("unix:@foliot-streams-{}-{}", ::getpid(), ++count)).value();
}

using connecting = task<std::unique_ptr<byte_stream>> (*)(runtime::stream);

inline task<std::unique_ptr<byte_stream>> connect(runtime::address at, connecting how) {
  auto below = co_await runtime::stream::connect(at);
  EXPECT_TRUE(below.has_value());
  if (!below) co_return nullptr;
  auto opening = how(std::move(*below));
  std::unique_ptr<byte_stream> made = co_await opening;
  EXPECT_NE(made, nullptr);
  co_return made;
}

/// Two clients come in, a third one is refused until one of them has left; then the server ends.
inline task<> come_in(shop& in, listener::opening opens, connecting how) {
  const runtime::address at = fresh_name();
  const server_log log(true);
  listener gate(runtime::listener::listen(at).value(), std::move(opens));
  access door(2);
  connections clients(in.speaks, door, log);
  auto accepting = runtime::spawn(clients.accept_all(gate), "accepts connections");
  auto making = connect(at, how);
  const std::unique_ptr<byte_stream> one = co_await making;
  const std::string first = co_await ask(*one, "put 0 0 60 2\r\nhi\r\nreserve\r\n", "hi\r\n");
  EXPECT_EQ(first, "INSERTED 1\r\nRESERVED 1 2\r\nhi\r\n");
  auto making_two = connect(at, how);
  const std::unique_ptr<byte_stream> two = co_await making_two;
  const std::string second = co_await ask(*two, "list-tube-used\r\n", "\r\n");
  EXPECT_EQ(second, "USING default\r\n");

  auto making_three = connect(at, how);
  const std::unique_ptr<byte_stream> refused = co_await making_three;
  const std::string refusal = co_await read_up_to(*refused, "");
  EXPECT_EQ(refusal, "OUT_OF_MEMORY\r\n");
  refused->close();

  const std::string last = co_await ask(*two, "quit\r\n", "");
  EXPECT_EQ(last, "");
  co_await runtime::sleep(std::chrono::milliseconds(1));  // on virtual time: the server's side has ended
  auto making_four = connect(at, how);
  const std::unique_ptr<byte_stream> next = co_await making_four;
  const std::string fourth = co_await ask(*next, "list-tube-used\r\n", "\r\n");
  EXPECT_EQ(fourth, "USING default\r\n");

  const bool asked = co_await write_all(*next, "reserve\r\n");
  EXPECT_TRUE(asked);
  co_await runtime::sleep(std::chrono::milliseconds(1));
  gate.close();
  co_await accepting.join();
  co_await clients.end(std::chrono::seconds(5));
  const std::string at_the_end = co_await read_up_to(*next, "");
  EXPECT_EQ(at_the_end, "TIMED_OUT\r\n");
  const std::string of_first = co_await read_up_to(*one, "");
  EXPECT_EQ(of_first, "");
  EXPECT_EQ(in.jobs.counters().clients, 0U);
}

}  // namespace foliot::program::beanstalk
