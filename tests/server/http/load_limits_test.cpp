// How much an address and an access token may ask for over HTTP, and what the answer is to what is beyond that. On
// virtual time.
#include "server/http/load_limits.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/sleep.hpp>

#include "jobs/kit/temporary_folder.hpp"
#include "server/access/access_token.hpp"
#include "server/access/token_file.hpp"
#include "server/http/api_client.hpp"

namespace foliot::program::http {
namespace {

using namespace std::chrono_literals;

/// The value of Retry-After; empty: there is none.
std::string retry_after(const received& got) {
  constexpr std::string_view name = "Retry-After: ";
  const std::size_t at = got.head.find(name);
  if (at == std::string::npos) return {};
  const std::string rest = got.head.substr(at + name.size());
  return rest.substr(0, rest.find('\r'));
}

class LoadLimits : public testing::Test {
 protected:
  LoadLimits() {
    std::ofstream(path_) << entry_of(token_) << entry_of(other_);
    ::chmod(path_.c_str(), 0600);
  }

  [[nodiscard]] static std::string entry_of(const std::string& token) {
    access_entry made;
    made.given =
        std::make_shared<const rights>(std::string(access_token::parse(token)->id()), "a test", scope_set::all(),
                                       std::vector<std::string>{""}, instant::never(), sha256_of(token));
    return text_of(made);
  }
  [[nodiscard]] static extras shows(const std::string& token, std::string body = {}) {
    return extras("Authorization: Bearer " + token + "\r\n", std::move(body));
  }
  [[nodiscard]] std::size_t times_logged(std::string_view text) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(lines_, [&](const std::string& each) { return each.contains(text); }));
  }

  foliot_test::temporary_folder folder_;
  const std::string path_ = folder_.path() + "/tokens";
  const std::string token_ = access_token::make();
  const std::string other_ = access_token::make();
  std::vector<std::string> lines_;
  virtual_clock time_of_log_;
  const server_log log_{false, time_of_log_, [this](std::string_view line) { lines_.emplace_back(line); }};
};

TEST_F(LoadLimits, AnAddressSendsSoManyRequestsInASecond) {
  request_rates rates({.each_second = 2, .burst = 3}, {});
  access door(100);
  with_server([&](http_server& in) -> task<> {
    in.speaks_to.limit_by(door, rates, &log_);
    http_client client(in, "192.0.2.1:4000");
    http_client neighbour(in, "192.0.2.2:4000");
    for (int i = 0; i < 3; ++i) {
      const received got = co_await client.ask("GET", "/v1/tubes");
      EXPECT_EQ(got.status, 200);
    }
    const received refused = co_await client.ask("GET", "/v1/tubes");
    EXPECT_EQ(refused.wrong(), "429 rate_of_address") << refused.body;
    EXPECT_EQ(retry_after(refused), "1");
    const received probe = co_await client.ask("GET", "/health");
    EXPECT_EQ(probe.status, 429) << "a probe is a request as any other";
    const received other = co_await neighbour.ask("GET", "/v1/tubes");
    EXPECT_EQ(other.status, 200) << "another address";
    co_await runtime::sleep(499ms);
    const received early = co_await client.ask("GET", "/v1/tubes");
    EXPECT_EQ(early.status, 429);
    co_await runtime::sleep(1ms);
    const received next = co_await client.ask("GET", "/v1/tubes");
    EXPECT_EQ(next.status, 200) << "a refused request takes nothing";
    co_await client.send("POST", "/v1/jobs?tube=mail", extras("", "a body"));
    const received with_body = co_await client.read();
    EXPECT_EQ(with_body.status, 429);
    EXPECT_TRUE(with_body.head.contains("Connection: close\r\n")) << "its body is not read";
    co_await runtime::sleep(1s);  // as Retry-After says
    http_client again(in, "192.0.2.1:4001");
    const received put = co_await again.ask("POST", "/v1/jobs?tube=mail", extras("", "a body"));
    EXPECT_EQ(put.status, 201) << "another connection of the same address";
    co_await client.leave();
    co_await neighbour.leave();
    co_await again.leave();
  });
  EXPECT_EQ(times_logged("--requests-per-second-per-address"), 1U) << "one line in a minute";
  EXPECT_EQ(rates.of_address.held_back(), 4U);
}

TEST_F(LoadLimits, ATokenSendsSoManyRequestsInASecond) {
  request_rates rates({}, {.each_second = 1, .burst = 1});
  access door(100);
  watched_tokens tokens(path_, log_);
  const auto body = [&](http_server& in) -> task<> {
    in.speaks_to.limit_by(door, rates, &log_);
    http_client client(in, "192.0.2.1:4000");
    http_client elsewhere(in, "192.0.2.2:4000");
    const received first = co_await client.ask("GET", "/v1/tubes", shows(token_));
    EXPECT_EQ(first.status, 200);
    const received second = co_await elsewhere.ask("GET", "/v1/tubes", shows(token_));
    EXPECT_EQ(second.wrong(), "429 rate_of_token") << "the same token from another address: " << second.body;
    EXPECT_EQ(retry_after(second), "1");
    const received third = co_await elsewhere.ask("GET", "/v1/tubes", shows(other_));
    EXPECT_EQ(third.status, 200) << "another token";
    const received none = co_await client.ask("GET", "/v1/tubes");
    EXPECT_EQ(none.status, 401);
    co_await runtime::sleep(1s);
    const received later = co_await elsewhere.ask("GET", "/v1/tubes", shows(token_));
    EXPECT_EQ(later.status, 200);
    co_await client.leave();
    co_await elsewhere.leave();
  };
  with_server(body, &tokens, &log_);
  EXPECT_EQ(times_logged("--requests-per-second-per-token"), 1U);
  EXPECT_EQ(times_logged(token_), 0U);
}

TEST_F(LoadLimits, ARequestCountsForItsTokenWhileItRuns) {
  request_rates rates({}, {});
  access door(access_limits{100, 0, 2});
  watched_tokens tokens(path_, log_);
  const auto body = [&](http_server& in) -> task<> {
    in.speaks_to.limit_by(door, rates, &log_);
    http_client waiting(in);
    http_client client(in);
    const keyed_places::place of_beanstalk = door.enter_as(access_token::parse(token_)->id());
    EXPECT_TRUE(of_beanstalk);
    co_await waiting.send("POST", "/v1/reserve?tube=mail&timeout=10s", shows(token_));
    co_await runtime::sleep(1s);
    const received refused = co_await client.ask("GET", "/v1/tubes", shows(token_));
    EXPECT_EQ(refused.wrong(), "429 connections_of_token") << refused.body;
    EXPECT_EQ(retry_after(refused), "1");
    const received other = co_await client.ask("GET", "/v1/tubes", shows(other_));
    EXPECT_EQ(other.status, 200);
    const received answered = co_await waiting.read();
    EXPECT_EQ(answered.status, 200);
    for (int i = 0; i < 3; ++i) {
      const received next = co_await client.ask("GET", "/v1/tubes", shows(token_));
      EXPECT_EQ(next.status, 200) << "the place of an answered request is free";
    }
    co_await waiting.send("POST", "/v1/reserve?tube=mail&timeout=10s", shows(token_));
    co_await runtime::sleep(1s);
    co_await waiting.leave();
    const received last = co_await client.ask("GET", "/v1/tubes", shows(token_));
    EXPECT_EQ(last.status, 200) << "and so is that of a client that has gone";
    co_await client.leave();
  };
  with_server(body, &tokens, &log_);
  EXPECT_EQ(door.refusals().by_token, 1U);
}

/// A named proxy is no client: what it passes on counts for the addresses that it tells.
TEST_F(LoadLimits, BehindANamedProxyEachAddressHasItsOwn) {
  request_rates rates({.each_second = 1, .burst = 2}, {});
  access door(access_limits{100, 1, 0});
  watched_tokens tokens(path_, log_);
  const auto body = [&](http_server& in) -> task<> {
    in.speaks_to.limit_by(door, rates, &log_);
    in.speaks_to.believe(named_proxies({*network::parse("10.0.0.0/8")}));
    http_client proxy(in, "10.0.0.1:4000");
    http_client second(in, "10.0.0.2:4000");
    http_client stranger(in, "192.0.2.9:4000");
    const auto of = [this](std::string client) {
      extras more = shows(token_);
      more.fields += "X-Forwarded-For: 198.51.100.1, " + client + "\r\n";
      return more;
    };
    for (const std::string client : {"192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.2"}) {
      const received got = co_await proxy.ask("GET", "/v1/tubes", of(client));
      EXPECT_EQ(got.status, 200) << client;
    }
    const received refused = co_await proxy.ask("GET", "/v1/tubes", of("192.0.2.1"));
    EXPECT_EQ(refused.wrong(), "429 rate_of_address");
    for (int i = 0; i < 2; ++i) {
      const received believed = co_await stranger.ask("GET", "/v1/tubes", of("192.0.2.3"));
      EXPECT_EQ(believed.status, 200);
    }
    const received own = co_await stranger.ask("GET", "/v1/tubes", of("192.0.2.4"));
    EXPECT_EQ(own.status, 429) << "what a stranger says is not believed";
    const received unknown = co_await proxy.ask("GET", "/v1/tubes", of("unknown"));
    EXPECT_EQ(unknown.status, 200);
    static_cast<void>(co_await proxy.ask("GET", "/v1/tubes", of("_hidden")));
    const received too_many = co_await proxy.ask("GET", "/v1/tubes", of("unknown"));
    EXPECT_EQ(too_many.wrong(), "429 rate_of_address");
    const received checks_health = co_await proxy.ask("GET", "/ready");
    EXPECT_EQ(checks_health.status, 200) << "the proxy's own requests do not count for its clients";
    co_await runtime::sleep(2s);
    // The limit of connections counts requests.
    co_await proxy.send("POST", "/v1/reserve?tube=mail&timeout=1s", of("192.0.2.1"));
    co_await runtime::sleep(500ms);
    const received beside = co_await second.ask("GET", "/v1/tubes", of("192.0.2.1"));
    EXPECT_EQ(beside.wrong(), "429 connections_of_address");
    const received other = co_await second.ask("GET", "/v1/tubes", of("192.0.2.2"));
    EXPECT_EQ(other.status, 200);
    const received answered = co_await proxy.read();
    EXPECT_EQ(answered.status, 200);
    co_await runtime::sleep(2s);
    extras without("X-Forwarded-For: 192.0.2.1\r\n");
    const received wrong = co_await proxy.ask("GET", "/v1/tubes", without);
    EXPECT_EQ(wrong.status, 401);
    const received after = co_await second.ask("GET", "/v1/tubes", of("192.0.2.1"));
    EXPECT_EQ(after.status, 200) << "a refused request keeps no place";
    co_await proxy.leave();
    co_await second.leave();
    co_await stranger.leave();
  };
  with_server(body, &tokens, &log_);
}

TEST_F(LoadLimits, AConnectionBeyondTheLimitIsToldByAProblem) {
  with_server([](http_server& in) -> task<> {
    const std::string of_address = in.speaks.refusal(access_limit::of_address);
    EXPECT_TRUE(of_address.starts_with("HTTP/1.1 429 Too Many Requests\r\n")) << of_address;
    EXPECT_TRUE(of_address.contains("Retry-After: 1\r\n"));
    EXPECT_TRUE(of_address.contains("Connection: close\r\n"));
    EXPECT_TRUE(of_address.contains("\"outcome\":\"connections_of_address\"")) << of_address;
    const std::string of_all = in.speaks.refusal(access_limit::all);
    EXPECT_TRUE(of_all.starts_with("HTTP/1.1 503 Service Unavailable\r\n")) << of_all;
    EXPECT_TRUE(of_all.contains("Retry-After: 1\r\n"));
    EXPECT_TRUE(of_all.contains("application/problem+json\r\n"));
    EXPECT_FALSE(in.speaks.is_of_proxy(runtime::address::loopback(1)));
    in.speaks_to.believe(named_proxies({*network::parse("127.0.0.1")}));
    EXPECT_TRUE(in.speaks.is_of_proxy(runtime::address::loopback(1))) << "its connections do not count for its address";
    co_return;
  });
}

}  // namespace
}  // namespace foliot::program::http
