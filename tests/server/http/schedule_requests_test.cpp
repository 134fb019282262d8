// Schedules over HTTP: what is made, told and refused. On virtual time: it begins on 2026-03-27T08:00:00Z, a Friday.
#include "server/http/schedule_requests.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "schedules_server.hpp"
#include "server/access/server_tubes.hpp"
#include "server/schedules/schedule_plan.hpp"

namespace foliot::program::http {
namespace {

using namespace std::chrono_literals;

constexpr const char* report = "/v1/tubes/mail/schedules/report";

task<received> put_plan(http_server& in, std::string target, std::string plan, std::string fields = {}) {
  received got = co_await ask(in, "PUT", std::move(target), std::move(plan), std::move(fields));
  co_return got;
}

/// Makes a schedule.
task<nlohmann::json> made(http_server& in, std::string target, std::string plan) {
  const received got = co_await put_plan(in, std::move(target), std::move(plan));
  EXPECT_EQ(got.status, 201) << got.body;
  co_return got.value();
}

/// The field of an answer; empty if it has none.
std::string field_of(const received& got, const std::string& name) {
  const std::size_t at = got.head.find(name + ": ");
  if (at == std::string::npos) return {};
  const std::string rest = got.head.substr(at + name.size() + 2);
  return rest.substr(0, rest.find('\r'));
}

TEST(ScheduleRequests, IsMadeChangedAndShown) {
  with_schedules([](http_server& in) -> task<> {
    const std::string plan =
        R"({"rules":["0 9 * * MON-FRI"],"zone":"Europe/Berlin","note":"sales","job":{"body":{"to":"ada"}}})";
    const received first = co_await put_plan(in, report, plan);
    EXPECT_EQ(first.status, 201) << first.body;
    const auto done = first.value();
    EXPECT_EQ(done["tube"], "mail");
    EXPECT_EQ(done["name"], "report");
    EXPECT_EQ(done["outcome"], "made");
    const std::string tag =
        fmt::format("\"{}.{}\"", done["incarnation"].get<std::string>(), done["version"].get<int>());
    EXPECT_EQ(field_of(first, "ETag"), tag);
    const received again = co_await put_plan(in, report, plan);
    EXPECT_EQ(again.status, 200);
    EXPECT_EQ(again.value()["outcome"], "unchanged");
    EXPECT_EQ(field_of(again, "ETag"), tag);

    const received got = co_await ask(in, "GET", report);
    EXPECT_EQ(field_of(got, "ETag"), tag);
    const auto seen = got.value();
    EXPECT_EQ(seen["state"], "active") << seen;
    EXPECT_EQ(seen["plan"], nlohmann::json::parse(plan));
    EXPECT_EQ(seen["words"], "At 09:00 on Monday to Friday, by the clock of Europe/Berlin.");
    EXPECT_EQ(seen["warnings"], nlohmann::json::array());
    EXPECT_EQ(seen["cursor"], "2026-03-27T08:00:00Z");
    EXPECT_EQ(seen["next"].size(), 10u);
    // Summer time begins on Sunday: the wall time stays, and the instant moves.
    const auto& next = seen["next"].at(0);
    EXPECT_EQ(next["at"], "2026-03-30T07:00:00Z");
    EXPECT_EQ(next["local"], "2026-03-30T09:00:00");
    EXPECT_EQ(next["nominal"], "2026-03-30T09:00:00");
    EXPECT_EQ(next["offset"], "+02:00");
    EXPECT_EQ(next["abbreviation"], "CEST");
    EXPECT_EQ(next["pass"], "only");
    EXPECT_EQ(next["shifted"], false);
    EXPECT_EQ(next["due"], "2026-03-30T07:00:00.000Z");
    EXPECT_EQ(seen["last"], nlohmann::json::array());
    EXPECT_EQ(seen["counts"]["decided"], 0);

    const received changed = co_await put_plan(in, report, R"({"rules":["0 10 * * *"]})");
    EXPECT_EQ(changed.status, 200) << changed.body;
    EXPECT_EQ(changed.value()["outcome"], "changed");
    EXPECT_EQ(changed.value()["incarnation"], done["incarnation"]);
    EXPECT_GT(changed.value()["version"].get<int>(), done["version"].get<int>());
    const auto other = co_await look(in, report);
    EXPECT_EQ(other["next"].at(0)["at"], "2026-03-27T10:00:00Z");
    EXPECT_EQ(other["plan"], nlohmann::json::parse(R"({"rules":["0 10 * * *"]})"));
  });
}

/// The instants of the next occurrences.
std::vector<std::string> upcoming_in(const nlohmann::json& shown) {
  std::vector<std::string> all;
  for (const auto& each : shown["next"]) all.push_back(each["at"]);
  return all;
}

TEST(ScheduleRequests, APreviewIsWhatAPutMakes) {
  with_schedules([](http_server& in) -> task<> {
    const std::string target = std::string(report) + "/preview";
    const std::vector<std::string> plans = {
        R"({"rules":["30 2 * * *"],"zone":"Europe/Berlin","jitter":"5m"})",
        R"({"rules":["every 7m"],"count":3,"note":"few"})",
        R"({"rules":["every 7m"],"count":3,"note":"the same"})",
        R"({"rules":["every 7m","0 9 * * *"],"exclude":{"dates":["2026-03-28"]}})",
        R"({"rules":["after 5m"]})",
    };
    for (const std::string& plan : plans) {
      const received seen = co_await ask(in, "POST", target, plan);
      EXPECT_EQ(seen.status, 200) << seen.body;
      const auto preview = seen.value();
      EXPECT_EQ(preview["tube"], "mail");
      EXPECT_EQ(preview["name"], "report");
      const received got = co_await put_plan(in, report, plan);
      EXPECT_LT(got.status, 300) << got.body;
      const auto shown = co_await look(in, report);
      EXPECT_EQ(preview["next"], shown["next"]) << plan;
      EXPECT_EQ(preview["words"], shown["words"]);
      EXPECT_EQ(preview["warnings"], shown["warnings"]);
      co_await runtime::sleep(10min);
    }
  });
}

TEST(ScheduleRequests, APreviewChangesNothing) {
  with_schedules([](http_server& in) -> task<> {
    const received none =
        co_await ask(in, "POST", "/v1/schedule/preview?tube=mail&name=report", R"({"rules":["@daily"]})");
    EXPECT_EQ(none.status, 200) << none.body;
    EXPECT_EQ(upcoming_in(none.value()).size(), 10u);
    const received gone = co_await ask(in, "GET", report);
    EXPECT_EQ(gone.status, 404);
    co_await made(in, report, R"({"rules":["every 4h"]})");
    const auto paused = co_await ask(in, "POST", std::string(report) + "/pause", R"({"until":"2026-03-27T20:00:00Z"})");
    EXPECT_EQ(paused.status, 200) << paused.body;
    const auto before = co_await look(in, report);
    co_await runtime::sleep(1s);
    const received seen =
        co_await ask(in, "POST", std::string(report) + "/preview", R"({"rules":["every 4h","0 21 * * *"]})");
    EXPECT_EQ(seen.value()["next"].at(0)["at"], "2026-03-27T12:00:00Z") << "the anchor is kept: " << seen.body;
    EXPECT_EQ(seen.value()["next"].at(0)["paused"], true) << "so is the pause";
    EXPECT_FALSE(seen.value()["next"].at(3).contains("paused")) << seen.body;
    const auto after = co_await look(in, report);
    EXPECT_EQ(after, before);
  });
}

TEST(ScheduleRequests, APreviewIsRefusedAsAPutIs) {
  with_schedules([](http_server& in) -> task<> {
    for (const std::string plan : {R"({"rules":["0 25 * * *"]})", R"({"rules":["@daily"],"zone":"Europe/Berlim"})",
                                   R"({"rules":["0 0 30 2 *"]})", R"({"rules":["@daily"],"jobs":{}})", R"([])"}) {
      const received put = co_await put_plan(in, report, plan);
      EXPECT_EQ(put.status, 400) << plan;
      const received seen = co_await ask(in, "POST", std::string(report) + "/preview", plan);
      EXPECT_EQ(seen.status, 400) << plan;
      EXPECT_EQ(seen.body, put.body);
    }
    const received conditional =
        co_await ask(in, "POST", std::string(report) + "/preview", R"({"rules":["@daily"]})", "If-Match: *\r\n");
    EXPECT_EQ(conditional.status, 400) << "it changes nothing";
  });
}

TEST(ScheduleRequests, ChangesCountInTheMemoryOfTheServer) {
  with_schedules([](http_server& in) -> task<> {
    const std::string past = R"({"from":"2026-03-01T00:00:00Z","to":"2026-03-02T00:00:00Z"})";
    const std::vector<std::array<std::string, 3>> changes = {
        {"POST", "/preview", R"({"rules":["@daily"]})"},
        {"PUT", "", R"({"rules":["@daily"]})"},
        {"POST", "/pause", "{}"},
        {"POST", "/resume", "{}"},
        {"POST", "/skip", "{}"},
        {"POST", "/run", "{}"},
        {"POST", "/backfill", past},
        {"DELETE", "", ""},
    };
    for (const auto& [method, rest, body] : changes) {
      std::size_t held = 0;
      in.store.before = [&](std::span<jobs::operation>) { held = std::max(held, in.memory_of_clients.bytes()); };
      const received got = co_await ask(in, method, report + rest, body);
      in.store.before = nullptr;
      EXPECT_LT(got.status, 300) << method << rest << got.body;
      EXPECT_GE(held, 3 * largest_body_of_server) << method << rest;
      EXPECT_EQ(in.memory_of_clients.bytes(), 0u);
    }
  });
}

TEST(ScheduleRequests, TellsWhatAChangeOfClocksDoes) {
  with_schedules([](http_server& in) -> task<> {
    co_await made(in, report, R"({"rules":["30 2 * * *"],"zone":"Europe/Berlin"})");
    const auto seen = co_await look(in, report);
    const auto& moved = seen["next"].at(1);
    EXPECT_EQ(moved["at"], "2026-03-29T01:00:00Z") << seen;
    EXPECT_EQ(moved["local"], "2026-03-29T03:00:00");
    EXPECT_EQ(moved["nominal"], "2026-03-29T02:30:00");
    EXPECT_EQ(moved["shifted"], true);
  });
}

TEST(ScheduleRequests, TheOccurrenceTravelsWithItsJob) {
  with_schedules([](http_server& in) -> task<> {
    const auto done = co_await made(in, report, R"({"rules":["30 2 * * *"],"zone":"Europe/Berlin",
        "job":{"text":"hello","priority":7,"ttr":"5m","headers":{"source":"shop"}}})");
    co_await sleep_to(std::chrono::sys_days(std::chrono::year(2026) / 3 / 29) + 1h);
    co_await runtime::sleep(1s);
    const auto jobs = co_await jobs_of(in, "mail");
    EXPECT_EQ(jobs.size(), 2u) << jobs;
    const std::string key = jobs.at(1)["key"];
    EXPECT_EQ(key, "report@2026-03-29T01:00:00Z." + done["incarnation"].get<std::string>());
    http_client client(in);
    const received got = co_await client.ask("POST", "/v1/reserve?tube=mail&count=2&timeout=0s");
    const auto job = got.value()["jobs"].at(1);
    EXPECT_EQ(job["text"], "hello");
    EXPECT_EQ(job["priority"], 7);
    EXPECT_EQ(job["ttr"], "5m");
    EXPECT_EQ(job["headers"], nlohmann::json::parse(R"({"source":"shop"})"));
    EXPECT_EQ(job["content_type"], "text/plain; charset=utf-8");
    nlohmann::json occurrence = job["schedule"];
    occurrence.erase("zone_data");  // of this machine
    EXPECT_EQ(occurrence, nlohmann::json({{"name", "report"},
                                          {"reason", "regular"},
                                          {"at", "2026-03-29T01:00:00Z"},
                                          {"local", "2026-03-29T03:00:00"},
                                          {"nominal", "2026-03-29T02:30:00"},
                                          {"offset", "+02:00"},
                                          {"abbreviation", "CEST"},
                                          {"pass", "only"},
                                          {"shifted", true},
                                          {"zone", "Europe/Berlin"},
                                          {"version", done["version"]},
                                          {"incarnation", done["incarnation"]}}));
    co_await client.leave();
    const auto seen = co_await look(in, report);
    EXPECT_EQ(seen["cursor"], "2026-03-29T01:00:00Z");
    EXPECT_EQ(seen["counts"]["made"]["regular"], 2);
    EXPECT_EQ(seen["last"].at(0)["at"], "2026-03-29T01:00:00Z");
    EXPECT_EQ(seen["living"].at(1)["key"], key);
  });
}

TEST(ScheduleRequests, JobsHaveBodiesOfAllForms) {
  with_schedules([](http_server& in) -> task<> {
    const std::vector<std::pair<std::string, std::pair<std::string, nlohmann::json>>> forms = {
        {R"("body":{"b":1,"a":[null]})", {"body", nlohmann::json::parse(R"({"a":[null],"b":1})")}},
        {R"("body":null)", {"body", nullptr}},
        {R"("text":"a \u20ac")", {"text", "a \u20ac"}},
        {R"("base64":"AP8=")", {"base64", "AP8="}},
        {R"("priority":1)", {"text", ""}},
    };
    std::size_t number = 0;
    for (const auto& [given, wanted] : forms) {
      const std::string tube = fmt::format("t{}", number++);
      const std::string target = fmt::format("/v1/tubes/{}/schedules/s", tube);
      co_await made(in, target, fmt::format(R"({{"rules":["@yearly"],"job":{{{}}}}})", given));
      const auto seen = co_await look(in, target);
      EXPECT_EQ(seen["plan"]["job"], nlohmann::json::parse("{" + given + "}"));
      const received run = co_await ask(in, "POST", target + "/run");
      EXPECT_EQ(run.value()["outcome"], "accepted") << run.body;
      const received got = co_await ask(in, "POST", fmt::format("/v1/reserve?tube={}&timeout=10s", tube));
      const auto jobs = got.value()["jobs"];
      EXPECT_EQ(jobs.size(), 1u) << got.body;
      EXPECT_EQ(jobs.at(0)[wanted.first], wanted.second) << jobs;
      EXPECT_EQ(jobs.at(0)["schedule"]["reason"], "by_hand");
      EXPECT_EQ(jobs.at(0)["schedule"]["run"], 1);
      EXPECT_EQ(jobs.at(0)["key"], run.value()["key"]);
    }
  });
}

/// Each member that is wrong is named, and nothing is made.
TEST(ScheduleRequests, WrongPlansAreNamed) {
  with_schedules([](http_server& in) -> task<> {
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {R"({})", "/rules"},
        {R"({"rules":[]})", "/rules"},
        {R"({"rules":"@daily"})", "/rules"},
        {R"({"rules":["@daily",7]})", "/rules/1"},
        {R"({"rules":["0 24 * * *"]})", "/rules/0"},
        {R"({"rules":["0 0 30 2 *"]})", "/rules"},
        {R"({"rules":[{"text":"0 0 9 * * *"}]})", "/rules/0/text"},
        {R"({"rules":[{"text":"@daily","dialect":"quarz"}]})", "/rules/0/dialect"},
        {R"({"rules":[{"text":"@daily","anchor":"2026-01-01T00:00:00Z"}]})", "/rules/0/anchor"},
        {R"({"rules":["after 10m","@daily"]})", "/rules"},
        {R"({"rules":["@daily"],"zone":"Europe/Berln"})", "/zone"},
        {R"({"rules":["@daily"],"zone":7})", "/zone"},
        {R"({"rules":["@daily"],"exclude":{"dates":["2026-02-30"]}})", "/exclude/dates/0"},
        {R"({"rules":["@daily"],"exclude":{"rules":["x"]}})", "/exclude/rules/0"},
        {R"({"rules":["@daily"],"exclude":{"days":[]}})", "/exclude/days"},
        {R"({"rules":["@daily"],"starts":"tomorrow"})", "/starts"},
        {R"({"rules":["@daily"],"starts":"2026-05-01T00:00:00Z","ends":"2026-05-01T00:00:00Z"})", "/ends"},
        {R"({"rules":["@daily"],"count":0})", "/count"},
        {R"({"rules":["@daily"],"jitter":"8d"})", "/jitter"},
        {R"({"rules":["@daily"],"gap":"move"})", "/gap"},
        {R"({"rules":["@daily"],"overlap":"second"})", "/overlap"},
        {R"({"rules":["@daily"],"missed":"some"})", "/missed"},
        {R"({"rules":["@daily"],"missed_limit":5})", "/missed_limit"},
        {R"({"rules":["@daily"],"missed_window":"-1s"})", "/missed_window"},
        {R"({"rules":["@daily"],"busy":"wait"})", "/busy"},
        {R"({"rules":["@daily"],"busy":"disown"})", "/busy"},
        {R"({"rules":["@daily"],"busy_limit":5})", "/busy_limit"},
        {R"({"rules":["@daily"],"deadline":0})", "/deadline"},
        {R"({"rules":["@daily"],"note":["a"]})", "/note"},
        {R"({"rules":["@daily"],"job":[]})", "/job"},
        {R"({"rules":["@daily"],"job":{"text":"a","body":1}})", "/job/body"},
        {R"({"rules":["@daily"],"job":{"base64":"?"}})", "/job/base64"},
        {R"({"rules":["@daily"],"job":{"priority":-1}})", "/job/priority"},
        {R"({"rules":["@daily"],"job":{"ttr":0}})", "/job/ttr"},
        {R"({"rules":["@daily"],"job":{"headers":{"A":"b"}}})", "/job/headers/A"},
        {R"({"rules":["@daily"],"job":{"delay":"1s"}})", "/job/delay"},
        {R"({"rules":["@daily"],"zome":"UTC"})", "/zome"},
        {R"({"rules":["@daily"],"job":{"text":")" + std::string(http_server::largest_job + 1, 'x') + R"("}})",
         "/job/text"},
    };
    for (const auto& [plan, pointer] : wrong) {
      const received got = co_await put_plan(in, report, plan);
      EXPECT_EQ(got.wrong(), "400 pointer #" + pointer) << plan << got.body;
    }
    const received zone = co_await put_plan(in, report, R"({"rules":["@daily"],"zone":"Europe/Berln"})");
    EXPECT_TRUE(zone.body.contains("Europe/Berlin")) << zone.body;
    const received near = co_await put_plan(in, report, R"({"rules":["@daily"],"zome":"UTC"})");
    EXPECT_TRUE(near.body.contains("zone")) << near.body;
    const received none = co_await ask(in, "PUT", report);
    EXPECT_EQ(none.status, 400) << none.body;
    const received raw = co_await ask(in, "PUT", report, "", "Foliot-Body: raw\r\n");
    EXPECT_EQ(raw.wrong(), "415 header content-type");
    const received missing = co_await ask(in, "GET", report);
    EXPECT_EQ(missing.wrong(), "404 gone");
    EXPECT_EQ(jobs::execute_one(in.memory, jobs::count_tube{std::string(tube_of_schedules)}).counts.all(), 0u);
  });
}

TEST(ScheduleRequests, WrongRequestsAreNamed) {
  with_schedules([](http_server& in) -> task<> {
    co_await made(in, report, R"({"rules":["@daily"]})");
    struct wrong {
      std::string method, rest, body, problem;
    };
    const std::string before = "2026-03-27T07:59:59Z";
    const std::vector<wrong> all = {
        {"POST", "/pause", R"({"until":"soon"})", "400 pointer #/until"},
        {"POST", "/pause", R"({"until":")" + before + R"("})", "400 pointer #/until"},
        {"POST", "/pause?until=" + before, "", "400 parameter until"},
        {"POST", "/pause", R"({"note":7})", "400 pointer #/note"},
        {"POST", "/pause", R"({"name":"other"})", "400 pointer #/name"},
        {"POST", "/pause", R"({"reason":"x"})", "400 pointer #/reason"},
        {"POST", "/resume", R"({"note":"x"})", "400 pointer #/note"},
        {"POST", "/skip", R"({"at":"2026-03-28T00:00:01Z"})", "400 pointer #/at"},
        {"POST", "/skip", R"({"at":"2026-03-28T00:00:00.5Z"})", "400 pointer #/at"},
        {"POST", "/skip?at=2026-03-27T00:00:00Z", "", "400 parameter at"},
        {"POST", "/run", R"({"at":"2026-03-28T00:00:00Z"})", "400 pointer #/at"},
        {"POST", "/backfill", R"({"from":"2026-03-01T00:00:00Z"})", "400 pointer #/to"},
        {"POST", "/backfill", R"({"to":"2026-03-01T00:00:00Z"})", "400 pointer #/from"},
        {"POST", "/backfill", R"({"from":"2026-03-02T00:00:00Z","to":"2026-03-01T00:00:00Z"})", "400 pointer #/to"},
        {"POST", "/backfill", R"({"from":"2026-03-02T00:00:00Z","to":"2026-03-03T00:00:00Z","dry_run":1})",
         "400 pointer #/dry_run"},
        {"DELETE", "?occurrences=all", "", "400 parameter occurrences"},
        {"GET", "?with_body=true", "", "400 parameter with_body"},
    };
    for (const wrong& each : all) {
      const received got = co_await ask(in, each.method, report + each.rest, each.body);
      EXPECT_EQ(got.wrong(), each.problem) << each.method << each.rest << each.body << got.body;
    }
    const std::vector<std::pair<std::string, std::string>> names = {
        {"/v1/tubes/-mail/schedules/a", "400 path tube"},
        {"/v1/tubes/a:b/schedules/a", "400 path tube"},
        {"/v1/tubes/mail/schedules/-a", "400 path name"},
        {"/v1/tubes/mail/schedules/a:b", "400 path name"},
        {"/v1/tubes/mail/schedules/a%20b", "400 path name"},
        {"/v1/tubes/mail/schedules/" + std::string(longest_schedule_name + 1, 'x'), "400 path name"},
        {"/v1/schedule?tube=mail", "400 pointer #/name"},
        {"/v1/schedule?name=mail", "400 pointer #/tube"},
        {"/v1/schedules?tube=a&prefix=b", "400 parameter prefix"},
        {"/v1/schedules?count=0", "400 parameter count"},
        {"/v1/schedules?count=101", "400 parameter count"},
        {"/v1/schedules?cursor=x", "400 parameter cursor"},
        {"/v1/schedules?name=x", "400 parameter name"},
    };
    for (const auto& [target, problem] : names) {
      const received got = co_await ask(in, "GET", target);
      EXPECT_EQ(got.wrong(), problem) << target << got.body;
    }
    const auto seen = co_await look(in, report);
    EXPECT_EQ(seen["skips"], nlohmann::json::array()) << "nothing has come of all that";
    EXPECT_FALSE(seen.contains("pause"));
  });
}

TEST(ScheduleRequests, AMissingOneIsGone) {
  with_schedules([](http_server& in) -> task<> {
    for (const std::string rest :
         {"/pause", "/resume", "/skip", "/run", "/backfill?from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z"}) {
      const received got = co_await ask(in, "POST", report + rest);
      EXPECT_EQ(got.wrong(), "404 gone") << rest;
      const received with_tag = co_await ask(in, "POST", report + rest, "", "If-Match: *\r\n");
      EXPECT_EQ(with_tag.wrong(), "412 header if-match") << rest;
    }
    const received gone = co_await ask(in, "DELETE", report);
    EXPECT_EQ(gone.wrong(), "404 gone");
  });
}

TEST(ScheduleRequests, ConditionsAreKept) {
  with_schedules([](http_server& in) -> task<> {
    const auto put = [&](std::string plan, std::string fields) -> task<std::string> {
      const received got = co_await put_plan(in, report, std::move(plan), std::move(fields));
      const auto value = got.value();
      co_return got.status < 300 ? value["outcome"].get<std::string>() : got.wrong();
    };
    const auto expect = [&](std::string plan, std::string fields, std::string wanted) -> task<> {
      const std::string shown = plan + fields;
      const std::string outcome = co_await put(std::move(plan), std::move(fields));
      EXPECT_EQ(outcome, wanted) << shown;
    };
    const std::string daily = R"({"rules":["@daily"]})";
    const std::string weekly = R"({"rules":["@weekly"]})";
    co_await expect(daily, "If-Match: *\r\n", "412 header if-match");
    co_await expect(daily, "If-Match: \"00000000deadbeef.1\"\r\n", "412 header if-match");
    co_await expect(daily, "If-None-Match: \"x\"\r\n", "400 header if-none-match");
    co_await expect(daily, "If-None-Match: *\r\nIf-Match: *\r\n", "400 header if-none-match");
    co_await expect(daily, "If-None-Match: *\r\n", "made");
    co_await expect(weekly, "If-None-Match: *\r\n", "412 header if-none-match");
    const received first = co_await ask(in, "GET", report);
    const std::string tag = field_of(first, "ETag");
    co_await expect(weekly, "If-Match: W/" + tag + "\r\n", "412 header if-match");
    co_await expect(weekly, "If-Match: \"7\"\r\n", "412 header if-match");
    co_await expect(weekly, "If-Match: 7\r\n", "400 header if-match");
    co_await expect(weekly, "If-Match: \"a\", " + tag + "\r\n", "changed");
    co_await expect(daily, "If-Match: " + tag + "\r\n", "412 header if-match");
    const received old = co_await put_plan(in, report, daily, "If-Match: " + tag + "\r\n");
    const std::string present = field_of(old, "ETag");
    EXPECT_NE(present, tag);
    const received second = co_await ask(in, "GET", report);
    EXPECT_EQ(field_of(second, "ETag"), present);
    co_await expect(daily, "If-Match: *\r\n", "changed");
    const received late = co_await ask(in, "DELETE", report, "", "If-Match: " + present + "\r\n");
    EXPECT_EQ(late.wrong(), "412 header if-match");
    const received absent = co_await ask(in, "DELETE", report, "", "If-None-Match: *\r\n");
    EXPECT_EQ(absent.wrong(), "400 header if-none-match");
    const received third = co_await ask(in, "GET", report);
    for (const std::string rest : {"/pause", "/resume", "/skip", "/run"}) {
      const received refused = co_await ask(in, "POST", report + rest, "", "If-Match: " + present + "\r\n");
      EXPECT_EQ(refused.wrong(), "412 header if-match") << rest;
      const received done = co_await ask(in, "POST", report + rest, "", "If-Match: *\r\n");
      EXPECT_EQ(done.status, 200) << rest << done.body;
    }
    const received keyed = co_await ask(in, "POST", std::string(report) + "/run", "", "Idempotency-Key: a\r\n");
    EXPECT_EQ(keyed.wrong(), "400 header idempotency-key");
    const received gone = co_await ask(in, "DELETE", report, "", "If-Match: *\r\n");
    EXPECT_EQ(gone.status, 200) << gone.body;
    co_await expect(daily, "If-None-Match: *\r\n", "made");
    const received anew = co_await ask(in, "GET", report);
    EXPECT_NE(field_of(anew, "ETag"), field_of(third, "ETag")) << "another incarnation";
  });
}

TEST(ScheduleRequests, IsPausedAndResumed) {
  with_schedules([](http_server& in) -> task<> {
    co_await made(in, report, R"({"rules":["0 * * * *"]})");
    const received paused = co_await ask(in, "POST", std::string(report) + "/pause",
                                         R"({"note":"holidays","until":"2026-03-27T12:00:00Z"})");
    EXPECT_EQ(paused.value()["outcome"], "paused") << paused.body;
    const auto seen = co_await look(in, report);
    EXPECT_EQ(seen["state"], "paused");
    EXPECT_EQ(seen["pause"]["note"], "holidays");
    EXPECT_EQ(seen["pause"]["since"], "2026-03-27T08:00:00Z");
    EXPECT_EQ(seen["pause"]["until"], "2026-03-27T12:00:00Z");
    EXPECT_EQ(seen["next"].at(0)["paused"], true);
    EXPECT_FALSE(seen["next"].at(3).contains("paused")) << seen["next"];
    co_await sleep_to(first_second + 4h);
    co_await runtime::sleep(1s);
    const auto later = co_await look(in, report);
    EXPECT_EQ(later["state"], "active");
    EXPECT_EQ(later["counts"]["outcomes"]["skipped_paused"], 3);
    EXPECT_EQ(later["counts"]["made"]["regular"], 1) << "what is due at the end of the pause is made";
    const received again = co_await ask(in, "POST", std::string(report) + "/pause");
    EXPECT_EQ(again.status, 200);
    co_await sleep_to(first_second + 6h + 1s);
    const received resumed = co_await ask(in, "POST", std::string(report) + "/resume");
    EXPECT_EQ(resumed.value()["outcome"], "resumed") << resumed.body;
    const received twice = co_await ask(in, "POST", std::string(report) + "/resume");
    EXPECT_EQ(twice.value()["outcome"], "unchanged");
    co_await sleep_to(first_second + 7h + 1s);
    const auto jobs = co_await jobs_of(in, "mail");
    EXPECT_EQ(jobs.size(), 2u) << "paused time is not missed";
  });
}

TEST(ScheduleRequests, ExactlyOneIsSkipped) {
  with_schedules([](http_server& in) -> task<> {
    co_await made(in, report, R"({"rules":["0 * * * *"]})");
    const received next = co_await ask(in, "POST", std::string(report) + "/skip");
    EXPECT_EQ(next.value()["outcome"], "skipped") << next.body;
    EXPECT_EQ(next.value()["at"], "2026-03-27T09:00:00Z");
    const received named =
        co_await ask(in, "POST", std::string(report) + "/skip", R"({"at":"2026-03-27T12:00:00+01:00"})");
    EXPECT_EQ(named.value()["at"], "2026-03-27T11:00:00Z") << named.body;
    const auto seen = co_await look(in, report);
    EXPECT_EQ(seen["skips"], nlohmann::json({"2026-03-27T09:00:00Z", "2026-03-27T11:00:00Z"}));
    EXPECT_EQ(seen["next"].at(0)["skipped"], true);
    EXPECT_FALSE(seen["next"].at(1).contains("skipped"));
    co_await sleep_to(first_second + 4h + 1s);
    const auto jobs = co_await jobs_of(in, "mail");
    EXPECT_EQ(jobs.size(), 2u);
    const auto later = co_await look(in, report);
    EXPECT_EQ(later["counts"]["outcomes"]["skipped_by_request"], 2);
    EXPECT_EQ(later["skips"], nlohmann::json::array());
  });
}

TEST(ScheduleRequests, ABackfillIsCountedFirst) {
  with_schedules([](http_server& in) -> task<> {
    co_await made(in, report, R"({"rules":["0 9 * * *"]})");
    const std::string stretch = R"("from":"2026-03-01T00:00:00Z","to":"2026-03-11T00:00:00Z")";
    const std::string target = std::string(report) + "/backfill";
    const received counted = co_await ask(in, "POST", target, "{" + stretch + R"(,"dry_run":true})");
    EXPECT_EQ(counted.value()["outcome"], "counted") << counted.body;
    EXPECT_EQ(counted.value()["count"], 10);
    EXPECT_EQ(counted.value()["first"], "2026-03-01T09:00:00Z");
    EXPECT_EQ(counted.value()["last"], "2026-03-10T09:00:00Z");
    EXPECT_EQ(counted.value()["times"].size(), 10u) << counted.body;
    EXPECT_EQ(counted.value()["times"][9]["at"], "2026-03-10T09:00:00Z") << counted.body;
    EXPECT_EQ(counted.value()["times"][9]["local"], "2026-03-10T09:00:00") << counted.body;
    co_await runtime::sleep(10s);
    const auto none = co_await jobs_of(in, "mail");
    EXPECT_EQ(none.size(), 0u);
    const received done = co_await ask(in, "POST", target, "{" + stretch + "}");
    EXPECT_EQ(done.value()["outcome"], "accepted") << done.body;
    EXPECT_EQ(done.value()["count"], 10);
    co_await runtime::sleep(10s);
    const received got = co_await ask(in, "POST", "/v1/reserve?tube=mail&count=100&timeout=0s");
    const auto jobs = got.value()["jobs"];
    EXPECT_EQ(jobs.size(), 10u);
    std::set<std::string> instants;
    for (const auto& each : jobs) {
      EXPECT_EQ(each.at("schedule").at("reason"), "backfill") << each;
      instants.insert(each.at("schedule").at("at").get<std::string>());
    }
    EXPECT_EQ(instants.size(), 10u);
    EXPECT_TRUE(instants.contains("2026-03-10T09:00:00Z"));
    const received again = co_await ask(in, "POST", target, "{" + stretch + "}");
    EXPECT_EQ(again.value()["count"], 0) << "each instant is made once";
    EXPECT_EQ(again.value()["left_out"], 10);
    const auto seen = co_await look(in, report);
    EXPECT_EQ(seen["counts"]["made"]["backfill"], 10);
    EXPECT_EQ(seen["cursor"], "2026-03-27T08:00:00Z");
  });
}

TEST(ScheduleRequests, ADeleteTellsWhatBecomesOfOccurrences) {
  for (const bool cancels : {false, true}) {
    with_schedules([cancels](http_server& in) -> task<> {
      co_await made(in, report, R"({"rules":["0 * * * *"]})");
      co_await sleep_to(first_second + 3h + 1s);
      http_client worker(in);
      const received got = co_await worker.ask("POST", "/v1/reserve?tube=mail&timeout=0s");
      EXPECT_EQ(got.value()["jobs"].size(), 1u);
      const received cancelled =
          co_await ask(in, "DELETE", "/v1/tubes/mail/jobs/" + got.value()["jobs"].at(0)["key"].get<std::string>());
      EXPECT_EQ(cancelled.wrong(), "409 reserved");
      const received gone = co_await ask(in, "DELETE", std::string(report) + (cancels ? "?occurrences=cancel" : ""));
      EXPECT_EQ(gone.status, 200) << gone.body;
      const auto told = gone.value();
      EXPECT_EQ(told["outcome"], "deleted");
      EXPECT_EQ(told["occurrences"].size(), 3u);
      const std::string waiting = cancels ? "cancelled" : "kept";
      EXPECT_EQ(told["occurrences"].at(0)["outcome"], "at_work");
      EXPECT_EQ(told["occurrences"].at(1)["outcome"], waiting);
      EXPECT_EQ(told["occurrences"].at(2)["at"], "2026-03-27T11:00:00Z");
      const received missing = co_await ask(in, "GET", report);
      EXPECT_EQ(missing.wrong(), "404 gone");
      co_await worker.leave();
      co_await runtime::sleep(3h);
      const auto jobs = co_await jobs_of(in, "mail");
      EXPECT_EQ(jobs.size(), cancels ? 1u : 3u) << "no more come";
    });
  }
}

TEST(ScheduleRequests, NamesTravelInThePathOrTheQuery) {
  with_schedules([](http_server& in) -> task<> {
    const std::string tube(jobs::longest_tube_name - longest_schedule_name - 1, 't');
    const std::string name(longest_schedule_name, 'n');
    co_await made(in, "/v1/tubes/" + tube + "/schedules/" + name, R"({"rules":["@daily"]})");
    co_await made(in, "/v1/tubes/shop%2Fmail/schedules/a%2Fb", R"({"rules":["@daily"]})");
    co_await made(in, "/v1/schedule?tube=shop/mail&name=c/d", R"({"rules":["@daily"]})");
    const std::vector<std::string> targets = {
        "/v1/tubes/" + tube + "/schedules/" + name, "/v1/schedule?tube=" + tube + "&name=" + name,
        "/v1/schedule?tube=shop/mail&name=a/b", "/v1/tubes/shop%2Fmail/schedules/c%2Fd"};
    for (const std::string& target : targets) {
      const auto seen = co_await look(in, target);
      EXPECT_EQ(seen["state"], "active") << target;
    }
    const received paused = co_await ask(in, "POST", "/v1/schedule/pause", R"({"tube":"shop/mail","name":"a/b"})");
    EXPECT_EQ(paused.value()["outcome"], "paused") << paused.body;
    const received gone = co_await ask(in, "DELETE", "/v1/schedule?tube=shop/mail&name=a/b");
    EXPECT_EQ(gone.value()["outcome"], "deleted") << gone.body;
    const std::string longest(jobs::longest_tube_name, 't');
    const received too_long = co_await put_plan(in, "/v1/tubes/" + longest + "/schedules/x", R"({"rules":["@daily"]})");
    EXPECT_EQ(too_long.status, 400) << too_long.body;
    EXPECT_TRUE(too_long.body.contains("together")) << too_long.body;
  });
}

TEST(ScheduleRequests, AListHasPages) {
  with_schedules([](http_server& in) -> task<> {
    for (int i = 0; i < 7; ++i) {
      co_await made(in, fmt::format("/v1/tubes/mail.{}/schedules/s{}", i % 2, i),
                    fmt::format(R"({{"rules":["0 {} * * *"],"zone":"Europe/Berlin","note":"n"}})", 10 + i));
    }
    const auto names = [&](std::string target, std::size_t least_pages) -> task<std::set<std::string>> {
      std::set<std::string> all;
      std::string cursor;
      std::size_t pages = 0;
      do {
        std::string wanted = target;
        if (!cursor.empty()) wanted += "&cursor=" + cursor;
        const auto page = co_await look(in, std::move(wanted));
        for (const auto& each : page["schedules"]) {
          EXPECT_TRUE(all.insert(each["name"].get<std::string>()).second) << each;
        }
        cursor = page.value("next", "");
        ++pages;
      } while (!cursor.empty() && pages < 100);
      EXPECT_GE(pages, least_pages) << target;
      co_return all;
    };
    const auto all = co_await names("/v1/schedules?count=2", 4);
    EXPECT_EQ(all.size(), 7u);
    const auto one = co_await names("/v1/tubes/mail.1/schedules?count=2", 2);
    EXPECT_EQ(one, (std::set<std::string>{"s1", "s3", "s5"}));
    const auto same = co_await names("/v1/schedules?tube=mail.1", 1);
    EXPECT_EQ(same, one);
    const auto prefix = co_await names("/v1/schedules?prefix=mail.", 1);
    EXPECT_EQ(prefix.size(), 7u);
    const auto none = co_await names("/v1/schedules?prefix=bill", 1);
    EXPECT_EQ(none.size(), 0u);
    const auto page = co_await look(in, "/v1/tubes/mail.0/schedules");
    const auto& entry = page["schedules"].at(0);
    EXPECT_EQ(entry["tube"], "mail.0");
    EXPECT_EQ(entry["rules"], nlohmann::json({"0 10 * * *"}));
    EXPECT_EQ(entry["zone"], "Europe/Berlin");
    EXPECT_EQ(entry["note"], "n");
    EXPECT_EQ(entry["words"], "At 10:00 every day, by the clock of Europe/Berlin.");
    EXPECT_EQ(entry["next"], nlohmann::json({{"at", "2026-03-27T09:00:00Z"},
                                             {"local", "2026-03-27T10:00:00"},
                                             {"nominal", "2026-03-27T10:00:00"},
                                             {"offset", "+01:00"}}));
    const received skipped = co_await ask(in, "POST", "/v1/tubes/mail.0/schedules/s0/skip");
    EXPECT_EQ(skipped.status, 200) << skipped.body;
    const auto left_out = co_await look(in, "/v1/tubes/mail.0/schedules");
    EXPECT_EQ(left_out["schedules"].at(0)["next"]["skipped"], true) << left_out;
    co_await made(in, "/v1/tubes/apart/schedules/weekday",
                  R"({"rules":["0 9 * * *"],"exclude":{"dates":["2026-04-03"]},"job":{"body":"x"}})");
    const auto apart = co_await look(in, "/v1/tubes/apart/schedules");
    const auto whole = co_await look(in, "/v1/tubes/apart/schedules/weekday");
    EXPECT_EQ(apart["schedules"].at(0)["words"], whole["words"]) << "with what it excludes";
  });
}

/// The record of a schedule is held by a turn that does not end.
TEST(ScheduleRequests, AChangeWaitsForATurnAMoment) {
  with_schedules([](http_server& in) -> task<> {
    co_await made(in, report, R"({"rules":["@daily"]})");
    const jobs::job_name record = jobs::job_key{std::string(tube_of_schedules), "mail:report"};
    const jobs::job_id id = jobs::execute_one(in.memory, jobs::peek{record}).job->id;
    const auto held = jobs::execute_one(in.memory, jobs::claim_job{id});
    EXPECT_EQ(held.jobs.size(), 1u);
    const auto seen = co_await look(in, report);
    EXPECT_EQ(seen["state"], "active") << "a look needs no turn";
    const received busy = co_await ask(in, "POST", std::string(report) + "/pause");
    EXPECT_EQ(busy.wrong(), "409 busy");
    EXPECT_EQ(field_of(busy, "Retry-After"), "1");
    jobs::execute_one(in.memory, jobs::abandon{held.jobs.at(0).token});
    const received done = co_await ask(in, "POST", std::string(report) + "/pause");
    EXPECT_EQ(done.value()["outcome"], "paused") << done.body;
  });
}

TEST(ScheduleRequests, NobodySeesTheRecords) {
  with_schedules([](http_server& in) -> task<> {
    co_await made(in, report, R"({"rules":["@daily"]})");
    const jobs::job_name record = jobs::job_key{std::string(tube_of_schedules), "mail:report"};
    const jobs::job_id id = jobs::execute_one(in.memory, jobs::peek{record}).job->id;
    const received by_id = co_await ask(in, "GET", fmt::format("/v1/jobs/{}", id));
    EXPECT_EQ(by_id.status, 404);
    const received cancelled = co_await ask(in, "DELETE", fmt::format("/v1/jobs/{}", id));
    EXPECT_EQ(cancelled.status, 404);
    const received listed = co_await ask(in, "GET", "/v1/jobs");
    EXPECT_EQ(listed.value()["jobs"].size(), 0u) << listed.body;
    const received due = co_await ask(in, "GET", "/v1/due");
    EXPECT_EQ(due.value()["jobs"].size(), 0u) << due.body;
    const received tubes = co_await ask(in, "GET", "/v1/tubes");
    EXPECT_EQ(tubes.value()["tubes"].size(), 0u) << tubes.body;
  });
}

TEST(ScheduleRequests, ADrainingServerMakesNone) {
  with_schedules([](http_server& in) -> task<> {
    co_await made(in, report, R"({"rules":["@daily"]})");
    in.speaks_to.drain();
    const received put = co_await put_plan(in, report, R"({"rules":["@weekly"]})");
    EXPECT_EQ(put.status, 503);
    const received run = co_await ask(in, "POST", std::string(report) + "/run");
    EXPECT_EQ(run.status, 503);
    const std::string stretch = "?from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z";
    const received filled = co_await ask(in, "POST", std::string(report) + "/backfill" + stretch);
    EXPECT_EQ(filled.status, 503);
    const received counted = co_await ask(in, "POST", std::string(report) + "/backfill" + stretch + "&dry_run=true");
    EXPECT_EQ(counted.status, 200) << counted.body;
    const received paused = co_await ask(in, "POST", std::string(report) + "/pause");
    EXPECT_EQ(paused.status, 200) << paused.body;
  });
}

TEST(ScheduleRequests, OneThatHasEndedSaysWhy) {
  with_schedules([](http_server& in) -> task<> {
    co_await made(in, report, R"({"rules":["0 * * * *"],"count":2})");
    co_await sleep_to(first_second + 5h);
    const auto seen = co_await look(in, report);
    EXPECT_EQ(seen["state"], "ended") << seen;
    EXPECT_EQ(seen["ended"], "count");
    EXPECT_EQ(seen["next"], nlohmann::json::array());
    EXPECT_EQ(seen["counts"]["made"]["regular"], 2);
    const received run = co_await ask(in, "POST", std::string(report) + "/run");
    EXPECT_EQ(run.value()["outcome"], "accepted") << "by hand it runs nevertheless";
    co_await runtime::sleep(10s);
    const auto jobs = co_await jobs_of(in, "mail");
    EXPECT_EQ(jobs.size(), 3u);
  });
}

/// As SQL may make it: its rule is wrong.
TEST(ScheduleRequests, OneThatCannotBeFollowedSaysWhy) {
  with_schedules([](http_server& in) -> task<> {
    jobs::put record;
    record.tube = std::string(tube_of_schedules);
    record.key = "mail:report";
    record.body = R"({"rules":["0 25 * * *"]})";
    jobs::execute_one(in.memory, std::move(record));
    co_await runtime::sleep(10s);
    const auto seen = co_await look(in, report);
    EXPECT_EQ(seen["state"], "refused") << seen;
    EXPECT_TRUE(seen["refused"].get<std::string>().contains("25")) << seen;
    const auto page = co_await look(in, "/v1/schedules");
    EXPECT_EQ(page["schedules"].at(0)["state"], "refused") << page;
    const received paused = co_await ask(in, "POST", std::string(report) + "/pause");
    EXPECT_EQ(paused.status, 409) << paused.body;
    const received put = co_await put_plan(in, report, R"({"rules":["@daily"]})");
    EXPECT_EQ(put.status, 200) << put.body;
    const auto right = co_await look(in, report);
    EXPECT_EQ(right["state"], "active") << right;
  });
}

}  // namespace
}  // namespace foliot::program::http
