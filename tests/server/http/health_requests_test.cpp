// Whether a server can work, as load balancers and supervisors hear it, and what only those learn who may look.
#include "server/http/requests.hpp"

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "jobs/kit/temporary_folder.hpp"
#include "server/access/access_token.hpp"
#include "server/access/token_file.hpp"
#include "server/core/rate_limits.hpp"
#include "server/core/session_name.hpp"
#include "server/http/api_client.hpp"

namespace foliot::program::http {
namespace {

using namespace std::chrono_literals;

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

/// The counts of a distribution, as the pieces that have some: their bounds.
std::vector<std::string> pieces_of(const nlohmann::json& times, const std::string& name) {
  std::vector<std::string> some;
  const auto& counts = times[name]["counts"];
  EXPECT_EQ(counts.size(), times["bounds"].size() + 1);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    some.push_back(i < times["bounds"].size() ? times["bounds"][i].get<std::string>() : "more");
  }
  return some;
}

TEST(HealthRequests, StatisticsTellOfTheFlowOfJobs) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received before = co_await client.ask("GET", "/v1/statistics");
    const nlohmann::json none = before.value();
    EXPECT_EQ(none["times"]["lateness"]["count"], 0);
    EXPECT_FALSE(none["times"]["lateness"].contains("p50"));
    EXPECT_FALSE(none.contains("database"));
    EXPECT_FALSE(none["server"].contains("node"));
    for (int i = 0; i < 2; ++i) {
      const received put = co_await client.ask("POST", "/v1/jobs?tube=mail", extras("", "x"));
      EXPECT_EQ(put.status, 201);
    }
    co_await runtime::sleep(3s);
    const received first = co_await client.ask("POST", "/v1/reserve?tube=mail");
    co_await runtime::sleep(200ms);
    const std::string token = first.value()["jobs"][0]["reservation"].get<std::string>();
    const received done = co_await client.ask("POST", "/v1/reservations/" + token + "/finish");
    EXPECT_EQ(done.status, 200);
    const received shown = co_await client.ask("GET", "/v1/statistics");
    const nlohmann::json now = shown.value();
    EXPECT_EQ(now["flow"]["put"], 2);
    EXPECT_EQ(now["flow"]["reserved"], 1);
    EXPECT_EQ(now["flow"]["finished"], 1);
    EXPECT_EQ(now["times"]["lateness"]["count"], 1);
    EXPECT_EQ(pieces_of(now["times"], "lateness"), std::vector<std::string>{"5s"});
    EXPECT_EQ(pieces_of(now["times"], "work"), std::vector<std::string>{"250ms"});
    for (const char* const each : {"p50", "p90", "p99", "greatest"}) {
      EXPECT_EQ(now["times"]["lateness"][each], "5s") << each;
      EXPECT_EQ(now["times"]["work"][each], "250ms") << each;
    }
    co_await client.leave();
    co_await runtime::sleep(48h);
    http_client other(in);
    const received second = co_await other.ask("POST", "/v1/reserve?tube=mail");
    EXPECT_EQ(second.status, 200);
    const received late = co_await other.ask("GET", "/v1/statistics");
    const nlohmann::json lateness = late.value()["times"]["lateness"];
    EXPECT_EQ(lateness["p50"], "5s");
    EXPECT_TRUE(lateness["p90"].is_null()) << "nobody knows how late: " << lateness;
    EXPECT_EQ(pieces_of(late.value()["times"], "lateness"), (std::vector<std::string>{"5s", "more"}));
    co_await other.leave();
  });
}

TEST(HealthRequests, StatisticsTellOfTheNodesOfADatabase) {
  with_server(
      [](http_server& in) -> task<> {
        http_client client(in);
        in.speaks_to.name_node("two (session 1) of a");
        const auto at = [](std::int64_t ms) { return jobs::utc_time(jobs::milliseconds(ms)); };
        in.store.after = [at](jobs::execution& done) {
          for (jobs::answer& each : done.answers) {
            auto* const all = std::get_if<jobs::nodes_answer>(&each);
            if (all == nullptr) continue;
            all->now = at(9'500);
            all->nodes = {{"one", at(1'000), at(9'000)},
                          {"one (session 12)", at(3'000), at(8'000)},
                          {"one (session 2)", at(2'000), at(8'500)},
                          {"two (session 1) of a", at(4'000), at(9'250)},
                          {"x (session )", at(0), at(1)}};
          }
        };
        const received shown = co_await client.ask("GET", "/v1/statistics");
        const nlohmann::json now = shown.value();
        EXPECT_EQ(now["server"]["node"], "two (session 1) of a");
        EXPECT_EQ(now["database"]["time"], "1970-01-01T00:00:09.500Z");
        const auto expected = nlohmann::json::parse(R"json([
          {"name": "one", "sessions": 3, "since": "1970-01-01T00:00:03.000Z", "heard": "1970-01-01T00:00:08.000Z"},
          {"name": "two (session 1) of a", "sessions": 1, "since": "1970-01-01T00:00:04.000Z",
           "heard": "1970-01-01T00:00:09.250Z"},
          {"name": "x (session )", "sessions": 1, "since": "1970-01-01T00:00:00.000Z",
           "heard": "1970-01-01T00:00:00.001Z"}])json");
        EXPECT_EQ(now["database"]["nodes"], expected);
        EXPECT_FALSE(now["database"].contains("at_least"));
        co_await client.leave();
      },
      nullptr, nullptr, {}, foliot::test::shared::yes);
}

TEST(HealthRequests, StatisticsSayThatThereMayBeMoreNodes) {
  with_server(
      [](http_server& in) -> task<> {
        http_client client(in);
        std::size_t sessions = 0;
        in.store.after = [&sessions](jobs::execution& done) {
          for (jobs::answer& each : done.answers) {
            auto* const all = std::get_if<jobs::nodes_answer>(&each);
            if (all == nullptr) continue;
            all->nodes.clear();
            for (std::size_t i = 0; i < sessions; ++i) all->nodes.push_back({session_name("one", i), {}, {}});
          }
        };
        for (const auto& [listed, is_cut] : {std::pair(999U, false), std::pair(1000U, true)}) {
          sessions = listed;
          const received shown = co_await client.ask("GET", "/v1/statistics");
          const nlohmann::json database = shown.value()["database"];
          EXPECT_EQ(database["nodes"].size(), 1U);
          EXPECT_EQ(database["nodes"][0]["sessions"], listed);
          EXPECT_EQ(database.contains("at_least"), is_cut) << listed;
        }
        in.store.after = nullptr;
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
    std::set<std::string> of_server = figures_told_of("server");
    EXPECT_EQ(of_server.erase("node"), 1U);  // only of several
    EXPECT_EQ(figures_in(again.value()["server"]), of_server);
    EXPECT_EQ(figures_in(again.value()["flow"]), figures_told_of("flow"));
    EXPECT_EQ(figures_in(again.value()["times"]), figures_told_of("times"));
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
