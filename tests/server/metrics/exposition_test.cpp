// The text of a page of metrics.
#include "server/metrics/exposition.hpp"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include <foliot/jobs/time_histogram.hpp>

#include "server/metrics/tube_survey.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

TEST(Exposition, HasFamiliesAndSamples) {
  exposition page;
  page.single("connections", "gauge", "Open ones.", std::uint64_t{12});
  page.family("jobs_ready", "gauge", "Jobs.");
  page.sample({{"tube", "mail"}}, std::uint64_t{3});
  page.sample({{"tube", "a"}, {"state", "b"}}, std::uint64_t{0});
  page.single("process_cpu_seconds_total", "counter", "Of the processors.", duration(1500ms));
  EXPECT_EQ(page.take(),
            "# HELP foliot_connections Open ones.\n# TYPE foliot_connections gauge\nfoliot_connections 12\n"
            "# HELP foliot_jobs_ready Jobs.\n# TYPE foliot_jobs_ready gauge\nfoliot_jobs_ready{tube=\"mail\"} 3\n"
            "foliot_jobs_ready{tube=\"a\",state=\"b\"} 0\n"
            "# HELP process_cpu_seconds_total Of the processors.\n# TYPE process_cpu_seconds_total counter\n"
            "process_cpu_seconds_total 1.5\n");
}

TEST(Exposition, LengthsAreNotRounded) {
  const auto text_of = [](duration length) {
    exposition page;
    page.family("x", "gauge", "x");
    page.sample({}, length);
    const std::string text = page.take();
    return text.substr(text.rfind(' ') + 1);
  };
  EXPECT_EQ(text_of(0ns), "0\n");
  EXPECT_EQ(text_of(1ns), "0.000000001\n");
  EXPECT_EQ(text_of(2s), "2\n");
  EXPECT_EQ(text_of(10s + 20ms), "10.02\n");
}

TEST(Exposition, AHistogramIsCumulative) {
  jobs::time_histogram some;
  some.record(100us);
  some.record(3ms);
  some.record(24h + 1ns);
  exposition page;
  page.distribution("late_seconds", "Late.", some.seen());
  const std::string text = page.take();
  for (const char* const line :
       {"# TYPE foliot_late_seconds histogram\n", "foliot_late_seconds_bucket{le=\"0.0001\"} 1\n",
        "foliot_late_seconds_bucket{le=\"0.0025\"} 1\n", "foliot_late_seconds_bucket{le=\"0.005\"} 2\n",
        "foliot_late_seconds_bucket{le=\"86400\"} 2\n", "foliot_late_seconds_bucket{le=\"+Inf\"} 3\n",
        "foliot_late_seconds_sum 86400.003101\n", "foliot_late_seconds_count 3\n"}) {
    EXPECT_TRUE(text.contains(line)) << line << text;
  }
}

TEST(Exposition, SumsBeyondTheRangeOfADurationArePrinted) {
  jobs::time_histogram::counts values;
  values.sum_us = 18'446'744'073'709'551'615U;
  exposition page;
  page.distribution("late_seconds", "Late.", values);
  EXPECT_TRUE(page.take().contains("foliot_late_seconds_sum 18446744073709.551615\n"));
}

TEST(Exposition, LabelsAreEscaped) {
  EXPECT_EQ(escaped_label("mail/in;$1"), "mail/in;$1");
  EXPECT_EQ(escaped_label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
  EXPECT_EQ(escaped_label("\x1b[2J\t"), "\\\\x1B[2J\\\\x09");
  EXPECT_EQ(escaped_label("sch\xC3\xB6n \xE2\x82\xAC \xF0\x9F\x98\x80"), "sch\xC3\xB6n \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(escaped_label("\xFF\xC3"), "\\\\xFF\\\\xC3");
  EXPECT_EQ(escaped_label("\xC0\xAF"), "\\\\xC0\\\\xAF") << "longer than need be";
  EXPECT_EQ(escaped_label("\xED\xA0\x80"), "\\\\xED\\\\xA0\\\\x80") << "half of a pair";
  EXPECT_EQ(escaped_label("\xF4\x90\x80\x80"), "\\\\xF4\\\\x90\\\\x80\\\\x80") << "beyond the last one";
}

TEST(TubePattern, AStarStandsForAnything) {
  EXPECT_TRUE(matches_pattern("mail", "mail"));
  EXPECT_FALSE(matches_pattern("mail", "mai"));
  EXPECT_FALSE(matches_pattern("mai", "mail"));
  EXPECT_TRUE(matches_pattern("mail", "*"));
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_TRUE(matches_pattern("mail.in", "mail*"));
  EXPECT_TRUE(matches_pattern("mail.in", "*in"));
  EXPECT_TRUE(matches_pattern("mail.in.in", "m*.in"));
  EXPECT_FALSE(matches_pattern("mail.in.out", "m*.in"));
  EXPECT_TRUE(matches_pattern("abcabd", "*ab*d"));
  EXPECT_FALSE(matches_pattern("abc", "a*d*"));
}

}  // namespace
}  // namespace foliot::program
