#include "text/job_figures.hpp"

#include <chrono>

#include <foliot/jobs/limits.hpp>
#include <gtest/gtest.h>

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

job_figures figures_of_everything() {
  job_figures now;
  now.tubes = 2;
  now.counts = jobs::job_counts{.urgent = 0, .ready = 12, .reserved = 3, .delayed = 1000, .buried = 4};
  now.next_due = 3200ms;
  now.schedules = {7, 1};
  now.by_tube = {{"mail", {.urgent = 0, .ready = 12, .reserved = 3, .delayed = 999, .buried = 0}},
                 {"default", {.urgent = 0, .ready = 0, .reserved = 0, .delayed = 1, .buried = 4}}};
  return now;
}

TEST(JobFigures, AreLines) {
  EXPECT_EQ(job_figures_text(figures_of_everything()),
            "foliot-jobs 1\ntubes 2\njobs_ready 12\njobs_delayed 1000\njobs_reserved 3\njobs_buried 4\n"
            "next_due_seconds 3.200\nschedules 7 1\ntube mail 12 999 3 0\ntube default 0 1 0 4\nend\n");
  EXPECT_EQ(job_figures_text({}), "foliot-jobs 1\nend\n");
}

TEST(JobFigures, AreReadAsTheyAreWritten) {
  job_figures now = figures_of_everything();
  EXPECT_EQ(parse_job_figures(job_figures_text(now)), now);
  EXPECT_EQ(parse_job_figures(job_figures_text({})), job_figures{});
  for (const jobs::milliseconds far : {jobs::longest_time, jobs::milliseconds(9'223'372'036'854)}) {
    now.next_due = far;
    EXPECT_EQ(parse_job_figures(job_figures_text(now)), now) << "a job may be due in centuries";
  }
  now.next_due.reset();
  now.is_overdue = true;
  EXPECT_EQ(parse_job_figures(job_figures_text(now)), now) << "it is not known for how long";
  now.overdue = 61'001ms;
  EXPECT_EQ(parse_job_figures(job_figures_text(now)), now);
}

TEST(JobFigures, AreNotReadFromOtherLines) {
  const std::string text = job_figures_text(figures_of_everything());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(parse_job_figures(text.substr(0, size)), std::nullopt) << "cut short to " << size;
    std::string damaged = text;
    damaged[size] = '?';
    const auto read = parse_job_figures(damaged);
    EXPECT_TRUE(!read || read->by_tube != figures_of_everything().by_tube) << "damaged at " << size;
  }
  EXPECT_EQ(parse_job_figures(text + "\n"), std::nullopt);
  EXPECT_EQ(parse_job_figures("foliot-jobs 1\nnext_due_seconds 3.20\nend\n"), std::nullopt);
  EXPECT_EQ(parse_job_figures("foliot-jobs 1\nnext_due_seconds 9223372037.000\nend\n"), std::nullopt);
  EXPECT_EQ(parse_job_figures("foliot-jobs 1\nnext_due_seconds 99999999999.000\nend\n"), std::nullopt);
  EXPECT_EQ(parse_job_figures("foliot-jobs 1\nschedules 7\nend\n"), std::nullopt);
  EXPECT_EQ(parse_job_figures("foliot-jobs 1\ntubes 18446744073709551616\nend\n"), std::nullopt);
}

}  // namespace
}  // namespace foliot::program
