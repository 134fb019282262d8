#include "copy/job_record.hpp"

#include <string>

#include <gtest/gtest.h>

namespace foliot::program::copying {
namespace {

using client::parse_job;

const std::string of_beanstalkd =
    "---\nid: 3\ntube: t\nstate: delayed\npri: 4294967295\nage: 1\ndelay: 100\nttr: 10\ntime-left: 99\nfile: 0\n"
    "reserves: 1\ntimeouts: 2\nreleases: 3\nburies: 4\nkicks: 5\n";

std::string with(const std::string& line, const std::string& other) {
  std::string text = of_beanstalkd;
  return text.replace(text.find(line), line.size(), other);
}

TEST(CopiedJob, WhatAClientHasChanged) {
  const job_record job = parse_job(of_beanstalkd).value();
  const auto changed = [&](const std::string& line, const std::string& other) {
    return is_changed(job, parse_job(with(line, other)).value());
  };
  EXPECT_FALSE(changed("time-left: 99", "time-left: 98"));
  EXPECT_FALSE(changed("state: delayed", "state: ready"));
  EXPECT_FALSE(changed("reserves: 1", "reserves: 2"));
  EXPECT_FALSE(changed("timeouts: 2", "timeouts: 3"));
  EXPECT_TRUE(changed("pri: 4294967295", "pri: 0"));
  EXPECT_TRUE(changed("releases: 3", "releases: 4"));
  EXPECT_TRUE(changed("buries: 4", "buries: 5"));
  EXPECT_TRUE(changed("kicks: 5", "kicks: 6"));
  EXPECT_TRUE(changed("kicks: 5", "kicks: 5\nhistory: 00010000"));
  const std::string key = "key: \"\"\nttr-ms: 10000\n";
  EXPECT_TRUE(is_changed(parse_job(of_beanstalkd + key + "due-ms: 1\n").value(),
                         parse_job(of_beanstalkd + key + "due-ms: 2\n").value()));
}

}  // namespace
}  // namespace foliot::program::copying
