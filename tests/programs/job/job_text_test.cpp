#include "job/job_text.hpp"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "job/problems.hpp"
#include "text/failure.hpp"

namespace foliot::program::terminal {
namespace {

using nlohmann::ordered_json;

const time_style at_six{
    jobs::utc_time(std::chrono::sys_days(std::chrono::year(2026) / 11 / 29) + std::chrono::hours(6))};

void expect_no_controls(const std::string& text) {
  for (const char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= ' ') << text;
  for (const char* const each : {"\x7f", "\xc2\x9b", "\xe2\x80\xae", "\xe2\x81\xa6", "\xd8\x9c"}) {
    EXPECT_EQ(text.find(each), std::string::npos) << text;
  }
}

/// In each place that a client or a server can fill.
constexpr const char* hostile =
    "a\x1b[2J\x1b]52;c;eA==\x07\r\n\xc2\x9b"
    "2J\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\x7f";

TEST(JobText, ShowsAJob) {
  const auto job = ordered_json::parse(
      R"({"id":"3","version":"7","tube":"orders","key":"17","state":"delayed","priority":0,"made":"2026-11-29T05:58:00.000Z",
          "due":"2026-11-29T07:00:00.000Z","ttr":"1m","reserves":1,"timeouts":2,"releases":3,"buries":4,"kicks":5,
          "content_type":"application/json","headers":{"trace":"a1"},"body":{"order":17}})");
  EXPECT_EQ(job_text(job, at_six),
            "job 3\n"
            "  tube            orders\n"
            "  key             17\n"
            "  state           delayed\n"
            "  due             2026-11-29T07:00:00.000Z (in 60 min)\n"
            "  priority        0\n"
            "  ttr             1m\n"
            "  made            2026-11-29T05:58:00.000Z (2 min ago)\n"
            "  times           reserved 1, timeouts 2, released 3, buried 4, kicked 5\n"
            "  version         7\n"
            "  content type    application/json\n"
            "  header          trace: a1\n"
            "body, 12 bytes:\n"
            "  {\"order\":17}\n");
}

TEST(JobText, NeutralisesEachPlace) {
  ordered_json job = ordered_json::object();
  for (const char* const each : {"id", "tube", "key", "state", "due", "made", "ttr", "reserved_until", "held_by",
                                 "node", "reservation", "version", "content_type", "text"}) {
    job[each] = hostile;
  }
  job["headers"] = {{hostile, hostile}};
  expect_no_controls(job_text(job, at_six));
  text_table table = jobs_table();
  add_job(table, job, at_six);
  expect_no_controls(table.text());
  text_table due = due_table();
  add_due(due, job, at_six);
  expect_no_controls(due.text());
  text_table tubes = tubes_table();
  job["paused_until"] = hostile;
  add_tube(tubes, job, at_six);
  expect_no_controls(tubes.text());
  for (const char* const waits :
       {"due_later", "reserved", "buried", "paused", "has_target", "nobody_watches", "next", "others_first", hostile}) {
    job["waits"] = waits;
    job["until"] = hostile;
    expect_no_controls(why_text(job, at_six));
  }
  const std::string line = json_line(job);
  expect_no_controls(line);
  EXPECT_EQ(ordered_json::parse(line), job) << "JSON has the same value";
}

TEST(JobText, ShowsTheBeginOfALongBodyLineByLine) {
  ordered_json job = {{"id", "1"}, {"text", "one\ntwo\n" + std::string(5000, 'x')}};
  const std::string text = job_text(job, at_six);
  EXPECT_NE(text.find("body, 5,008 bytes:\n  one\n  two\n  xxx"), std::string::npos) << text;
  EXPECT_NE(text.find("x\n  … and 912 more bytes: see --body\n"), std::string::npos) << text;
}

TEST(JobText, TakesAnyValue) {
  for (const char* const each :
       {"null", "[]", "1", "{}", R"({"id":7,"tube":null,"due":[],"headers":[1],"priority":-1})"}) {
    const auto value = ordered_json::parse(each);
    EXPECT_FALSE(job_text(value, at_six).empty());
    EXPECT_FALSE(why_text(value, at_six).empty());
    text_table table = jobs_table();
    add_job(table, value, at_six);
    text_table tubes = tubes_table();
    add_tube(tubes, value, at_six);
  }
}

TEST(JobText, ExactTimesAreNotWords) {
  const ordered_json job = {{"id", "1"}, {"due", "2026-11-29T07:00:00.000Z"}};
  text_table table = jobs_table();
  add_job(table, job, {at_six.now, true});
  EXPECT_NE(table.text().find("2026-11-29T07:00:00.000Z"), std::string::npos);
  text_table words = jobs_table();
  add_job(words, job, at_six);
  EXPECT_EQ(words.text().find("2026"), std::string::npos);
  EXPECT_NE(words.text().find("in 60 min"), std::string::npos);
}

TEST(Body, IsItsBytes) {
  EXPECT_EQ(body_of({{"text", "a\x1b"}}), "a\x1b");
  EXPECT_EQ(body_of({{"base64", "/wA="}}), std::string("\xff\0", 2));
  EXPECT_EQ(body_of({{"body", {{"a", 1}}}}), R"({"a":1})");
  EXPECT_THROW(static_cast<void>(body_of({{"id", "1"}})), failure);
  EXPECT_THROW(static_cast<void>(body_of({{"base64", "="}})), failure);
  EXPECT_THROW(static_cast<void>(body_of(nullptr)), failure);
}

TEST(Parsed, RefusesWhatWouldExhaustTheStack) {
  EXPECT_TRUE(parsed(R"({"a":"[[[[\"{{"})"));
  EXPECT_FALSE(parsed(std::string(100'000, '[') + std::string(100'000, ']')));
  EXPECT_FALSE(parsed("{"));
  EXPECT_FALSE(parsed(""));
}

}  // namespace
}  // namespace foliot::program::terminal
