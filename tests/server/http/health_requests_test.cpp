// Whether a server can work, as load balancers and supervisors hear it, and what only those learn who may look.
#include "server/http/health_requests.hpp"

#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "jobs/kit/temporary_folder.hpp"
#include "server/access/access_token.hpp"
#include "server/access/token_file.hpp"
#include "server/core/rate_limits.hpp"
#include "server/http/api_client.hpp"
#include "server/http/openapi.hpp"

namespace foliot::program::http {
namespace {

/// From now on the store has no room for new jobs.
void fill(http_server& of) {
  of.store.after = [](jobs::execution& done) { done.has_room = false; };
}

/// The sentence of a problem; the status if it is none.
std::string detail_of(const received& got) {
  const nlohmann::json value = got.value();
  return value.contains("detail") ? value["detail"].get<std::string>() : value.value("status", "");
}

TEST(HealthRequests, ReadyTellsOfALackOfRoom) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received first = co_await client.ask("GET", "/ready");
    EXPECT_EQ(first.status, 200);
    fill(in);
    const received full = co_await client.ask("GET", "/ready");
    EXPECT_EQ(full.status, 503);
    EXPECT_EQ(detail_of(full), "there is no room for new jobs");
    const received health = co_await client.ask("GET", "/health");
    EXPECT_EQ(health.status, 200) << "it lives";
    const received shown = co_await client.ask("GET", "/v1/statistics");
    EXPECT_FALSE(shown.value()["server"]["has_room"].get<bool>());
    EXPECT_TRUE(shown.value()["server"]["store_available"].get<bool>());
    in.store.accept();
    const received again = co_await client.ask("GET", "/ready");
    EXPECT_EQ(again.status, 200) << "it asks the store";
    co_await client.leave();
  });
}

TEST(HealthRequests, ReadyTellsOfADatabaseThatDoesNotAnswer) {
  with_server(
      [](http_server& in) -> task<> {
        http_client client(in);
        in.store.refuse();
        const received first = co_await client.ask("GET", "/ready");
        EXPECT_EQ(first.status, 503);
        EXPECT_EQ(detail_of(first), "the database does not answer");
        const received second = co_await client.ask("GET", "/ready");
        EXPECT_EQ(second.status, 503) << "without asking again";
        in.store.accept();
        const received look = co_await client.ask("GET", "/v1/tube?tube=mail");
        EXPECT_EQ(look.status, 200);
        const received again = co_await client.ask("GET", "/ready");
        EXPECT_EQ(again.status, 200);
        co_await client.leave();
      },
      nullptr, nullptr, {}, foliot::test::shared::yes);
}

std::set<std::string> figures_in(const nlohmann::json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

/// The names of figures that openapi.json has in a part of the statistics.
std::set<std::string> figures_told_of(const std::string& part) {
  const auto document = nlohmann::json::parse(openapi_text());
  return figures_in(document["components"]["schemas"]["Statistics"]["properties"][part]["properties"]);
}

class HealthWithTokens : public testing::Test {
 protected:
  HealthWithTokens() {
    std::ofstream(path_) << entry_of(token_, {""}) << entry_of(narrow_, {"mail"});
    ::chmod(path_.c_str(), 0600);
  }

  [[nodiscard]] static std::string entry_of(const std::string& token, std::vector<std::string> prefixes) {
    access_entry made;
    made.given =
        std::make_shared<const rights>(std::string(access_token::parse(token)->id()), "a test", scope_set::all(),
                                       std::move(prefixes), instant::never(), sha256_of(token));
    return text_of(made);
  }
  [[nodiscard]] static extras shows(const std::string& token) {
    return extras("Authorization: Bearer " + token + "\r\n");
  }

  foliot_test::temporary_folder folder_;
  const std::string path_ = folder_.path() + "/tokens";
  const std::string token_ = access_token::make();
  const std::string narrow_ = access_token::make();
  const server_log log_{true};
};

TEST_F(HealthWithTokens, WhoMayNotLookLearnsTheStatusAlone) {
  watched_tokens tokens(path_, log_);
  const auto body = [this](http_server& in) -> task<> {
    http_client client(in);
    fill(in);
    for (const extras& each : {extras(), shows(access_token::make()), shows(narrow_), extras("Authorization: x\r\n")}) {
      const received got = co_await client.ask("GET", "/ready", each);
      EXPECT_EQ(got.status, 503);
      EXPECT_EQ(detail_of(got), "the server is not ready") << each.fields;
    }
    const received known = co_await client.ask("GET", "/ready", shows(token_));
    EXPECT_EQ(detail_of(known), "there is no room for new jobs");
    in.store.accept();
    for (const extras& each : {extras(), shows(access_token::make()), shows(token_)}) {
      const received ready = co_await client.ask("GET", "/ready", each);
      EXPECT_EQ(ready.body, "{\"status\":\"ready\"}\n") << each.fields;
      const received health = co_await client.ask("GET", "/health", each);
      EXPECT_EQ(health.body, "{\"status\":\"ok\"}\n") << each.fields;
    }
    co_await client.leave();
  };
  with_server(body, &tokens, &log_);
}

TEST_F(HealthWithTokens, StatisticsTellOfTheDoor) {
  request_rates rates({.each_second = 1, .burst = 2}, {});
  access door(access_limits{2, 1, 1});
  const access::place one = door.enter(runtime::address::parse("192.0.2.1:1").value());
  EXPECT_FALSE(door.enter(runtime::address::parse("192.0.2.1:1").value()));
  const access::place two = door.enter();
  EXPECT_FALSE(door.enter());
  watched_tokens tokens(path_, log_);
  const auto body = [&](http_server& in) -> task<> {
    in.speaks_to.limit_by(door, rates, nullptr);
    http_client client(in);
    const received shown = co_await client.ask("GET", "/v1/statistics", shows(token_));
    const received again = co_await client.ask("GET", "/v1/statistics", shows(token_));
    const received refused = co_await client.ask("GET", "/v1/statistics", shows(token_));
    EXPECT_EQ(refused.status, 429);
    const nlohmann::json connections = again.value()["connections"];
    EXPECT_EQ(figures_in(connections), figures_told_of("connections"));
    EXPECT_EQ(figures_in(again.value()["server"]), figures_told_of("server"));
    EXPECT_EQ(again.value()["server"]["process"], shown.value()["server"]["process"]);
    EXPECT_EQ(connections["open"], 2);
    EXPECT_EQ(connections["total"], 2);
    EXPECT_EQ(connections["refused"], 1);
    EXPECT_EQ(connections["refused_of_address"], 1);
    EXPECT_EQ(rates.of_address.held_back(), 1U);
    EXPECT_TRUE(again.value()["tokens"]["file_is_good"].get<bool>());
    EXPECT_FALSE(again.value().contains("tls"));
    co_await client.leave();
  };
  with_server(body, &tokens, nullptr);
  EXPECT_TRUE(one);
  EXPECT_TRUE(two);
}

}  // namespace
}  // namespace foliot::program::http
