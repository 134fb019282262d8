// The requests for many jobs at once: entries of all kinds, their outcomes in the order sent, all or none, and what
// each entry gets by the rights of its client. (job_requests_test.cpp has batches of puts.)
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/operations.hpp>

#include "server/http/api_client.hpp"

namespace foliot::program::http {
namespace {

using nlohmann::json;

/// The outcomes of a batch, each as its status and word.
std::vector<std::string> outcomes_of(const received& got) {
  std::vector<std::string> all;
  const json value = got.value();
  for (const json& each : value.at("results")) {
    all.push_back(fmt::format("{} {}", each.value("status", 0), each.value("outcome", "")));
  }
  return all;
}

using texts = std::vector<std::string>;

/// A token for a job of this tube that is ready.
task<std::string> reserve(http_client& client, std::string tube) {
  const received got = co_await client.ask("POST", "/v1/reserve?timeout=0s&tube=" + tube);
  EXPECT_EQ(got.value()["jobs"].size(), 1u) << got.body;
  co_return got.value()["jobs"][0]["reservation"].get<std::string>();
}

task<> put(http_client& client, std::string target) {
  const received done = co_await client.ask("POST", "/v1/jobs?" + target);
  EXPECT_EQ(done.status, 201) << done.body;
}

TEST(BatchRequests, HaveEntriesOfAllKinds) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    for (const char* const tube : {"f", "r", "t", "b"}) co_await put(client, fmt::format("tube={}", tube));
    texts tokens;
    for (const char* const tube : {"f", "r", "t", "b"}) tokens.push_back(co_await reserve(client, tube));
    co_await put(client, "tube=a&key=1&delay=1h");  // 5
    co_await put(client, "tube=a&key=2&delay=1h");
    co_await put(client, "tube=a&delay=1h");  // 7
    co_await put(client, "tube=k&delay=1h");
    const std::uint64_t batches = in.jobs.counters().batches;
    const received done = co_await client.ask_json(
        "POST", "/v1/batch",
        fmt::format(
            R"({{"jobs":[{{"put":{{"tube":"a","text":"x"}}}},{{"cancel":{{"tube":"a","key":"1"}}}},)"
            R"({{"reschedule":{{"id":"6","delay":"2h"}}}},{{"fire":{{"tube":"a","key":"2"}}}},)"
            R"({{"kick":{{"id":"7"}}}},{{"kick":{{"tube":"k","count":5}}}},{{"finish":{{"reservation":"{}"}}}},)"
            R"({{"release":{{"reservation":"{}","delay":"1h","priority":3}}}},{{"touch":{{"reservation":"{}"}}}},)"
            R"({{"bury":{{"reservation":"{}"}}}},{{"tube":"a","text":"y"}}]}})",
            tokens[0], tokens[1], tokens[2], tokens[3]));
    EXPECT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(in.jobs.counters().batches - batches, 1u) << "all of them share one batch";
    EXPECT_EQ(outcomes_of(done),
              (texts{"201 inserted", "200 cancelled", "200 rescheduled", "200 ready", "200 ready", "200 ",
                     "200 finished", "200 released", "200 touched", "200 buried", "201 inserted"}));
    const json results = done.value()["results"];
    EXPECT_EQ(results[1]["id"], "5");
    EXPECT_EQ(results[5], json::parse(R"({"status":200,"kicked":1})"));
    EXPECT_TRUE(results[8].contains("reserved_until"));
    const received released = co_await client.ask("GET", "/v1/jobs/2");
    EXPECT_EQ(released.value()["priority"], 3);
    EXPECT_EQ(released.value()["state"], "delayed");
    co_await client.leave();
  });
}

TEST(BatchRequests, HaveTheProblemsOfSingleRequests) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    co_await put(client, "tube=a&key=held");
    const std::string token = co_await reserve(client, "a");
    co_await put(client, "tube=a&key=k&delay=1h");
    const received some = co_await client.ask_json(
        "POST", "/v1/batch",
        R"({"jobs":[{"cancel":{"id":"99"}},{"cancel":{"tube":"a","key":"held"}},{"finish":{"reservation":"1-1-9"}},)"
        R"({"kick":{"id":"1"}},{"reschedule":{"id":"2"}},{"fire":7},{"cancel":{}},{"cancel":{"id":"2","version":"17"}},)"
        R"({"put":{"tube":"a","key":"k","existing":"replace","version":"17"}},{"put":{"tube":"a","version":1}},)"
        R"({"finish":{"reservation":"x"}},{"look":{"id":"2"}},{"cancel":{"id":"2"},"put":{"tube":"a"}}]})");
    EXPECT_EQ(some.status, 207);
    EXPECT_EQ(outcomes_of(some),
              (texts{"404 gone", "409 reserved", "409 not_held", "409 reserved", "400 ", "400 ", "400 ",
                     "412 other_version", "412 other_version", "400 ", "400 ", "400 ", "400 "}));
    const json results = some.value()["results"];
    const auto pointer = [&](std::size_t place) { return results[place]["errors"][0].value("pointer", ""); };
    EXPECT_EQ(pointer(4), "#/jobs/4/reschedule/due");
    EXPECT_EQ(pointer(5), "#/jobs/5/fire");
    EXPECT_EQ(pointer(6), "#/jobs/6/cancel/tube");
    EXPECT_EQ(pointer(7), "#/jobs/7/cancel/version");
    EXPECT_EQ(pointer(8), "#/jobs/8/put/version");
    EXPECT_EQ(pointer(9), "#/jobs/9/put/version");
    EXPECT_EQ(pointer(10), "#/jobs/10/finish/reservation");
    EXPECT_EQ(pointer(11), "#/jobs/11/tube");
    const received seen = co_await client.ask("GET", "/v1/jobs/2");
    EXPECT_EQ(results[7]["version"], seen.value()["version"]) << "so that the client can try again";
    const received again = co_await client.ask_json(
        "POST", "/v1/batch",
        fmt::format(R"({{"jobs":[{{"cancel":{{"id":"2","version":"{}"}}}}]}})", results[7].value("version", "")));
    EXPECT_EQ(outcomes_of(again), texts{"200 cancelled"});
    co_await client.leave();
  });
}

TEST(BatchRequests, ExecuteEntriesAboutTheSameJobInTheirOrder) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received done = co_await client.ask_json(
        "POST", "/v1/batch",
        R"({"jobs":[{"put":{"tube":"a","key":"k","delay":"1h"}},{"cancel":{"tube":"a","key":"k"}},)"
        R"({"put":{"tube":"a","key":"k","delay":"1h"}},{"fire":{"tube":"a","key":"k"}},{"cancel":{"id":"2"}},)"
        R"({"fire":{"tube":"a","key":"k"}},{"put":{"tube":"a","key":"k"}}]})");
    EXPECT_EQ(outcomes_of(done), (texts{"201 inserted", "200 cancelled", "201 inserted", "200 ready", "200 cancelled",
                                        "404 gone", "201 inserted"}));
    co_await client.leave();
  });
}

/// Where the store has several databases, a job may be found later by its id than by its key.
TEST(BatchRequests, OverASharedStoreAnEntryWaitsForOneAboutTheSameJob) {
  const auto body = [](http_server& in) -> task<> {
    http_client client(in);
    co_await put(client, "tube=a&key=k");
    co_await put(client, "tube=a&key=other&delay=1h");
    const std::string token = co_await reserve(client, "a");
    std::vector<std::vector<std::string_view>> batches;
    in.store.before = [&](std::span<jobs::operation> batch) {
      auto& names = batches.emplace_back();
      for (const jobs::operation& each : batch) names.push_back(jobs::facts_of(each).name);
      if (names.empty()) batches.pop_back();
    };
    const received done = co_await client.ask_json(
        "POST", "/v1/batch",
        fmt::format(R"({{"jobs":[{{"fire":{{"tube":"a","key":"other"}}}},{{"finish":{{"reservation":"{}"}}}},)"
                    R"({{"put":{{"tube":"a","key":"k"}}}},{{"put":{{"tube":"a","key":"new"}}}}]}})",
                    token));
    in.store.before = nullptr;
    EXPECT_EQ(outcomes_of(done), (texts{"200 ready", "200 finished", "201 inserted", "201 inserted"}));
    const std::vector<std::vector<std::string_view>> expected{{"peek"}, {"fire_now", "finish"}, {"put", "put"}};
    EXPECT_EQ(batches, expected);
    co_await client.leave();
  };
  with_server(body, nullptr, nullptr, {}, foliot::test::shared::yes);
}

TEST(BatchRequests, TakeAllOrNone) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    const received done = co_await client.ask_json(
        "POST", "/v1/batch",
        R"({"atomic":true,"jobs":[{"tube":"a","text":"x"},{"put":{"tube":"b","key":"k","delay":"1h"}}]})");
    EXPECT_EQ(done.status, 200) << done.body;
    EXPECT_EQ(outcomes_of(done), (texts{"201 inserted", "201 inserted"}));
    const received kept = co_await client.ask_json(
        "POST", "/v1/batch",
        R"({"atomic":true,"jobs":[{"tube":"b","key":"k"},{"tube":"b","key":"k2","existing":"refuse","delay":"1h"}]})");
    EXPECT_EQ(outcomes_of(kept), (texts{"200 kept", "201 inserted"}));

    co_await put(client, "tube=b&key=held");
    static_cast<void>(co_await reserve(client, "b"));
    const std::pair<std::string, std::string> refused[] = {
        {R"({"tube":"b","key":"k","existing":"refuse"})", "409 pointer #/jobs/1"},
        {R"({"put":{"tube":"b","key":"k","existing":"refuse"}})", "409 pointer #/jobs/1/put"},
        {R"({"tube":"b","key":"held","existing":"replace"})", "409 pointer #/jobs/1"},
        {R"({"tube":"b","key":"k","existing":"replace","version":"9"})", "412 pointer #/jobs/1"},
        {R"({"tube":"b","delay":"soon"})", "400 pointer #/jobs/1/delay"},
        {R"({"tube":"b","key":"new"})", "400 pointer #/jobs/1/key"},
        {R"({"cancel":{"id":"2"}})", "400 pointer #/jobs/1/cancel"},
        {R"(7)", "400 pointer #/jobs/1"},
    };
    for (const auto& [wrong, expected] : refused) {
      const received none = co_await client.ask_json(
          "POST", "/v1/batch",
          fmt::format(R"({{"jobs":[{{"tube":"b","key":"new"}},{},{{"tube":"b"}}],"atomic":true}})", wrong));
      EXPECT_EQ(none.wrong(), expected) << none.body;
      EXPECT_EQ(none.value().contains("version"), none.status == 412);
      if (none.status != 400) {
        EXPECT_TRUE(none.body.contains("job 1 of the batch is refused, and with it all: ")) << none.body;
      }
    }
    const received all = co_await client.ask("GET", "/v1/statistics");
    EXPECT_EQ(all.value()["jobs"]["ready"], 1);
    EXPECT_EQ(all.value()["jobs"]["delayed"], 2);
    co_await client.leave();
  });
}

TEST(BatchRequests, OverSeveralDatabasesAreRefusedWithTheirTubes) {
  with_server([](http_server& in) -> task<> {
    http_client client(in);
    in.store.after = [](jobs::execution& done) {
      for (jobs::answer& each : done.answers) {
        if (!std::holds_alternative<jobs::put_all_answer>(each)) continue;
        jobs::put_all_answer several{jobs::put_all_answer::kind::several_databases};
        several.tubes = {{"a", "b"}, {"c"}};
        each = several;
      }
    };
    const received none = co_await client.ask_json("POST", "/v1/batch", R"({"atomic":true,"jobs":[{"tube":"a"}]})");
    in.store.after = nullptr;
    EXPECT_EQ(none.wrong(), "422 pointer #/atomic");
    EXPECT_EQ(none.value()["outcome"], "several_databases");
    EXPECT_EQ(none.value()["databases"], json::parse(R"([["a","b"],["c"]])"));
    EXPECT_TRUE(none.head.contains("Content-Type: application/problem+json")) << none.head;
    co_await client.leave();
  });
}

}  // namespace
}  // namespace foliot::program::http
