#include "server/targets/target_plan.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "server/http/json.hpp"
#include "server/targets/target_record.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

std::expected<target_plan, target_fault> read_plan(const std::string& text) {
  const auto document = http::parse_json(text);
  EXPECT_TRUE(document) << text;
  return target_plan::read(document->root());
}

target_plan some_plan() {
  target_plan plan;
  plan.url = "https://hooks.example.com/in?a=b";
  plan.secret = "billing-2";
  plan.content_type = "application/json";
  plan.time_out = 1500ms;
  plan.at_once = 3;
  plan.each_second = 7;
  plan.burst = 9;
  plan.retries = {4, {0ms, 250ms, 90s}};
  plan.headers = {{"x-a", "1"}, {"x-b", "two words"}};
  plan.failures_to_open = 0;
  plan.first_pause = 1ms;
  plan.longest_pause = 1h;
  return plan;
}

TEST(TargetPlan, IsReadAsItIsShown) {
  const target_plan plan = some_plan();
  const auto read = read_plan(http::json_text(plan.json()));
  ASSERT_TRUE(read) << read.error().pointer << read.error().detail;
  EXPECT_EQ(*read, plan);
}

TEST(TargetPlan, NeedsUrlAndSecretAlone) {
  const auto read = read_plan(R"({"url":"https://a.example/","secret":"one"})");
  ASSERT_TRUE(read);
  target_plan wanted;
  wanted.url = "https://a.example/";
  wanted.secret = "one";
  EXPECT_EQ(*read, wanted);
  EXPECT_EQ(read_plan(http::json_text(read->json())).value(), wanted);
}

TEST(TargetPlan, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"("url":"")", "/url"},
      {R"("url":7)", "/url"},
      {R"("secret":"whsec_c2VjcmV0")", "/secret"},
      {R"("secret":"a b")", "/secret"},
      {R"("secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=")", "/secret"},
      {R"("time_out":"99ms")", "/time_out"},
      {R"("time_out":"5m1s")", "/time_out"},
      {R"("time_out":15)", "/time_out"},
      {R"("at_once":0)", "/at_once"},
      {R"("at_once":1001)", "/at_once"},
      {R"("at_once":-1)", "/at_once"},
      {R"("each_second":100001)", "/each_second"},
      {R"("tries":0)", "/tries"},
      {R"("tries":1001)", "/tries"},
      {R"("delays":[])", "/delays"},
      {R"("delays":"5s")", "/delays"},
      {R"("delays":["31d"])", "/delays"},
      {R"("headers":[])", "/headers"},
      {R"("headers":{"":"x"})", "/headers"},
      {R"("headers":{"a b":"x"})", "/headers"},
      {R"("headers":{"a":""})", "/headers"},
      {R"("headers":{"Authorization":"x"})", "/headers"},
      {R"("headers":{"X-Api-Token":"x"})", "/headers"},
      {R"("headers":{"Foliot-Job":"x"})", "/headers"},
      {R"("failures_to_open":1001)", "/failures_to_open"},
      {R"("first_pause":"0s")", "/first_pause"},
      {R"("first_pause":"11m")", "/longest_pause"},
      {R"("timeout":"1s")", "/timeout"},
  };
  for (const auto& [member, pointer] : wrong) {
    const std::string name = member.substr(0, member.find(':'));
    std::string text = "{" + member;
    if (name != R"("url")") text += R"(,"url":"https://a.example/")";
    if (name != R"("secret")") text += R"(,"secret":"one")";
    const auto read = read_plan(text + "}");
    EXPECT_EQ(read ? "" : read.error().pointer, pointer) << text;
    if (!read) {
      EXPECT_FALSE(read.error().detail.empty());
      EXPECT_FALSE(read.error().detail.contains("MfKQ")) << "a secret by mistake";
    }
  }
  EXPECT_EQ(read_plan("[]").error().pointer, "");
}

/// A delivery ends before its reservation, and takes its time-out where there is room for it.
TEST(TargetPlan, TimeOutsEndWithinReservations) {
  target_plan plan;
  plan.time_out = 15s;
  EXPECT_EQ(plan.time_out_within(1h), 15s);
  EXPECT_EQ(plan.time_out_within(17s), 15s);
  EXPECT_EQ(plan.time_out_within(16s), 14s);
  EXPECT_EQ(plan.time_out_within(4s), 2s);
  EXPECT_EQ(plan.time_out_within(1s), 500ms);
  for (jobs::milliseconds ttr = 2ms; ttr < 30s; ttr += 7ms) {
    EXPECT_GE(plan.time_out_within(ttr), 1ms);
    EXPECT_LT(plan.time_out_within(ttr), ttr);
  }
}

TEST(RetryPlan, RepeatsItsLastDelayUntilTheLastTry) {
  const retry_plan plan{4, {1s, 5s}};
  EXPECT_EQ(plan.delay_after(1), 1s);
  EXPECT_EQ(plan.delay_after(2), 5s);
  EXPECT_EQ(plan.delay_after(3), 5s);
  EXPECT_EQ(plan.delay_after(4'000'000'000U), 5s);
  EXPECT_TRUE(plan.goes_on_after(3));
  EXPECT_FALSE(plan.goes_on_after(4));
  EXPECT_EQ((retry_plan{1, {}}.delay_after(1)), 0ms);
}

TEST(TargetRecord, IsReadAsItWasWritten) {
  target_state state;
  state.is_enabled = false;
  state.made = jobs::utc_time(1'700'000'000'123ms);
  state.since = jobs::utc_time(1'800'000'000'456ms);
  state.by = "receiver";
  state.why = "the answer 410, \"Gone\"";
  const jobs::put put = put_of_target("mail", some_plan(), state, 5);
  EXPECT_EQ(put.expected, 5U);
  jobs::job stored;
  stored.key = put.key;
  stored.body = put.body;
  const target_record read = target_record::in(stored, 6);
  EXPECT_EQ(read.tube, "mail");
  EXPECT_EQ(read.version, 6U);
  EXPECT_EQ(read.plan, some_plan());
  EXPECT_EQ(read.state, state);
  EXPECT_EQ(read.fault, "");
  EXPECT_FALSE(read.delivers());
}

/// Whatever is in the body, there is a sentence, or a plan.
TEST(TargetRecord, WhatCannotBeReadSaysSo) {
  jobs::job stored;
  stored.key = "mail";
  for (const std::string body : {"", "null", "[]", "{}", R"({"format":2})", R"({"format":1})",
                                 R"({"format":1,"target":{"url":"x"},"state":[]})", "\xff\xfe"}) {
    stored.body = body;
    const target_record read = target_record::in(stored, 1);
    EXPECT_FALSE(read.plan) << body;
    EXPECT_FALSE(read.fault.empty()) << body;
    EXPECT_FALSE(read.delivers());
  }
  const std::string whole = put_of_target("mail", some_plan(), {}, 0).body;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    stored.body = whole.substr(0, length);
    EXPECT_FALSE(target_record::in(stored, 1).plan) << length;
  }
}

}  // namespace
}  // namespace foliot::program
