// tube_policy.hpp: what may be in a policy, and the delays before the next try.
#include <foliot/jobs/tube_policy.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <set>
#include <string>

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

std::string mistake(const std::function<void(tube_policy&)>& change, const std::string& tube = "mail") {
  tube_policy it;
  change(it);
  return mistake_in(tube, it).value_or("");
}

TEST(TubePolicy, TheDefaultAndTheBoundsAreRight) {
  EXPECT_EQ(mistake([](tube_policy&) {}), "");
  EXPECT_EQ(mistake([](tube_policy& it) {
              it = {.tries = greatest_policy_bound,
                    .delay = {.listed = std::vector<milliseconds>(most_listed_delays, longest_retry_delay),
                              .first = longest_retry_delay,
                              .factor = 100,
                              .most = longest_retry_delay,
                              .jitter = 1},
                    .dead_letters = std::string(200, 'd'),
                    .expires = 1ms,
                    .most_reserved = greatest_policy_bound,
                    .most_reserved_of_group = greatest_policy_bound,
                    .most_per_second = greatest_policy_bound,
                    .burst = greatest_policy_bound};
            }),
            "");
  EXPECT_EQ(mistake([](tube_policy& it) { it.burst = 0; }), "");  // there is no rate
}

TEST(TubePolicy, AMistakeNamesTheMemberItsValueAndTheRange) {
  EXPECT_EQ(mistake([](tube_policy& it) { it.tries = greatest_policy_bound + 1; }),
            "tries must be from 0 to 1000000, got 1000001");
  EXPECT_EQ(mistake([](tube_policy& it) { it.most_reserved = greatest_policy_bound + 1; }),
            "most_reserved must be from 0 to 1000000, got 1000001");
  EXPECT_EQ(mistake([](tube_policy& it) { it.most_reserved_of_group = greatest_policy_bound + 1; }),
            "most_reserved_of_group must be from 0 to 1000000, got 1000001");
  EXPECT_EQ(mistake([](tube_policy& it) { it.most_per_second = greatest_policy_bound + 1; }),
            "most_per_second must be from 0 to 1000000, got 1000001");
  EXPECT_EQ(mistake([](tube_policy& it) {
              it.most_per_second = 1;
              it.burst = 0;
            }),
            "burst must be from 1 to 1000000, got 0");
  EXPECT_EQ(mistake([](tube_policy& it) { it.delay.first = -1ms; }),
            "delay.first must be from 0 ms to 31536000000 ms, got -1 ms");
  EXPECT_EQ(mistake([](tube_policy& it) { it.delay.most = longest_retry_delay + 1ms; }),
            "delay.most must be from 0 ms to 31536000000 ms, got 31536000001 ms");
  EXPECT_EQ(mistake([](tube_policy& it) { it.delay.listed = {1s, -2ms}; }),
            "delay.listed[1] must be from 0 ms to 31536000000 ms, got -2 ms");
  EXPECT_EQ(mistake([](tube_policy& it) { it.delay.listed.resize(101); }),
            "delay.listed must have up to 100 delays, got 101");
  EXPECT_EQ(mistake([](tube_policy& it) { it.delay.factor = 0.5; }), "delay.factor must be from 1 to 100, got 0.5");
  EXPECT_EQ(mistake([](tube_policy& it) { it.delay.factor = std::numeric_limits<double>::quiet_NaN(); }),
            "delay.factor must be from 1 to 100, got nan");
  EXPECT_EQ(mistake([](tube_policy& it) { it.delay.jitter = 1.5; }), "delay.jitter must be from 0 to 1, got 1.5");
  EXPECT_EQ(mistake([](tube_policy& it) { it.expires = -1ms; }),
            "expires must be from 0 ms to 4294967295000 ms, got -1 ms");
}

TEST(TubePolicy, DeadLettersGoToAnotherTubeBehindALastTry) {
  const auto goes_to = [](const std::string& name) {
    return mistake([&name](tube_policy& it) {
      it.tries = 1;
      it.dead_letters = name;
    });
  };
  EXPECT_EQ(goes_to("dead"), "");
  EXPECT_EQ(goes_to("mail"), "dead_letters must be another tube than the policy's own, got mail");
  EXPECT_EQ(goes_to(std::string(201, 'd')), "dead_letters must have 1 to 200 bytes, none of them zero; got 201");
  EXPECT_EQ(goes_to(std::string("a\0b", 3)),
            "dead_letters must have 1 to 200 bytes, none of them zero; got 3 with a zero byte");
  EXPECT_EQ(mistake([](tube_policy& it) { it.dead_letters = "dead"; }),
            "dead_letters needs tries from 1 on, as no try is the last one with 0");
  EXPECT_EQ(mistake([](tube_policy&) {}, ""), "the tube's name must have 1 to 200 bytes, none of them zero; got 0");
}

TEST(TubePolicy, ADelayIsFixedOrGrowsOrIsListed) {
  EXPECT_EQ(delay_behind({}, 1, 1), 0ms);
  EXPECT_EQ(delay_behind({.first = 5s}, 1, 1), 5s);
  EXPECT_EQ(delay_behind({.first = 5s}, 1, 1000), 5s);
  const retry_delay grows{.first = 10s, .factor = 2, .most = 1min};
  EXPECT_EQ(delay_behind(grows, 1, 1), 10s);
  EXPECT_EQ(delay_behind(grows, 1, 2), 20s);
  EXPECT_EQ(delay_behind(grows, 1, 3), 40s);
  EXPECT_EQ(delay_behind(grows, 1, 4), 1min);
  EXPECT_EQ(delay_behind(grows, 1, 1'000'000'000), 1min);
  EXPECT_EQ(delay_behind({.first = 2min, .most = 1min}, 1, 1), 1min);
  EXPECT_EQ(delay_behind({.first = 1ms, .factor = 100, .most = longest_retry_delay}, 1, 4'000'000'000),
            longest_retry_delay);
  const retry_delay listed{.listed = {1s, 0s, 3s}, .first = 9s};
  EXPECT_EQ(delay_behind(listed, 1, 1), 1s);
  EXPECT_EQ(delay_behind(listed, 1, 2), 0s);
  EXPECT_EQ(delay_behind(listed, 1, 3), 3s);
  EXPECT_EQ(delay_behind(listed, 1, 4), 3s);
  EXPECT_EQ(delay_behind(listed, 1, 0), 1s);  // as the first
}

TEST(TubePolicy, JitterAddsAPartThatDependsOnTheJobAndTheTry) {
  const retry_delay by{.first = 1000s, .jitter = 0.5};
  std::set<milliseconds> seen;
  for (job_id id = 1; id <= 100; ++id) {
    const milliseconds delay = delay_behind(by, id, 1);
    EXPECT_GE(delay, 1000s);
    EXPECT_LE(delay, 1500s);
    EXPECT_EQ(delay, delay_behind(by, id, 1));
    seen.insert(delay);
  }
  EXPECT_GT(seen.size(), 90U);
  EXPECT_LT(*seen.begin(), 1050s);
  EXPECT_GT(*seen.rbegin(), 1450s);
  EXPECT_NE(delay_behind(by, 1, 1), delay_behind(by, 1, 2));
  EXPECT_LE(delay_behind({.first = longest_retry_delay, .most = longest_retry_delay, .jitter = 1}, 7, 1),
            longest_retry_delay * 2);
}

TEST(TubePolicy, ADelayOfAPolicyThatNobodyHasCheckedStaysWithinItsBounds) {
  EXPECT_EQ(delay_behind({.first = -1s}, 1, 1), 0ms);
  EXPECT_EQ(delay_behind({.listed = {-1s}}, 1, 1), 0ms);
  EXPECT_EQ(delay_behind({.first = 1s, .factor = std::numeric_limits<double>::quiet_NaN()}, 1, 1), 1s);
  EXPECT_EQ(delay_behind({.first = 1s, .most = milliseconds::max(), .jitter = 7}, 1, 1) / 2s, 0);
  EXPECT_EQ(delay_behind({.listed = {milliseconds::max()}}, 1, 1), longest_retry_delay);
}

}  // namespace
}  // namespace foliot::jobs
