#include <foliot/client/job_record.hpp>

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace foliot::client {
namespace {

using namespace std::chrono_literals;

const std::string of_beanstalkd =
    "---\nid: 3\ntube: t\nstate: delayed\npri: 4294967295\nage: 1\ndelay: 100\nttr: 10\ntime-left: 99\nfile: 0\n"
    "reserves: 1\ntimeouts: 2\nreleases: 3\nburies: 4\nkicks: 5\n";

std::string with(const std::string& line, const std::string& other) {
  std::string text = of_beanstalkd;
  return text.replace(text.find(line), line.size(), other);
}

TEST(JobRecord, FromEitherServer) {
  const auto job = parse_job(of_beanstalkd);
  ASSERT_TRUE(job);
  EXPECT_EQ(job->id, 3u);
  EXPECT_EQ(job->tube, "t");
  EXPECT_EQ(job->state, jobs::job_state::delayed);
  EXPECT_EQ(job->priority, 4'294'967'295u);
  EXPECT_EQ(job->ttr, 10s);
  EXPECT_EQ(job->seconds_left, 99u);
  EXPECT_FALSE(job->due);
  EXPECT_EQ(job->key, "");
  const auto exact = parse_job(of_beanstalkd + "key: \"k\"\ndue-ms: 1893456000123\nttr-ms: 10500\n");
  ASSERT_TRUE(exact);
  EXPECT_EQ(exact->key, "k");
  EXPECT_EQ(exact->due, 1'893'456'000'123u);
  EXPECT_EQ(exact->ttr, 10'500ms);
}

TEST(JobRecord, FieldsAreInHexadecimal) {
  EXPECT_TRUE(parse_job(of_beanstalkd)->fields.empty());
  jobs::job_fields fields;
  jobs::job_fields history;
  ASSERT_TRUE(fields.set(0x1fe, "\n\xff"));
  ASSERT_TRUE(history.set(1, ""));
  const auto job = parse_job(of_beanstalkd + "fields: 01fe00020aff\nhistory: 00010000\n");
  ASSERT_TRUE(job);
  EXPECT_EQ(job->fields, fields);
  EXPECT_EQ(job->history, history);
  for (const std::string wrong :
       {"0", "00010", "0001000", "0001000x", "000100 0", "00000000", "000100000001", "0X010000"}) {
    EXPECT_FALSE(parse_job(of_beanstalkd + "fields: " + wrong + "\n")) << wrong;
    EXPECT_FALSE(parse_job(of_beanstalkd + "history: " + wrong + "\n")) << wrong;
  }
}

TEST(JobRecord, WhatWouldBreakACommandIsRefused) {
  EXPECT_FALSE(parse_job(""));
  EXPECT_FALSE(parse_job(with("tube: t\n", "")));
  EXPECT_FALSE(parse_job(with("tube: t", "tube: t 0 0\r")));
  EXPECT_FALSE(parse_job(with("state: delayed", "state: new")));
  EXPECT_FALSE(parse_job(with("pri: 4294967295", "pri: 4294967296")));
  EXPECT_FALSE(parse_job(with("ttr: 10", "ttr: 4294967296")));
  EXPECT_FALSE(parse_job(with("id: 3\n", "id: 18446744073709551615\n")));
  EXPECT_FALSE(parse_job(of_beanstalkd + "ttr-ms: 4294967295001\n"));
  EXPECT_FALSE(parse_job(of_beanstalkd + "ttr-ms: 18446744073709551615\n"));
  EXPECT_FALSE(parse_job(of_beanstalkd + "due-ms: 9223372036855\n"));
  EXPECT_TRUE(parse_job(of_beanstalkd + "ttr-ms: 4294967295000\ndue-ms: 9223372036854\n"));
  EXPECT_EQ(parse_job(of_beanstalkd + "key: \"a b\"\n")->key, "a b") << "as SQL may put it";
}

}  // namespace
}  // namespace foliot::client
