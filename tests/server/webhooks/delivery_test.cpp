// Deliveries to receivers that are well, slow, rude, silent or gone, and deliveries that are given up.
#include "server/webhooks/delivery_engine.hpp"

#include <sys/socket.h>

#include <cstdlib>
#include <map>
#include <thread>

#include <gmock/gmock.h>

#include <foliot/runtime/run.hpp>
#include <foliot/runtime/this_task.hpp>

#include "server/webhooks/lookups.hpp"
#include "server/webhooks/sink.hpp"

#if defined(FOLIOT_HAS_TLS)
#include <unistd.h>

#include <foliot/tls/tls_stream.hpp>

#include "tls/certificates.hpp"
#endif

namespace foliot::program::webhooks {
namespace {

using namespace std::chrono_literals;
using runtime::spawn;
using runtime::task;
using test::ok;
using test::reaction;
using test::received;
using test::sink;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using then = reaction::then;

/// Long enough for the slowest machine: no test waits so long if all is well.
constexpr duration patience = 60s;

address_rules allowing(std::vector<std::string> allow) {
  auto made = address_rules::make({.allow = std::move(allow), .nat64 = {}, .allows_http = true});
  if (!made) throw std::runtime_error(made.error());
  return *std::move(made);
}

address_rules allowing_sinks(std::uint16_t port) { return allowing({"127.0.0.0/8:" + std::to_string(port)}); }

/// A rule for each port of the loopback interface would be long: the sinks' ports are allowed one by one.
delivery_request request_to(const std::string& url, std::string body = "{}") {
  auto parsed = target_url::parse(url, {.allows_http = true});
  if (!parsed) throw std::runtime_error(parsed.error());
  const auto secret = signing_secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  return {.url = *std::move(parsed),
          .id = "msg_1",
          .body = std::move(body),
          .content_type = "application/json",
          .secrets = std::make_shared<signing_secrets>(*secret),
          .time_out = patience};
}

using turns_ptr = std::shared_ptr<target_turns>;

/// One engine, whose deliveries all tests make through here.
class Delivery : public testing::Test {
 protected:
  /// Runs the test in a runtime with one processor, while the engine serves.
  template <class Main>
  void run(Main main, engine_options options = {}) {
    delivery_engine engine(std::move(options), {});
    engine_ = &engine;
    runtime::run(
        [&]() -> task<> {
          const auto serving = spawn(engine.run(), "webhooks");
          co_await main();
        },
        {.processors = 1});
    EXPECT_EQ(engine.metrics().under_way, 0U);
    const engine_metrics all = engine.metrics();
    EXPECT_EQ(all.started,
              all.delivered + all.rejected + all.gone + all.not_sent + all.unknown + all.forbidden + all.cancelled);
    engine_ = nullptr;
  }

  [[nodiscard]] delivery_engine& engine() const { return *engine_; }
  [[nodiscard]] turns_ptr turns(const target_limits& limits = {}) const {
    return std::make_shared<target_turns>(limits, engine_->room());
  }
  void allow(const sink& one) { engine_->set_rules(allowing_sinks(one.port())); }

  task<delivery_answer> deliver(delivery_request request, turns_ptr by) {
    auto turn = co_await target_turns::enter(by);
    if (!turn) throw std::runtime_error("the target is disabled");
    auto delivering = engine_->deliver(std::move(request), *std::move(turn));
    co_return co_await std::move(delivering);
  }
  task<delivery_answer> deliver(delivery_request request) { return deliver(std::move(request), turns()); }
  /// What comes of a delivery to a sink that does so.
  task<delivery_answer> answer_of(reaction what) {
    sink receiver([what](const received&) { return what; });
    allow(receiver);
    auto delivering = deliver(request_to(receiver.url()));
    co_return co_await std::move(delivering);
  }

 private:
  delivery_engine* engine_ = nullptr;
};

// ---------------------------------------------------------------- what is sent

TEST_F(Delivery, IsSignedAndComplete) {
  run([&]() -> task<> {
    sink receiver;
    allow(receiver);
    delivery_request request = request_to(receiver.url("/in?from=foliot"), R"({"test": 2432232314})");
    request.headers = {{"foliot-attempt", "2"}, {"foliot-tube", "mail"}};
    const auto secrets = request.secrets;
    auto delivering = deliver(std::move(request));
    const delivery_answer answer = co_await std::move(delivering);
    EXPECT_EQ(answer.what, outcome::delivered) << answer.reason;
    EXPECT_EQ(answer.status, 204);
    EXPECT_EQ(answer.address, "127.0.0.1");
    EXPECT_FALSE(answer.reused);
    if (receiver.requests().size() != 1) co_return;
    const received& got = receiver.requests().front();
    EXPECT_THAT(got.head, testing::StartsWith("POST /in?from=foliot HTTP/1.1\r\n"));
    EXPECT_EQ(got.body, R"({"test": 2432232314})");
    EXPECT_EQ(got.header("Host"), "127.0.0.1:" + std::to_string(receiver.port()));
    EXPECT_EQ(got.header("Content-Type"), "application/json");
    EXPECT_EQ(got.header("webhook-id"), "msg_1");
    EXPECT_EQ(got.header("foliot-attempt"), "2");
    EXPECT_EQ(got.header("foliot-tube"), "mail");
    EXPECT_EQ(got.header("User-Agent"), "foliot");
    for (const char* const absent : {"Cookie", "Accept-Encoding", "Expect", "Authorization", "Referer"})
      EXPECT_EQ(got.header(absent), "") << absent;
    const signed_message message{
        .id = "msg_1", .timestamp = std::stoll(got.header("webhook-timestamp")), .body = got.body};
    const unix_seconds when{std::chrono::seconds(message.timestamp)};
    EXPECT_EQ(verify(message, got.header("webhook-signature"), *secrets, when), verdict::genuine);
  });
}

// W075: a long body is sent without asking first.
TEST_F(Delivery, SendsALongBodyAtOnce) {
  run([&]() -> task<> {
    sink receiver;
    allow(receiver);
    const std::string body(5'000'000, 'x');
    auto delivering = deliver(request_to(receiver.url(), body));
    const delivery_answer answer = co_await std::move(delivering);
    EXPECT_EQ(answer.what, outcome::delivered) << answer.reason;
    EXPECT_EQ(receiver.requests().at(0).header("Expect"), "");
    EXPECT_EQ(receiver.requests().at(0).body == body, true);
  });
}

TEST_F(Delivery, RefusesRequestsWithFaults) {
  delivery_request request = request_to("http://127.0.0.1:1/");
  const auto fault = [&](std::string name, std::string value) {
    request.headers = {{std::move(name), std::move(value)}};
    return fault_of(request).value_or("");
  };
  EXPECT_EQ(fault("foliot-tube", "mail"), "");
  EXPECT_THAT(fault("Webhook-Tube", "mail"), HasSubstr("webhook-"));
  EXPECT_THAT(fault("Content-Length", "5"), HasSubstr("belongs to the delivery"));
  EXPECT_THAT(fault("a\r\nb", "x"), HasSubstr("no name"));
  EXPECT_THAT(fault("a", "x\r\nb: y"), HasSubstr("no header can have"));
  EXPECT_THAT(fault("a", ""), HasSubstr("empty"));
  request.headers.clear();
  request.id = "a.b";
  EXPECT_THAT(fault_of(request).value_or(""), HasSubstr("full stop"));
  request.id = "a";
  request.content_type = "a\nb";
  EXPECT_THAT(fault_of(request).value_or(""), HasSubstr("content type"));
}

// A handle of libcurl that is used again has nothing of the delivery before.
TEST_F(Delivery, LeavesNothingForTheNext) {
  run([&]() -> task<> {
    sink first;
    sink second;
    engine().set_rules(
        allowing({"127.0.0.1:" + std::to_string(first.port()), "127.0.0.1:" + std::to_string(second.port())}));
    for (int i = 0; i < 3; ++i) {
      delivery_request one = request_to(first.url("/first"), "long body of the first");
      one.headers = {{"only-first", "x"}};
      auto delivering = deliver(std::move(one));
      co_await std::move(delivering);
      auto other = deliver(request_to(second.url("/second"), ""));
      co_await std::move(other);
    }
    EXPECT_THAT(first.requests(), SizeIs(3));
    EXPECT_THAT(second.requests(), SizeIs(3));
    for (const received& each : second.requests()) {
      EXPECT_THAT(each.head, testing::StartsWith("POST /second HTTP/1.1\r\n"));
      EXPECT_EQ(each.header("Host"), "127.0.0.1:" + std::to_string(second.port()));
      EXPECT_EQ(each.header("only-first"), "");
      EXPECT_EQ(each.header("Content-Length"), "0");
      EXPECT_EQ(each.body, "");
    }
  });
}

// ---------------------------------------------------------------- answers

// W056 and W057.
TEST_F(Delivery, SucceedsWith2xxAlone) {
  run([&]() -> task<> {
    for (const int status : {200, 201, 202, 204, 226, 299}) {
      auto asking = answer_of({"HTTP/1.1 " + std::to_string(status) + " Fine\r\nContent-Length: 0\r\n\r\n"});
      const delivery_answer answer = co_await std::move(asking);
      EXPECT_EQ(answer.what, outcome::delivered) << status;
      EXPECT_EQ(answer.status, status);
      EXPECT_EQ(answer.reason, "");
    }
    for (const int status : {300, 304, 400, 401, 404, 422, 500, 502}) {
      auto asking = answer_of({"HTTP/1.1 " + std::to_string(status) + " Sorry\r\nContent-Length: 0\r\n\r\n"});
      const delivery_answer answer = co_await std::move(asking);
      EXPECT_EQ(answer.what, outcome::rejected) << status;
      EXPECT_THAT(answer.reason, HasSubstr(std::to_string(status)));
    }
  });
}

// W055.
TEST_F(Delivery, FollowsNoRedirect) {
  run([&]() -> task<> {
    sink elsewhere;
    for (const int status : {301, 302, 303, 307, 308}) {
      auto asking = answer_of({"HTTP/1.1 " + std::to_string(status) + " Other\r\nLocation: " + elsewhere.url() +
                               "\r\nContent-Length: 0\r\n\r\n"});
      const delivery_answer answer = co_await std::move(asking);
      EXPECT_EQ(answer.what, outcome::rejected);
      EXPECT_THAT(answer.reason, HasSubstr("redirect to " + elsewhere.url()));
    }
    EXPECT_EQ(elsewhere.connections(), 0U);
  });
}

TEST_F(Delivery, OfATargetThatIsGoneDisablesIt) {
  run([&]() -> task<> {
    sink receiver([](const received&) { return reaction{"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"}; });
    allow(receiver);
    const turns_ptr by = turns();
    auto delivering = deliver(request_to(receiver.url()), by);
    const delivery_answer answer = co_await std::move(delivering);
    EXPECT_EQ(answer.what, outcome::gone);
    EXPECT_TRUE(by->state().disabled);
    auto entering = target_turns::enter(by);
    const auto turn = co_await std::move(entering);
    EXPECT_FALSE(turn);
    by->enable();
    auto again = target_turns::enter(by);
    EXPECT_TRUE((co_await std::move(again)).has_value());
  });
}

// W059 and W064.
TEST_F(Delivery, HeedsRetryAfterOf429And503) {
  run([&]() -> task<> {
    for (const int status : {429, 503, 200, 404}) {
      sink receiver([=](const received&) {
        return reaction{"HTTP/1.1 " + std::to_string(status) + " X\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n"};
      });
      allow(receiver);
      const turns_ptr by = turns();
      const instant before = runtime::now();
      auto delivering = deliver(request_to(receiver.url()), by);
      const delivery_answer answer = co_await std::move(delivering);
      if (status == 429 || status == 503) {
        EXPECT_EQ(answer.retry_after, 120s) << status;
        EXPECT_GE(by->state().held_until, before + duration(120s));
        EXPECT_EQ(by->state().failures, 1U);
      } else {
        EXPECT_EQ(answer.retry_after, std::nullopt) << status;
        EXPECT_EQ(by->state().held_until, instant{});
        EXPECT_EQ(by->state().failures, 0U);
      }
    }
  });
}

// ---------------------------------------------------------------- rude receivers

// W066, W073: what follows the headers of a 2xx does not matter.
TEST_F(Delivery, SucceedsWhateverTheBodyDoes) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const std::vector<reaction> all{
      {head + "Content-Length: 100\r\n\r\n0123456789", then::closes},
      {head + "Content-Length: 100\r\n\r\n0123456789", then::resets},
      {head + "Content-Length: 100\r\n\r\n", then::hangs},
      {head + "\r\n", then::repeats, std::string(10'000, 'x')},
      {head + "\r\n", then::trickles, "x"},
      {head + "Content-Length: 999999999999\r\n\r\n", then::repeats, std::string(10'000, 'x')},
      {head + "Transfer-Encoding: chunked\r\n\r\nffffffff\r\n", then::repeats, std::string(10'000, 'x')},
      {head + "Transfer-Encoding: chunked\r\n\r\nzzz", then::closes},
      {head + "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnone", then::goes_on},
  };
  run(
      [&]() -> task<> {
        for (const reaction& what : all) {
          auto asking = answer_of(what);
          const delivery_answer answer = co_await std::move(asking);
          EXPECT_EQ(answer.what, outcome::delivered) << what.text << answer.reason;
          EXPECT_LE(answer.body.size(), 1024U);
        }
      },
      {.body_time = 100ms});
}

// W065, W068, W070, W072: no answer, or none that counts.
TEST_F(Delivery, FailsOnRudeAnswers) {
  struct rude {
    reaction what;
    std::string reason;
  };
  const std::vector<rude> all{
      {{"", then::closes}, "without an answer"},
      {{"", then::resets}, "broke"},
      {{"hello\r\n\r\n", then::closes}, "HTTP"},
      {{"220 mail.example ESMTP\r\n", then::closes}, "HTTP"},
      {{std::string("\0\1\2\3", 4), then::closes}, "HTTP"},
      {{"HTTP/1.1 200 OK\r\nX: y\r\n", then::closes}, ""},
      {{"HTTP/1.1 200 OK\r\nX: " + std::string(50'000, 'y') + "\r\n\r\n", then::hangs}, "too long"},
      {{"HTTP/1.1 200 OK\r\n", then::repeats, "X: y\r\n"}, "too long"},
      {{"", then::repeats, "HTTP/1.1 103 Early Hints\r\n\r\n"}, "too many"},
      {{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", then::hangs}, "101"},
      {{"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", then::closes}, "transfer coding"},
      {{"HTTP/1.1 200 OK\r\nContent-Length: x\r\nContent-Length: 5\r\n\r\n", then::closes}, ""},
  };
  run([&]() -> task<> {
    for (const rude& each : all) {
      auto asking = answer_of(each.what);
      const delivery_answer answer = co_await std::move(asking);
      EXPECT_EQ(answer.what, outcome::unknown) << each.what.text.substr(0, 80) << ": " << name_of(answer.what);
      EXPECT_EQ(answer.status, 0);
      EXPECT_THAT(answer.reason, HasSubstr(each.reason)) << each.what.text.substr(0, 80);
    }
  });
}

// The time-out is one of the whole delivery, not of a silence.
TEST_F(Delivery, EndsAtItsTimeOut) {
  const std::vector<reaction> all{{"", then::hangs}, {"HTTP/1.1 200 OK\r\nX: ", then::trickles, "x"}};
  run([&]() -> task<> {
    for (const reaction& what : all) {
      sink receiver([what](const received&) { return what; });
      allow(receiver);
      delivery_request request = request_to(receiver.url());
      request.time_out = 300ms;
      auto delivering = deliver(std::move(request));
      const delivery_answer answer = co_await std::move(delivering);
      EXPECT_EQ(answer.what, outcome::unknown) << answer.reason;
      EXPECT_THAT(answer.reason, HasSubstr("no answer in time"));
      EXPECT_GE(answer.took, duration(299ms));
    }
  });
}

// W084: nothing was sent.
TEST_F(Delivery, SaysThatNothingWasSent) {
  run([&]() -> task<> {
    std::uint16_t port = 0;
    {
      const auto gate = runtime::listener::listen(runtime::address::loopback(0));
      port = gate->local_address()->port();
    }
    engine().set_rules(allowing_sinks(port));
    auto refused = deliver(request_to("http://127.0.0.1:" + std::to_string(port) + "/"));
    const delivery_answer answer = co_await std::move(refused);
    EXPECT_EQ(answer.what, outcome::not_sent) << answer.reason;
    test::set_lookup("nowhere.test", {});
    engine().set_rules(allowing({"nowhere.test"}));
    auto unknown_host = deliver(request_to("http://nowhere.test/"));
    const delivery_answer other = co_await std::move(unknown_host);
    EXPECT_EQ(other.what, outcome::not_sent);
    EXPECT_THAT(other.reason, HasSubstr("no host of the name nowhere.test"));
  });
}

// ---------------------------------------------------------------- addresses

// W047: the look-up at the connect counts. W052: nothing was connected.
TEST_F(Delivery, ConnectsToNoAddressThatIsDenied) {
  run([&]() -> task<> {
    sink receiver;
    const std::string port = std::to_string(receiver.port());
    engine().set_rules(allowing({"rebound.test:" + port}));
    test::set_lookup("rebound.test", {"127.0.0.1"});
    auto delivering = deliver(request_to("http://rebound.test:" + port + "/"));
    const delivery_answer answer = co_await std::move(delivering);
    EXPECT_EQ(answer.what, outcome::forbidden);
    EXPECT_THAT(answer.reason, HasSubstr("127.0.0.1 of rebound.test is not public (loopback"));
    EXPECT_THAT(answer.reason, HasSubstr("'rebound.test=127.0.0.1:" + port + "'"));
    EXPECT_EQ(receiver.connections(), 0U);
    EXPECT_EQ(engine().metrics().connects, 0U);
    EXPECT_GE(engine().metrics().denied, 1U);
  });
}

// Of several addresses the first that is allowed is used.
TEST_F(Delivery, SkipsDeniedAddresses) {
  run([&]() -> task<> {
    sink receiver;
    const std::string port = std::to_string(receiver.port());
    engine().set_rules(allowing({"several.test=127.0.0.1:" + port}));
    test::set_lookup("several.test", {"169.254.169.254", "::1", "127.0.0.2", "127.0.0.1"});
    auto delivering = deliver(request_to("http://several.test:" + port + "/"));
    const delivery_answer answer = co_await std::move(delivering);
    EXPECT_EQ(answer.what, outcome::delivered) << answer.reason;
    EXPECT_EQ(receiver.requests().at(0).header("Host"), "several.test:" + port);
    EXPECT_EQ(answer.address, "127.0.0.1");
  });
}

TEST_F(Delivery, IsForbiddenWithoutARule) {
  run([&]() -> task<> {
    sink receiver;
    auto delivering = deliver(request_to(receiver.url()));
    const delivery_answer answer = co_await std::move(delivering);
    EXPECT_EQ(answer.what, outcome::forbidden);
    EXPECT_EQ(receiver.connections(), 0U);
  });
}

// W050: neither the environment nor anything else sends a delivery to a proxy.
TEST_F(Delivery, UsesNoProxy) {
  run([&]() -> task<> {
    sink proxy;
    sink receiver;
    allow(receiver);
    for (const char* const name : {"http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"})
      ::setenv(name, ("http://127.0.0.1:" + std::to_string(proxy.port())).c_str(), 1);
    auto delivering = deliver(request_to(receiver.url()));
    const delivery_answer answer = co_await std::move(delivering);
    for (const char* const name : {"http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"}) ::unsetenv(name);
    EXPECT_EQ(answer.what, outcome::delivered) << answer.reason;
    EXPECT_EQ(proxy.connections(), 0U);
    EXPECT_THAT(receiver.requests(), SizeIs(1));
  });
}

// Connections are kept for the next delivery, until the rules change.
TEST_F(Delivery, ReusesConnectionsUntilTheRulesChange) {
  run([&]() -> task<> {
    sink receiver([](const received&) { return reaction{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"}; });
    allow(receiver);
    for (int i = 0; i < 5; ++i) {
      auto delivering = deliver(request_to(receiver.url()));
      const delivery_answer answer = co_await std::move(delivering);
      EXPECT_EQ(answer.what, outcome::delivered);
      EXPECT_EQ(answer.reused, i > 0);
      EXPECT_EQ(answer.body, "ok");
    }
    EXPECT_EQ(receiver.connections(), 1U);
    EXPECT_EQ(engine().metrics().open_sockets, 1U);
    allow(receiver);
    EXPECT_EQ(engine().metrics().open_sockets, 0U);
    auto delivering = deliver(request_to(receiver.url()));
    co_await std::move(delivering);
    EXPECT_EQ(receiver.connections(), 2U);
  });
}

// A delivery that is under way when the rules change goes to its end, and its connection is not used again.
TEST_F(Delivery, GoesToItsEndWhenTheRulesChange) {
  run([&]() -> task<> {
    runtime::channel<bool> go(1);
    sink receiver([](const received&) { return reaction{"", then::hangs}; });
    sink answering;
    engine().set_rules(
        allowing({"127.0.0.1:" + std::to_string(receiver.port()), "127.0.0.1:" + std::to_string(answering.port())}));
    auto hanging = spawn(deliver(request_to(receiver.url())), "hanging");
    while (receiver.requests().empty()) co_await receiver.event();
    engine().set_rules({});
    EXPECT_EQ(engine().metrics().under_way, 1U);
    EXPECT_EQ(engine().metrics().open_sockets, 1U);
    auto delivering = deliver(request_to(answering.url()));
    const delivery_answer answer = co_await std::move(delivering);
    EXPECT_EQ(answer.what, outcome::forbidden);
    hanging.request_stop();
    EXPECT_THROW(co_await hanging.join(), runtime::cancelled);
    EXPECT_EQ(engine().metrics().open_sockets, 0U);
  });
}

// curl/curl#10646: idle connections that the receiver has closed meanwhile cost no delivery.
TEST_F(Delivery, SurvivesTheEndOfIdleConnections) {
  run([&]() -> task<> {
    sink receiver([](const received&) { return reaction{ok, then::closes}; });
    allow(receiver);
    for (int round = 0; round < 3; ++round) {
      std::vector<runtime::join_handle<delivery_answer>> all;
      const turns_ptr by = turns();
      for (int i = 0; i < 10; ++i) all.push_back(spawn(deliver(request_to(receiver.url()), by), "one"));
      for (auto& each : all) {
        const delivery_answer answer = co_await each.join();
        EXPECT_EQ(answer.what, outcome::delivered) << answer.reason;
      }
    }
  });
}

// curl/curl#19066: a receiver that ends each connection when its second request comes. libcurl sends such a request
// again by itself, with the same id, and a handle that has done so often is still good.
TEST_F(Delivery, SurvivesConnectionsThatEndWhenTheyAreReused) {
  run([&]() -> task<> {
    std::map<std::size_t, int> requests;
    sink receiver([&](const received& one) {
      return ++requests[one.connection] > 1 ? reaction{"", then::closes} : reaction{ok};
    });
    allow(receiver);
    const turns_ptr by = turns();
    for (int i = 0; i < 30; ++i) {
      auto delivering = deliver(request_to(receiver.url()), by);
      const delivery_answer answer = co_await std::move(delivering);
      EXPECT_EQ(answer.what, outcome::delivered) << i << ": " << answer.reason;
    }
    EXPECT_EQ(receiver.connections(), 30U);
  });
}

// ---------------------------------------------------------------- several targets

// A target that hangs, and one that refuses, hold up nobody: the order of events shows it, not a clock.
TEST_F(Delivery, ToADeadTargetCostsOthersNothing) {
  run([&]() -> task<> {
    sink dead([](const received&) { return reaction{"", then::hangs}; });
    sink alive;
    engine().set_rules(
        allowing({"127.0.0.1:" + std::to_string(dead.port()), "127.0.0.1:" + std::to_string(alive.port())}));
    const turns_ptr of_dead = turns({.most_at_once = 8});
    const turns_ptr of_alive = turns({.most_at_once = 8});
    std::vector<runtime::join_handle<delivery_answer>> hanging;
    for (int i = 0; i < 50; ++i) hanging.push_back(spawn(deliver(request_to(dead.url()), of_dead), "hanging"));
    while (dead.requests().size() < 8) co_await dead.event();
    const std::uint64_t turns_before = engine().metrics().turns;
    std::vector<runtime::join_handle<delivery_answer>> all;
    for (int i = 0; i < 200; ++i) all.push_back(spawn(deliver(request_to(alive.url()), of_alive), "alive"));
    for (auto& each : all) {
      const delivery_answer answer = co_await each.join();
      EXPECT_EQ(answer.what, outcome::delivered) << answer.reason;
    }
    EXPECT_THAT(dead.requests(), SizeIs(8));
    EXPECT_EQ(of_dead->state().under_way, 8U);
    EXPECT_EQ(of_dead->waiting(), 42U);
    EXPECT_LE(alive.connections(), 8U);
    EXPECT_LE(engine().metrics().turns - turns_before, 2000U) << "the engine must not spin";
    for (auto& each : hanging) each.request_stop();
    for (auto& each : hanging) EXPECT_THROW(co_await each.join(), runtime::cancelled);
    EXPECT_EQ(of_dead->state().under_way, 0U);
    EXPECT_EQ(of_dead->state().failures, 0U) << "what is given up says nothing about the target";
  });
}

TEST_F(Delivery, OpensTheCircuitOfATargetThatIsDown) {
  run([&]() -> task<> {
    sink receiver([](const received&) { return reaction{"HTTP/1.1 500 Sorry\r\nContent-Length: 0\r\n\r\n"}; });
    allow(receiver);
    const turns_ptr by = turns({.most_at_once = 1, .failures_to_open = 3, .first_pause = 1h, .longest_pause = 2h});
    std::vector<runtime::join_handle<delivery_answer>> all;
    for (int i = 0; i < 20; ++i) all.push_back(spawn(deliver(request_to(receiver.url()), by), "one"));
    const auto done = [&] { return std::ranges::count_if(all, [](const auto& each) { return each.done(); }); };
    while (done() < 3) co_await runtime::sleep(1ms);
    EXPECT_EQ(by->state().state, circuit::open);
    EXPECT_EQ(by->waiting(), 17U);
    EXPECT_THAT(receiver.requests(), SizeIs(3)) << "the jobs that wait use up no try";
    std::size_t given_up = 0;
    for (auto& each : all) {
      each.request_stop();
      try {
        const delivery_answer answer = co_await each.join();
        EXPECT_EQ(answer.what, outcome::rejected);
      } catch (const runtime::cancelled&) {
        ++given_up;
      }
    }
    EXPECT_EQ(given_up, 17U);
  });
}

// ---------------------------------------------------------------- cancellation

// In each phase: what was begun ends at once, its connection is closed, and the next delivery is well.
TEST_F(Delivery, CanBeCancelledInEachPhase) {
  struct phase {
    std::string name;
    std::optional<reaction> at_once;
    reaction after;
    std::size_t events;  // of the sink, after which it is cancelled
    std::string body = "{}";
  };
  const std::vector<phase> all{
      {"sending", reaction{"", then::hangs}, {}, 1, std::string(20'000'000, 'x')},
      {"waiting for the answer", std::nullopt, {"", then::hangs}, 2},
      {"within the headers", std::nullopt, {"HTTP/1.1 200 OK\r\nX:", then::hangs}, 2},
      {"within the body", std::nullopt, {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nx", then::hangs}, 2},
  };
  run(
      [&]() -> task<> {
        for (const phase& each : all) {
          SCOPED_TRACE(each.name);
          sink receiver([&](const received&) { return each.after; }, each.at_once);
          allow(receiver);
          const turns_ptr by = turns({.most_at_once = 1});
          auto delivering = spawn(deliver(request_to(receiver.url(), each.body), by), "one");
          for (std::size_t i = 0; i < each.events; ++i) co_await receiver.event();
          delivering.request_stop();
          EXPECT_THROW(co_await delivering.join(), runtime::cancelled);
          EXPECT_EQ(engine().metrics().under_way, 0U);
          EXPECT_EQ(engine().metrics().open_sockets, 0U);
          EXPECT_EQ(by->state().under_way, 0U);
          sink well;
          allow(well);
          auto next = deliver(request_to(well.url()), by);
          const delivery_answer answer = co_await std::move(next);
          EXPECT_EQ(answer.what, outcome::delivered) << answer.reason;
        }
      },
      {.body_time = patience});
}

// curl/curl#4852, #8515: the end of a delivery whose name is looked up waits for nothing.
TEST_F(Delivery, CanBeCancelledDuringALookup) {
  run([&]() -> task<> {
    test::block_lookup("slow.test");
    engine().set_rules(allowing({"slow.test"}));
    auto delivering = spawn(deliver(request_to("http://slow.test/")), "one");
    auto waiting = runtime::blocking([] { test::await_blocked_lookup(); });
    co_await std::move(waiting);
    delivering.request_stop();
    EXPECT_THROW(co_await delivering.join(), runtime::cancelled);
    EXPECT_EQ(engine().metrics().under_way, 0U);
    // And one that ends by its time-out while others go on.
    delivery_request request = request_to("http://slow.test/");
    request.time_out = 50ms;
    auto timed_out = deliver(std::move(request));
    const delivery_answer answer = co_await std::move(timed_out);
    EXPECT_EQ(answer.what, outcome::not_sent) << answer.reason;
    EXPECT_THAT(answer.reason, HasSubstr("in time"));
    sink well;
    allow(well);
    auto next = deliver(request_to(well.url()));
    EXPECT_EQ((co_await std::move(next)).what, outcome::delivered);
    test::release_lookups();
  });
}

TEST_F(Delivery, CanBeCancelledBeforeItBegins) {
  run([&]() -> task<> {
    sink receiver;
    allow(receiver);
    // The request is handed to libcurl, and the task is asked to stop before the engine's task has run.
    auto delivering = spawn(deliver(request_to(receiver.url())), "one");
    delivering.request_stop();
    EXPECT_THROW(co_await delivering.join(), runtime::cancelled);
    EXPECT_EQ(engine().metrics().under_way, 0U);
  });
}

// The runtime ends in the middle of everything.
TEST_F(Delivery, EndsWithTheRuntime) {
  run([&]() -> task<> {
    sink receiver([](const received&) { return reaction{"", then::hangs}; });
    allow(receiver);
    const turns_ptr by = turns({.most_at_once = 3});
    for (int i = 0; i < 10; ++i) spawn(deliver(request_to(receiver.url()), by), "one");
    while (receiver.requests().size() < 3) co_await receiver.event();
  });
}

// The serving task may end and begin again; deliveries wait meanwhile.
TEST(DeliveryEngine, ServesAgain) {
  delivery_engine engine({}, {});
  runtime::run(
      [&]() -> task<> {
        sink receiver;
        engine.set_rules(allowing_sinks(receiver.port()));
        const auto by = std::make_shared<target_turns>(target_limits{}, engine.room());
        const auto once = [&]() -> task<outcome> {
          auto entering = target_turns::enter(by);
          auto turn = co_await std::move(entering);
          auto delivering = engine.deliver(request_to(receiver.url()), *std::move(turn));
          const delivery_answer answer = co_await std::move(delivering);
          co_return answer.what;
        };
        for (int i = 0; i < 3; ++i) {
          auto delivering = spawn(once(), "one");
          co_await runtime::sleep(1ms);
          EXPECT_FALSE(delivering.done());
          auto serving = spawn(engine.run(), "webhooks");
          EXPECT_EQ(co_await delivering.join(), outcome::delivered);
          serving.request_stop();
          EXPECT_THROW(co_await serving.join(), runtime::cancelled);
        }
      },
      {.processors = 1});
}

// Many deliveries by many processors, of which some are given up at any time.
TEST(DeliveryEngine, WorksOnSeveralProcessors) {
  delivery_engine engine({}, {});
  runtime::channel<std::uint16_t> ports(1);
  // The sink runs in a runtime of its own, because its tasks share their state without a lock.
  std::jthread receiving([&] {
    runtime::run(
        [&]() -> task<> {
          sink receiver;
          static_cast<void>(ports.try_send(receiver.port()));
          while (!ports.closed()) co_await runtime::sleep(1ms);
        },
        {.processors = 1});
  });
  runtime::run(
      [&]() -> task<> {
        const auto got = co_await ports.receive();
        engine.set_rules(allowing_sinks(*got));
        const std::string url = "http://127.0.0.1:" + std::to_string(*got) + "/";
        const auto serving = spawn(engine.run(), "webhooks");
        std::vector<runtime::join_handle<outcome>> all;
        for (int target = 0; target < 4; ++target) {
          const auto by = std::make_shared<target_turns>(target_limits{.most_at_once = 8}, engine.room());
          for (int i = 0; i < 250; ++i) {
            all.push_back(spawn(
                [&engine, by, url]() -> task<outcome> {
                  auto entering = target_turns::enter(by);
                  auto turn = co_await std::move(entering);
                  auto delivering = engine.deliver(request_to(url), *std::move(turn));
                  const delivery_answer answer = co_await std::move(delivering);
                  co_return answer.what;
                },
                "one"));
          }
        }
        for (std::size_t i = 0; i < all.size(); i += 7) all[i].request_stop();
        for (std::size_t i = 0; i < all.size(); ++i) {
          try {
            EXPECT_EQ(co_await all[i].join(), outcome::delivered);
          } catch (const runtime::cancelled&) {
            EXPECT_EQ(i % 7, 0U);
          }
        }
        ports.close();
      },
      {.processors = 4});
  EXPECT_EQ(engine.metrics().under_way, 0U);
}

// ---------------------------------------------------------------- TLS

#if defined(FOLIOT_HAS_TLS)

/// A file with the authority that the tests trust.
class authority_file {
 public:
  authority_file() {
    const std::string& text = foliot::test::authority().certificate;
    const int fd = ::mkstemp(name_.data());
    EXPECT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(fd);
  }
  ~authority_file() { ::unlink(name_.c_str()); }
  authority_file(const authority_file&) = delete;
  authority_file& operator=(const authority_file&) = delete;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_ = "/tmp/foliot-authority-XXXXXX";
};

task<> answer_by_tls(runtime::stream plain, const tls::tls_context& context) {
  auto accepting = tls::tls_stream::accept(std::move(plain), context);
  auto peer = co_await std::move(accepting);
  if (!peer) co_return;
  runtime::buffered_reader in(*peer);
  const auto head = co_await in.read_until("\r\n\r\n", 10'000);
  if (head && head->complete) co_await peer->write_all(ok);
  co_await peer->shutdown();
}

task<> accept_by_tls(runtime::listener& gate, const tls::tls_context& context) {
  for (;;) {
    auto plain = co_await gate.accept();
    if (!plain) co_return;
    spawn(answer_by_tls(std::move(*plain), context), "tls");
  }
}

struct tls_case {
  const tls::tls_context* server;
  std::string host;
  outcome what;
  std::string reason;
};

// W076.
TEST_F(Delivery, TrustsCertificatesByNameAndAuthority) {
  const authority_file trusted;
  const tls::tls_context stranger =
      tls::tls_context::server(foliot::test::identified(foliot::test::issue({}, nullptr))).value();
  const tls::tls_context expired =
      tls::tls_context::server(
          foliot::test::identified(foliot::test::issue({.first_day = -3, .last_day = -2}, &foliot::test::authority())))
          .value();
  for (const char* const name : {"a.example.com", "other.test"}) test::set_lookup(name, {"127.0.0.1"});
  const std::vector<tls_case> all{{&foliot::test::server(), "localhost", outcome::delivered, ""},
                                  {&foliot::test::server(), "a.example.com", outcome::delivered, ""},
                                  {&foliot::test::server(), "other.test", outcome::not_sent, "other.test"},
                                  {&stranger, "localhost", outcome::not_sent, "certificate"},
                                  {&expired, "localhost", outcome::not_sent, "expired"}};
  run(
      [&]() -> task<> {
        for (const tls_case& each : all) {
          auto gate = runtime::listener::listen(runtime::address::loopback(0));
          const std::uint16_t port = gate->local_address()->port();
          const auto accepting = spawn(accept_by_tls(*gate, *each.server), "accepts");
          engine().set_rules(allowing({"*:" + std::to_string(port), "127.0.0.0/8:" + std::to_string(port)}));
          auto delivering = deliver(request_to("https://" + each.host + ":" + std::to_string(port) + "/"));
          const delivery_answer answer = co_await std::move(delivering);
          EXPECT_EQ(answer.what, each.what) << each.host << ": " << answer.reason;
          EXPECT_THAT(answer.reason, HasSubstr(each.reason));
          gate->close();
        }
      },
      {.authorities = trusted.name()});
}

// A handshake that hangs is given up.
TEST_F(Delivery, CanBeCancelledDuringAHandshake) {
  run([&]() -> task<> {
    sink silent([](const received&) { return reaction{}; }, reaction{"", then::hangs});
    allow(silent);
    auto delivering = spawn(deliver(request_to("https://127.0.0.1:" + std::to_string(silent.port()) + "/")), "one");
    co_await silent.event();
    delivering.request_stop();
    EXPECT_THROW(co_await delivering.join(), runtime::cancelled);
    EXPECT_EQ(engine().metrics().open_sockets, 0U);
    // And a receiver that answers in the clear.
    sink plain([](const received&) { return reaction{ok}; }, reaction{ok, then::closes});
    allow(plain);
    auto other = deliver(request_to("https://127.0.0.1:" + std::to_string(plain.port()) + "/"));
    const delivery_answer answer = co_await std::move(other);
    EXPECT_EQ(answer.what, outcome::not_sent) << answer.reason;
  });
}

#endif

}  // namespace
}  // namespace foliot::program::webhooks
