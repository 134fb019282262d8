#include "bench/serve/serve_results.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foliot::program::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

serve_record rate(std::string contestant, std::uint64_t connections, double median) {
  return {.family = "puts",
          .parameters = {{"connections", connections}},
          .contestant = std::move(contestant),
          .figure = "rate",
          .unit = "operations/s",
          .head = std::to_string(connections),
          .amount = {.median = median, .min = median * 0.9, .max = median * 1.1}};
}

serve_target target(std::uint64_t connections, std::string against, double bound, bool at_least = true) {
  return {.what = std::to_string(connections) + " connections",
          .family = "puts",
          .parameters = {{"connections", connections}},
          .figure = "rate",
          .contestant = "foliot",
          .against = std::move(against),
          .bound = bound,
          .at_least = at_least};
}

serve_results measured() {
  serve_results all;
  all.contestants = {{.name = "foliot"}, {.name = "beanstalkd"}};
  all.families = {{"puts", "puts a second"}};
  all.repetitions = 3;
  all.records = {rate("foliot", 1, 300), rate("beanstalkd", 1, 200), rate("foliot", 64, 5000)};
  all.records.push_back({.family = "puts", .contestant = "foliot", .figure = "server-cpu", .amount = {.median = 777}});
  return all;
}

TEST(ServeResults, ATargetIsARatioOrAnAmountAndHasABoundOnOneSide) {
  serve_results all = measured();
  all.targets = {
      target(1, "beanstalkd", 1.5),         target(1, "beanstalkd", 1.51), target(1, "beanstalkd", 1.5, false),
      target(1, "beanstalkd", 1.49, false), target(64, "", 5000),          target(64, "", 5001)};
  const std::vector<target_outcome> found = outcomes_of(all);
  ASSERT_EQ(found.size(), all.targets.size());
  const std::vector<bool> reached{true, false, true, false, true, false};
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].reached, reached[i]) << i;
    EXPECT_DOUBLE_EQ(found[i].measured, i < 4 ? 1.5 : 5000.0) << i;
  }
}

TEST(ServeResults, ATargetMayCompareWithAnotherWorkload) {
  serve_results all = measured();
  serve_record batches = rate("foliot", 64, 400);
  batches.family = "batches";
  all.records.push_back(batches);
  serve_target to_puts = target(64, "beanstalkd", 2);
  to_puts.family = "batches";
  to_puts.against_family = "puts";
  to_puts.against_parameters = {{"connections", 1}};
  all.targets = {to_puts};
  const std::vector<target_outcome> found = outcomes_of(all);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].measured, 2);
  EXPECT_TRUE(found[0].reached);
}

TEST(ServeResults, ATargetWithoutBothFiguresIsLeftOut) {
  serve_results all = measured();
  all.targets = {target(64, "beanstalkd", 1), target(4, "", 1), target(1, "nobody", 1)};
  EXPECT_TRUE(outcomes_of(all).empty());
  EXPECT_THAT(serve_text(all), Not(HasSubstr("targets")));
}

TEST(ServeResults, TheTextHasAColumnForEachHeadAndTheTargets) {
  serve_results all = measured();
  all.targets = {target(1, "beanstalkd", 2)};
  serve_record other = rate("foliot", 1, 8);
  other.figure = "server-cpu";
  other.unit = "us";
  all.records.push_back(other);
  const std::string text = serve_text(all);
  EXPECT_THAT(text, HasSubstr("puts: puts a second\n"
                              "                         1              64\n"
                              "foliot                 300  ±10%     5,000  ±10%\n"
                              "beanstalkd             200  ±10%\n"
                              "\n"
                              "puts: server-cpu, us\n"
                              "                         1\n"
                              "foliot                8.00  ±10%\n"));
  EXPECT_THAT(text, Not(HasSubstr("777")));
  EXPECT_THAT(text, HasSubstr("1.50x        no\n"));
}

}  // namespace
}  // namespace foliot::program::bench
