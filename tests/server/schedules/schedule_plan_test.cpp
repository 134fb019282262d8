// Plans of schedules: their one form, and what is wrong with others.
#include "server/schedules/schedule_plan.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "schedule_world.hpp"
#include "server/http/job_headers.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::string_view whole_text =
    R"({"rules":["0 9 * * MON-FRI",{"text":"0 0 12 * * ?","dialect":"quartz"},{"text":"every 4h","anchor":"2026-01-01T00:00:00Z"}],)"
    R"("zone":"Europe/Berlin","exclude":{"dates":["2026-12-25","2026-12-26"],"rules":["* * 24 12 *"]},)"
    R"("starts":"2026-12-01T00:00:00Z","ends":"2027-12-01T00:00:00Z","count":100,"jitter":"5m","gap":"skip",)"
    R"("overlap":"both","missed":"all","missed_limit":10,"missed_window":"7d","busy":"queue","busy_limit":5,)"
    R"("deadline":"1h","note":"why","job":{"body":{"a":[1,2.5,null]},"priority":7,"ttr":"1h30m",)"
    R"("content_type":"application/x","headers":{"from":"here"}}})";

TEST(SchedulePlan, IsReadAndWrittenInOneForm) {
  const schedule_plan plan = plan_of(whole_text);
  EXPECT_EQ(plan.text(), whole_text);
  EXPECT_EQ(plan_of(plan.text()), plan);
  EXPECT_EQ(plan.rules.size(), 3u);
  EXPECT_EQ(plan.rules[1].dialect, schedule::dialect::quartz);
  EXPECT_EQ(plan.count, 100u);
  EXPECT_EQ(plan.jitter, 5min);
  EXPECT_EQ(plan.missed_window, 24h * 7);
  EXPECT_EQ(plan.deadline, 1h);
  EXPECT_EQ(plan.job.body, R"({"a":[1,2.5,null]})");
  EXPECT_EQ(plan.job.ttr, 90min);
  EXPECT_EQ(http::content_type_of(plan.job.fields), "application/x");
  EXPECT_EQ(http::headers_of(plan.job.fields).at("from"), "here");
}

TEST(SchedulePlan, OtherFormsBecomeTheOne) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"rules":[{"text":"@daily","dialect":"vixie"}],"zone":"UTC","missed":"last","busy":"allow","job":{}})",
       R"({"rules":["@daily"]})"},
      {R"({"job":{"text":"hello"},"rules":["@daily"],"jitter":300,"deadline":"90m"})",
       R"({"rules":["@daily"],"jitter":"5m","deadline":"1h30m","job":{"text":"hello"}})"},
      {R"({"rules":["@daily"],"starts":"2026-12-01T01:00:00.5+01:00","exclude":{"dates":["2026-12-26","2026-12-25","2026-12-26"]}})",
       R"({"rules":["@daily"],"exclude":{"dates":["2026-12-25","2026-12-26"]},"starts":"2026-12-01T00:00:01Z"})"},
      {R"({"rules":["@daily"],"job":{"body":null,"ttr":60}})", R"({"rules":["@daily"],"job":{"body":null}})"},
      {R"({"rules":["@daily"],"job":{"base64":"AP8="},"note":null})",
       R"({"rules":["@daily"],"job":{"base64":"AP8="}})"},
      {R"({"rules":["@daily"],"job":{"text":"a","content_type":"text/html"}})",
       R"({"rules":["@daily"],"job":{"text":"a","content_type":"text/html"}})"},
  };
  for (const auto& [given, form] : cases) {
    const schedule_plan plan = plan_of(given);
    EXPECT_EQ(plan.text(), form);
    EXPECT_EQ(plan_of(form), plan) << form;
  }
}

TEST(SchedulePlan, SaysWhatIsWrongAndWhatWouldBeRight) {
  struct wrong {
    std::string text;
    std::string pointer;
    std::string says;
  };
  const std::string rule = R"("rules":["@daily"])";
  const std::vector<wrong> cases{
      {"[]", "", "must be an object"},
      {"{", "", ""},
      {"{}", "/rules", "`rules` is missing"},
      {R"({"rules":[]})", "/rules", "name at least one"},
      {R"({"rules":"@daily"})", "/rules", "must be an array"},
      {R"({"rules":["@daily",7]})", "/rules/1", "an object with `text`"},
      {R"({"rules":["0 24 * * *"]})", "/rules/0", "hour, character 3: 24 is not within 0 to 23: midnight is 0"},
      {R"({"rules":[{"text":"0 24 * * *"}]})", "/rules/0/text", "24 is not within 0 to 23"},
      {R"({"rules":[{"text":"@daily","dialekt":"quartz"}]})", "/rules/0/dialekt", "did you mean `dialect`?"},
      {R"({"rules":[{"text":"@daily","dialect":"Quartz"}]})", "/rules/0/dialect", "`quartz`"},
      {R"({"rules":[{"text":"@daily","anchor":"2026-01-01T00:00:00Z"}]})", "/rules/0/anchor", "belongs to `every`"},
      {R"({"rules":["after 5m","@daily"]})", "/rules", "is alone"},
      {R"({"rules":["@daily"],"exclude":{"rules":["after 5m"]}})", "/exclude/rules", "excludes nothing"},
      {R"({"rules":["@daily"],"rule":[]})", "/rule", "did you mean `rules`?"},
      {R"({"rules":["@daily"],"colour":1})", "/colour", "members are `rules`, `zone`"},
      {R"({"rules":["@daily"],"zone":7})", "/zone", "must be a string such as"},
      {R"({"rules":["@daily"],"exclude":{"date":[]}})", "/exclude/date", "did you mean `dates`?"},
      {R"({"rules":["@daily"],"exclude":{"dates":["2026-12-25","2026-02-30"]}})", "/exclude/dates/1", "must be a day"},
      {R"({"rules":["@daily"],"starts":"tomorrow"})", "/starts", "RFC 3339"},
      {R"({"rules":["@daily"],"starts":"2026-12-02T00:00:00Z","ends":"2026-12-01T00:00:00Z"})", "/ends",
       "after `starts`, 2026-12-02T00:00:00Z"},
      {R"({"rules":["@daily"],"count":0})", "/count", "from 1 to"},
      {R"({"rules":["@daily"],"count":-1})", "/count", "from 1 to"},
      {R"({"rules":["@daily"],"jitter":"8d"})", "/jitter", "from 0s to 7d"},
      {R"({"rules":["@daily"],"jitter":"5 minutes"})", "/jitter", "a length of time such as 5m"},
      {R"({"rules":["@daily"],"jitter":-5})", "/jitter", "or a number of seconds"},
      {R"({"rules":["@daily"],"gap":"shfit"})", "/gap", "did you mean `shift`?"},
      {R"({"rules":["@daily"],"overlap":true})", "/overlap", "`first`, `last` or `both`"},
      {R"({"rules":["@daily"],"missed":"some"})", "/missed", "`none`, `last` or `all`"},
      {R"({"rules":["@daily"],"missed_limit":5})", "/missed_limit", "needs \"missed\": \"all\""},
      {R"({"rules":["@daily"],"missed":"all","missed_limit":1001})", "/missed_limit", "from 1 to 1000"},
      {R"({"rules":["@daily"],"busy":"disown"})", "/busy", "`disown` is not supported yet"},
      {R"({"rules":["@daily"],"busy":"skp"})", "/busy", "did you mean `skip`?"},
      {R"({"rules":["@daily"],"busy":"skip","busy_limit":2})", "/busy_limit", "needs \"busy\": \"queue\""},
      {R"({"rules":["@daily"],"busy":"queue","busy_limit":65})", "/busy_limit", "from 1 to 64"},
      {R"({"rules":["@daily"],"deadline":"0s"})", "/deadline", "from 1s"},
      {R"({"rules":["@daily"],"note":")" + std::string(1001, 'x') + R"("})", "/note", "at most 1000 bytes"},
      {R"({"rules":["@daily"],"job":[]})", "/job", "must be an object"},
      {R"({"rules":["@daily"],"job":{"text":"a","body":1}})", "/job/body", "exclude each other"},
      {R"({"rules":["@daily"],"job":{"base64":"?"}})", "/job/base64", "RFC 4648"},
      {R"({"rules":["@daily"],"job":{"priority":4294967296}})", "/job/priority", "from 0 to 4294967295"},
      {R"({"rules":["@daily"],"job":{"ttr":0}})", "/job/ttr", "from 1ms"},
      {R"({"rules":["@daily"],"job":{"delay":"5s"}})", "/job/delay", "there is no member `delay`"},
      {R"({"rules":["@daily"],"job":{"headers":{"a":1}}})", "/job/headers/a", "must be a string"},
      {R"({"rules":["@daily"],"job":{"headers":{"a b":"1"}}})", "/job/headers/a b", ""},
  };
  for (const wrong& each : cases) {
    const auto read = schedule_plan::read(each.text);
    ASSERT_FALSE(read) << each.text;
    EXPECT_EQ(read.error().pointer, each.pointer) << each.text << ": " << read.error().detail;
    EXPECT_THAT(read.error().detail, HasSubstr(each.says)) << each.text;
  }
}

TEST(SchedulePlan, HeadersLeaveRoomForTheOccurrence) {
  const auto with = [](std::size_t size) {
    return schedule_plan::read(R"({"rules":["@daily"],"job":{"headers":{"a":")" + std::string(size, 'x') + R"("}}})");
  };
  EXPECT_TRUE(with(7000));
  ASSERT_FALSE(with(7500));
  EXPECT_EQ(with(7500).error().pointer, "/job/headers");
}

TEST(SchedulePlan, ABodyHasALimit) {
  const auto read = http::parse_json(R"({"rules":["@daily"],"job":{"text":"12345"}})");
  EXPECT_TRUE(schedule_plan::read(read->root(), 5));
  const auto wrong = schedule_plan::read(read->root(), 4);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().pointer, "/job/text");
}

TEST(SchedulePlan, WhatCannotBeReadAgainIsNotKept) {
  EXPECT_FALSE(plan_of_rule("0 9 * * *").fault_as_record());
  // The request has as many values as are read, and the record has more: each rule gets its anchor.
  std::string rules = R"("every 1h")";
  for (int i = 1; i < 100; ++i) rules += R"(,"every 1h")";
  std::string numbers = "0";
  for (int i = 1; i < 65'400; ++i) numbers += ",0";
  auto plan = plan_of(fmt::format(R"({{"rules":[{}],"job":{{"body":[{}]}}}})", rules, numbers));
  EXPECT_FALSE(plan.fault_as_record());
  plan.settle_anchors(nullptr, second_at("2026-11-30T08:00:00Z"));
  EXPECT_EQ(plan.fault_as_record().value().pointer, "/job/body");
  // A turn is one commit of the record and a job at least.
  auto large = plan_of_rule("0 9 * * *");
  large.job.form = "text";
  large.job.body = std::string(std::size_t{7} << 20, 'x');
  EXPECT_FALSE(large.fault_as_record());
  large.job.body = std::string(std::size_t{9} << 20, 'x');
  EXPECT_EQ(large.fault_as_record().value().pointer, "/job");
}

TEST(SchedulePlan, AnchorsAreSettledOnceAndStay) {
  schedule_plan plan = plan_of(R"({"rules":["every 4h","every 5h from 2026-01-01T00:00:00Z","@daily"]})");
  EXPECT_TRUE(plan.lacks_anchors());
  plan.settle_anchors(nullptr, second_at("2026-11-30T09:00:00Z"));
  EXPECT_FALSE(plan.lacks_anchors());
  EXPECT_EQ(
      plan.text(),
      R"({"rules":[{"text":"every 4h","anchor":"2026-11-30T09:00:00Z"},"every 5h from 2026-01-01T00:00:00Z","@daily"]})");
  EXPECT_EQ(plan_of(plan.text()), plan);
  schedule_plan after = plan_of(R"({"rules":["every 3h","every 4h"]})");
  after.settle_anchors(&plan, second_at("2026-12-30T09:00:00Z"));
  EXPECT_EQ(after.rules[0].anchor, second_at("2026-12-30T09:00:00Z"));
  EXPECT_EQ(after.rules[1].anchor, second_at("2026-11-30T09:00:00Z"));
}

TEST(SchedulePlan, ItsDigestLeavesTheNoteOut) {
  const schedule_plan plan = plan_of(whole_text);
  schedule_plan other = plan;
  other.note = "another";
  EXPECT_EQ(other.digest(), plan.digest());
  other.job.priority = 8;
  EXPECT_NE(other.digest(), plan.digest());
  EXPECT_EQ(plan_of(R"({"rules":["@daily"]})").digest(), plan_of(R"({"rules": ["@daily"], "job": {}})").digest());
}

TEST(SchedulePlan, ItsTableHasTheRulesOfEachKind) {
  const auto mixed = plan_of(R"({"rules":["0 9 * * *","*/10 * * * *"]})").table_in({}, "mail", "a");
  ASSERT_TRUE(mixed);
  EXPECT_TRUE(mixed->has_fixed_times);
  EXPECT_EQ(mixed->fixed->options().rules.front().text(), "0 9 * * *");
  EXPECT_EQ(mixed->elapsed->options().rules.front().text(), "*/10 * * * *");
  const auto fixed = plan_of_rule("0 9 * * *").table_in({}, "mail", "a");
  EXPECT_TRUE(fixed->has_fixed_times);
  EXPECT_FALSE(fixed->fixed || fixed->elapsed);
  EXPECT_TRUE(plan_of_rule("after 5m").table_in({}, "mail", "a")->is_delay);
  const auto wrong =
      plan_of_rule("once 2026-03-29T02:30").table_in(*schedule::zone_directory().find("Europe/Berlin"), "mail", "a");
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().detail, HasSubstr("never shows 2026-03-29T02:30"));
}

TEST(SchedulePlan, KeysOfRecordsNameTubeAndName) {
  EXPECT_EQ(key_of_schedule("mail/out", "a/b"), "mail/out:a/b");
  const auto both = schedule_of_key("mail/out:a/b");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->first, "mail/out");
  EXPECT_EQ(both->second, "a/b");
  for (const char* const key : {"", ":", "mail", "mail:", ":a", "-x:a", "mail:-a", "mail:a b", "mail:a:b"})
    EXPECT_FALSE(schedule_of_key(key)) << key;
  EXPECT_FALSE(is_schedule_name(std::string(101, 'x')));
  EXPECT_FALSE(is_schedule_name("a@b"));  // behind it the keys of occurrences have their instant
}

}  // namespace
}  // namespace foliot::program
