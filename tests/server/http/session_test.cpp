// The life of a connection over HTTP: requests that follow each other, the end of the connection, and slow clients. On
// virtual time.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <foliot/core/seam/random.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "server/core/held_memory.hpp"
#include "server/core/simulated_stream.hpp"
#include "server/http/problem.hpp"
#include "server/http/protocol.hpp"
#include "server/http/service.hpp"
#include "support/virtual_time.hpp"

namespace foliot::program::http {
namespace {

using namespace std::chrono_literals;

task<> sleep_for(duration length) { co_await runtime::sleep(length); }

/// Answers with what it was asked. Refuses what begins with /no, takes room for /large, waits for 10 s at /wait and
/// for an hour at /hour, and ends behind /last.
class echo final : public service {
 public:
  std::unique_ptr<conversation> begin(byte_stream& /*peer*/) override { return std::make_unique<talk>(*this); }

  std::vector<std::string> answered;

 private:
  class talk final : public conversation {
   public:
    explicit talk(echo& owner) noexcept : owner_(owner) {}

    std::optional<response> refuse(const request& head) override {
      if (!head.target.starts_with("/no")) return std::nullopt;
      return respond({403, "not here"});
    }
    task<response> answer(request& what, answering_side& side) override {
      owner_.answered.push_back(what.target);
      response made;
      made.content_type = "text/plain";
      if (what.target == "/large") {
        const bool has_room = co_await side.take_room(200'000);
        made.body = has_room ? std::string(200'000, 'x') : "no room";
      } else if (what.target == "/wait" || what.target == "/hour") {
        auto waiting = side.wait_for(sleep_for(what.target == "/wait" ? duration(10s) : duration(1h)));
        const bool is_there = co_await waiting;
        made.body = is_there ? fmt::format("waited with {}", what.body.size()) : "gone";
      } else {
        made.body = fmt::format("{} {} {}\n", what.method, what.target, what.body);
      }
      made.closes = what.target == "/last";
      co_return made;
    }

   private:
    echo& owner_;
  };
};

struct world {
  explicit world(std::size_t most_memory = std::numeric_limits<std::size_t>::max()) : memory(most_memory) {}

  echo answers;
  held_memory memory;
  protocol speaks{answers, memory, request_limits{.body = 100'000}};
  std::pair<std::unique_ptr<byte_stream>, std::unique_ptr<byte_stream>> ends = test::simulated_stream::pair();
  byte_stream& client = *ends.second;
};

task<> serve_to_the_end(world& in) {
  co_await in.speaks.serve(*in.ends.first);
  in.ends.first->close();
}

/// What comes up to this end, or all that comes; an error of a read in angle brackets.
task<std::string> read_up_to(byte_stream& from, std::string_view end) {
  std::string all;
  while (end.empty() || !all.ends_with(end)) {
    std::string piece(512, '\0');
    const auto got = co_await from.read_some(std::span(piece));
    if (!got) all += "<" + got.error().message() + ">";
    if (!got || *got == 0) break;
    all.append(piece, 0, *got);
  }
  co_return all;
}

task<std::string> ask(byte_stream& with, std::string requests, std::string_view end) {
  const bool is_written = co_await write_all(with, requests);
  EXPECT_TRUE(is_written);
  std::string responses = co_await read_up_to(with, end);
  co_return responses;
}

template <class Body>
task<> run_world(world& in, Body& body) {
  auto serving = runtime::spawn(serve_to_the_end(in), "session");
  co_await body(in);
  in.client.close();
  co_await serving.join();
}

template <class Body>
void with_session(Body body) {
  virtual_clock clock;
  world one;
  foliot::test::on_virtual_time(clock, run_world(one, body));
  EXPECT_EQ(one.memory.bytes(), 0u) << "nothing is held behind the end";
}

/// The statuses of the responses in the text, in their order.
std::string statuses(std::string_view text) {
  std::string all;
  for (std::size_t at = 0; (at = text.find("HTTP/1.1 ", at)) != std::string_view::npos; ++at) {
    all += std::string(all.empty() ? "" : " ") + std::string(text.substr(at + 9, 3));
  }
  return all;
}

const std::string head_end = "\r\n\r\n";

task<> write(byte_stream& to, std::string text) {
  const bool is_written = co_await write_all(to, text);
  EXPECT_TRUE(is_written);
}

/// Writes the text again and again, with pauses, until that is not possible.
task<> drip(byte_stream& to, std::string text, duration pause) {
  bool is_written = true;
  while (is_written) {
    is_written = co_await write_all(to, text);
    co_await runtime::sleep(pause);
  }
}

/// Writes the text in random pieces, with random pauses.
task<> write_in_pieces(byte_stream& to, std::string text, random_stream& random) {
  std::string_view left = text;
  while (!left.empty()) {
    const std::string_view piece = left.substr(0, static_cast<std::size_t>(1 + random.below(20)));
    const bool is_written = co_await write_all(to, piece);
    EXPECT_TRUE(is_written);
    left.remove_prefix(piece.size());
    if (random.below(4) == 0) co_await runtime::sleep(std::chrono::milliseconds(random.below(20)));
  }
}

/// The bodies of the responses in the text, one behind the other.
std::string bodies(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    constexpr std::string_view name = "Content-Length: ";
    const std::size_t at = text.find(name);
    const std::size_t begin = text.find(head_end);
    if (at == std::string_view::npos || begin == std::string_view::npos) break;
    std::size_t length = 0;
    std::from_chars(text.data() + at + name.size(), text.data() + text.size(), length);
    text.remove_prefix(begin + head_end.size());
    all += text.substr(0, length);
    text.remove_prefix(std::min(length, text.size()));
  }
  return all;
}

TEST(HttpSession, AnswersInOrderAndGoesOn) {
  with_session([](world& in) -> task<> {
    const std::string first = co_await ask(in.client, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n", "/1 \n");
    EXPECT_EQ(statuses(first), "200");
    co_await runtime::sleep(100s);
    const std::string rest = co_await ask(in.client,
                                          "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
                                          "HEAD /3 HTTP/1.1\r\nHost: a\r\n\r\n"
                                          "GET /last HTTP/1.1\r\nHost: a\r\n\r\n"
                                          "GET /never HTTP/1.1\r\nHost: a\r\n\r\n",
                                          "");
    EXPECT_EQ(statuses(rest), "200 200 200");
    EXPECT_TRUE(rest.contains("POST /2 abc\n")) << rest;
    EXPECT_FALSE(rest.contains("HEAD /3 \n")) << "no body: " << rest;
    EXPECT_TRUE(rest.contains("Connection: close\r\n\r\nGET /last \n")) << rest;
    EXPECT_EQ(in.answers.answered, (std::vector<std::string>{"/1", "/2", "/3", "/last"}));
  });
}

TEST(HttpSession, EndsWhereTheClientWantsIt) {
  with_session([](world& in) -> task<> {
    const std::string all = co_await ask(in.client, "GET /1 HTTP/1.0\r\n\r\nGET /2 HTTP/1.0\r\n\r\n", "");
    EXPECT_EQ(statuses(all), "200");
  });
  with_session([](world& in) -> task<> {
    const std::string all = co_await ask(in.client,
                                         "GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
                                         "GET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
                                         "");
    EXPECT_EQ(statuses(all), "200 200");
    EXPECT_TRUE(all.contains("Connection: keep-alive\r\n")) << all;
  });
}

TEST(HttpSession, TellsTheClientToGoOn) {
  with_session([](world& in) -> task<> {
    const std::string head = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
    const std::string interim = co_await ask(in.client, head, head_end);
    EXPECT_EQ(interim, "HTTP/1.1 100 Continue\r\n\r\n");
    const std::string final = co_await ask(in.client, "abc", "abc\n");
    EXPECT_EQ(statuses(final), "200");
  });
}

TEST(HttpSession, RefusesByTheHeadAlone) {
  with_session([](world& in) -> task<> {
    const std::string head = "POST /no HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
    const std::string all = co_await ask(in.client, head, "");
    EXPECT_EQ(statuses(all), "403") << "and no 100";
    EXPECT_TRUE(all.contains("Connection: close\r\n")) << all;
    EXPECT_TRUE(in.answers.answered.empty());
  });
  with_session([](world& in) -> task<> {
    const std::string all =
        co_await ask(in.client, "GET /no HTTP/1.1\r\nHost: a\r\n\r\nGET /1 HTTP/1.1\r\nHost: a\r\n\r\n", "/1 \n");
    EXPECT_EQ(statuses(all), "403 200") << "without a body the connection goes on";
  });
}

TEST(HttpSession, AMalformedRequestEndsTheConnection) {
  with_session([](world& in) -> task<> {
    const std::string all =
        co_await ask(in.client,
                     "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
                     "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx"
                     "GET /3 HTTP/1.1\r\nHost: a\r\n\r\n",
                     "");
    EXPECT_EQ(statuses(all), "200 400");
    EXPECT_TRUE(all.contains(R"("header":"content-length")")) << all;
    EXPECT_EQ(in.answers.answered, std::vector<std::string>{"/1"});
  });
}

/// The head, byte by byte: the client is never silent, and is late nevertheless.
TEST(HttpSession, ASlowHeadHasADeadline) {
  with_session([](world& in) -> task<> {
    const std::string head = "GET / HTTP/1.1\r\nHost: aaaa";
    for (std::size_t i = 0; i < 10; ++i) {
      const bool is_written = co_await write_all(in.client, std::string_view(head).substr(i, 1));
      EXPECT_TRUE(is_written);
      co_await runtime::sleep(999ms);
    }
    const std::string all = co_await read_up_to(in.client, "");
    EXPECT_EQ(statuses(all), "408");
    EXPECT_TRUE(in.answers.answered.empty());
  });
}

TEST(HttpSession, ASlowBodyHasADeadline) {
  with_session([](world& in) -> task<> {
    const instant begin = runtime::now();
    const bool is_written =
        co_await write_all(in.client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n12345678");
    EXPECT_TRUE(is_written);
    const std::string all = co_await read_up_to(in.client, "");
    EXPECT_EQ(statuses(all), "408");
    EXPECT_EQ(runtime::now() - begin, duration(30s));
  });
}

TEST(HttpSession, AnIdleConnectionEnds) {
  with_session([](world& in) -> task<> {
    static_cast<void>(co_await ask(in.client, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n", "/1 \n"));
    const instant begin = runtime::now();
    const std::string rest = co_await read_up_to(in.client, "");
    EXPECT_EQ(rest, "");
    EXPECT_EQ(runtime::now() - begin, duration(120s));
  });
}

TEST(HttpSession, AClientThatDoesNotReadIsDropped) {
  with_session([](world& in) -> task<> {
    const bool is_written = co_await write_all(in.client, "GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_TRUE(is_written);
    co_await runtime::sleep(60s);
    EXPECT_TRUE(in.client.peer_has_ended());
  });
}

TEST(HttpSession, LargeBodiesGoBothWays) {
  with_session([](world& in) -> task<> {
    const std::string body(100'000, 'y');
    const std::string request = "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + body;
    const std::string first = co_await ask(in.client, request, "y\n");
    EXPECT_EQ(statuses(first), "200");
    EXPECT_TRUE(first.ends_with(" /1 " + body + "\n")) << first.size();
    const std::string second =
        co_await ask(in.client, "GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "");
    EXPECT_TRUE(second.ends_with("\r\n\r\n" + std::string(200'000, 'x'))) << second.size();
  });
}

TEST(HttpSession, HeadsThatAreTooLongAreRefused) {
  const auto refusal = [](std::string sent) {
    std::string got;
    with_session([&](world& in) -> task<> {
      const std::string all = co_await ask(in.client, sent, "");
      got = statuses(all);
      EXPECT_TRUE(all.contains("Connection: close\r\n")) << all;
      EXPECT_TRUE(in.answers.answered.empty());
    });
    return got;
  };
  EXPECT_EQ(refusal("GET /" + std::string(8192, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), "414");
  EXPECT_EQ(refusal("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(32'768, 'a') + "\r\n\r\n"), "431");
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 100; ++i) many += "a: b\r\n";
  EXPECT_EQ(refusal(many + "\r\n"), "431");
  EXPECT_EQ(refusal("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\n"), "413");
}

/// Its client sends a byte now and then, for as long as the server takes it.
TEST(HttpSession, ABodyThatNeverEndsHasADeadline) {
  with_session([](world& in) -> task<> {
    const instant begin = runtime::now();
    co_await write(in.client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    auto dripping = runtime::spawn(drip(in.client, "x", 999ms), "client");
    const std::string all = co_await read_up_to(in.client, "");
    EXPECT_EQ(statuses(all), "408");
    EXPECT_GE(runtime::now() - begin, duration(30s));
    EXPECT_LE(runtime::now() - begin, duration(32s));
    in.client.close();
    co_await dripping.join();
    EXPECT_TRUE(in.answers.answered.empty());
  });
}

TEST(HttpSession, ChunksThatNeverEndAreTooMany) {
  const std::string plain = "64\r\n" + std::string(100, 'x') + "\r\n";
  const std::string extended = "1;extension\r\nx\r\n";
  for (const std::string& chunk : {plain, extended}) {
    with_session([chunk](world& in) -> task<> {
      co_await write(in.client, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
      std::string many;
      while (many.size() < 10'000) many += chunk;
      auto dripping = runtime::spawn(drip(in.client, many, 100ms), "client");
      const std::string all = co_await read_up_to(in.client, "");
      EXPECT_EQ(statuses(all), chunk.contains(';') ? "400" : "413");
      in.client.close();
      co_await dripping.join();
      EXPECT_TRUE(in.answers.answered.empty());
    });
  }
}

/// What follows a refused request is never taken for one, wherever the bytes are split.
TEST(HttpSession, NothingBehindASmuggledRequestIsAnswered) {
  for (const std::string sent :
       {"POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\nContent-Length: 6\r\n\r\nabcdef",
        "POST /1 HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a\nX\r\nhello\r\n0\r\n\r\n",
        "POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n",
        "GET /1 HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", "GET /1 HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"}) {
    with_session([sent](world& in) -> task<> {
      const std::string all = co_await ask(in.client, sent + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n", "");
      EXPECT_TRUE(all.starts_with("HTTP/1.1 400 ") || all.starts_with("HTTP/1.1 501 ")) << all << " for " << sent;
      EXPECT_TRUE(in.answers.answered.empty()) << sent;
    });
  }
}

/// Requests one behind the other, in random pieces with random pauses: the responses are those of one write.
TEST(HttpSession, PiecesMakeNoDifference) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    with_session([seed](world& in) -> task<> {
      random_stream random(seed);
      std::string sent;
      std::string expected;
      for (int i = 0; i < 10; ++i) {
        const std::string body(static_cast<std::size_t>(random.below(300)), 'b');
        const std::string target = fmt::format("/{}", i);
        if (random.below(2) == 0) {
          sent += fmt::format("POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}", target, body.size(), body);
        } else {
          sent += fmt::format("POST {} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", target);
          if (!body.empty()) sent += fmt::format("{:x}\r\n{}\r\n", body.size(), body);
          sent += "0\r\n\r\n";
        }
        expected += fmt::format("POST {} {}\n", target, body);
      }
      sent += "GET /last HTTP/1.1\r\nHost: a\r\n\r\n";
      expected += "GET /last \n";
      auto writing = runtime::spawn(write_in_pieces(in.client, sent, random), "client");
      const std::string all = co_await read_up_to(in.client, "");
      co_await writing.join();
      EXPECT_EQ(bodies(all), expected);
    });
  }
}

/// A body waits for room, and its client goes away meanwhile.
TEST(HttpSession, WithoutRoomABodyIsNotRead) {
  virtual_clock clock;
  world one;
  held_memory little(4096);
  protocol speaks(one.answers, little, request_limits{.body = 100'000});
  const auto live = [&]() -> task<> {
    const auto other = test::simulated_stream::pair();
    memory_holder greedy(little, *other.first);
    greedy.holds(1'000'000);
    auto serving = runtime::spawn(speaks.serve(*one.ends.first), "session");
    const std::string request =
        "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\n" + std::string(90'000, 'x');
    auto writing = runtime::spawn(write_all(one.client, request), "client");
    co_await runtime::sleep(500ms);
    EXPECT_EQ(little.waiting(), 1u);
    EXPECT_LE(little.bytes(), 1'100'000u);
    one.client.close();
    const bool is_written = co_await writing.join();
    EXPECT_FALSE(is_written);
    co_await serving.join();
    EXPECT_TRUE(one.answers.answered.empty());
  };
  foliot::test::on_virtual_time(clock, live());
}

/// The room comes later than a body may take: that is no fault of the client.
TEST(HttpSession, AWaitForRoomIsNoTimeOfTheBody) {
  virtual_clock clock;
  world one(4096);
  const auto live = [&]() -> task<> {
    const auto other = test::simulated_stream::pair();
    memory_holder greedy(one.memory, *other.first);
    greedy.waits_for_client(false);
    greedy.holds(1'000'000);
    auto serving = runtime::spawn(serve_to_the_end(one), "session");
    const std::string request =
        "POST /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 90000\r\n\r\n" + std::string(90'000, 'x');
    auto writing = runtime::spawn(write_all(one.client, request), "client");
    co_await runtime::sleep(40s);
    EXPECT_EQ(one.memory.waiting(), 1u);
    greedy.holds(0);
    const std::string all = co_await read_up_to(one.client, "");
    EXPECT_EQ(statuses(all), "200");
    one.client.close();
    static_cast<void>(co_await writing.join());
    co_await serving.join();
  };
  foliot::test::on_virtual_time(clock, live());
}

/// The body of a request counts until the request has been answered.
TEST(HttpSession, WhatAWaitingRequestHoldsCounts) {
  with_session([](world& in) -> task<> {
    const std::string request = "POST /wait HTTP/1.1\r\nHost: a\r\nContent-Length: 90000\r\n\r\n";
    co_await write(in.client, request + std::string(90'000, 'x'));
    co_await runtime::sleep(1s);
    EXPECT_GE(in.memory.bytes(), 90'000u - held_memory::allowance);
    const std::string waited = co_await read_up_to(in.client, "waited with 90000");
    EXPECT_EQ(statuses(waited), "200");
    const std::string next = co_await ask(in.client, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n", "/1 \n");
    EXPECT_EQ(statuses(next), "200");
    co_await runtime::sleep(5s);
    EXPECT_EQ(in.memory.bytes(), 0u) << "no request is there";
  });
}

/// A request that waits may lose its connection, so that others get room.
TEST(HttpSession, ARequestThatWaitsIsEndedForWhatItHolds) {
  virtual_clock clock;
  world one(100'000);
  const auto live = [&]() -> task<> {
    auto serving = runtime::spawn(serve_to_the_end(one), "session");
    const std::string request =
        "POST /hour HTTP/1.1\r\nHost: a\r\nContent-Length: 40000\r\n\r\n" + std::string(40'000, 'x');
    co_await write(one.client, request);
    co_await runtime::sleep(1s);
    EXPECT_GE(one.memory.bytes(), 40'000u - held_memory::allowance - 2048);
    const auto others = test::simulated_stream::pair();
    memory_holder busy(one.memory, *others.first);  // that the server works for
    busy.waits_for_client(false);
    busy.holds(45'000 + held_memory::allowance);
    memory_holder next(one.memory, *others.second);
    const instant begun = runtime::now();
    const room got = co_await next.wait(50'000 + held_memory::allowance);
    EXPECT_EQ(got, room::taken);
    EXPECT_LT(runtime::now() - begun, duration(1min));
    EXPECT_TRUE(one.client.peer_has_ended());
    one.client.close();
    co_await serving.join();
  };
  foliot::test::on_virtual_time(clock, live());
}

/// While a request waits, its connection has hardly any buffer.
TEST(HttpSession, WhatComesDuringAWaitIsAnsweredBehindIt) {
  with_session([](world& in) -> task<> {
    for (const std::size_t size : {1U, 10U, 20U, 30U, 31U, 32U, 33U, 1000U, 2000U, 2016U, 2017U, 2018U, 5000U}) {
      co_await write(in.client, "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
      co_await runtime::sleep(1s);
      const std::string name(size, 'n');
      co_await write(in.client, "GET /" + name.substr(size / 2));
      co_await runtime::sleep(1s);
      co_await write(in.client, name.substr(0, size / 2) + " HTTP/1.1\r\nHost: a\r\n\r\n");
      const std::string both = co_await read_up_to(in.client, "n \n");
      EXPECT_EQ(bodies(both), "waited with 0GET /" + name + " \n") << size;
    }
  });
}

/// A client sends the next requests while one waits.
TEST(HttpSession, ABufferHasItsBound) {
  with_session([](world& in) -> task<> {
    co_await write(in.client,
                   "GET /wait HTTP/1.1\r\nHost: a\r\n\r\nPOST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n");
    co_await write(in.client, std::string(50'000, 'x'));
    co_await runtime::sleep(1s);
    EXPECT_GE(in.memory.bytes(), 50'000u - held_memory::allowance);
    EXPECT_LE(in.memory.bytes(), 65'536u);
    const std::string both = co_await read_up_to(in.client, "x\n");
    EXPECT_EQ(statuses(both), "200 200");
  });
}

}  // namespace
}  // namespace foliot::program::http
