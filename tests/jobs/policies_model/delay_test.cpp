// delay_behind() against an independent calculation, in exact arithmetic, and mistake_in() at each bound.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include <foliot/jobs/tube_policy.hpp>

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;

/// A natural number of any size: its digits to the base 2^32, the lowest first.
class natural {
 public:
  explicit natural(std::uint64_t value) { *this *= value; }

  natural& operator*=(std::uint64_t by) {
    std::vector<std::uint32_t> made(digits_.size() + 3);
    for (std::size_t i = 0; i < digits_.size(); ++i) {
      add(made, i, std::uint64_t{digits_[i]} * (by & 0xffff'ffffU));
      add(made, i + 1, std::uint64_t{digits_[i]} * (by >> 32U));
    }
    while (made.size() > 1 && made.back() == 0) made.pop_back();
    digits_ = std::move(made);
    return *this;
  }
  /// This / 2^bits, rounded down; the greatest number if it is more than 63 bits long.
  [[nodiscard]] std::uint64_t shifted(std::size_t bits) const {
    std::uint64_t made = 0;
    for (std::size_t i = digits_.size() * 32; i-- > bits;) {
      if (made >> 62U != 0) return std::numeric_limits<std::uint64_t>::max();
      made = made << 1U | bit(i);
    }
    return made;
  }
  /// Whether the last so many bits are all zero.
  [[nodiscard]] bool ends_in_zeros(std::size_t bits) const {
    for (std::size_t i = 0; i < std::min(bits, digits_.size() * 32); ++i) {
      if (bit(i) != 0) return false;
    }
    return true;
  }

 private:
  static void add(std::vector<std::uint32_t>& to, std::size_t at, std::uint64_t value) {
    for (; value != 0; ++at) {
      value += to.at(at);
      to.at(at) = static_cast<std::uint32_t>(value);
      value >>= 32U;
    }
  }
  [[nodiscard]] std::uint64_t bit(std::size_t i) const { return digits_[i / 32] >> (i % 32) & 1U; }

  std::vector<std::uint32_t> digits_ = {1};
};

/// A delay that is exact, or lies in the millisecond behind this one.
struct exact_delay {
  milliseconds down{};
  bool is_whole = true;
};

/// Without jitter: first * factor ^ (failed - 1), at most `most`. A double from 1 on is a natural number over 2^52.
exact_delay exact(const retry_delay& by, std::uint32_t failed) {
  if (!by.listed.empty()) return {by.listed[std::min<std::size_t>(failed, by.listed.size()) - 1]};
  natural grown(static_cast<std::uint64_t>(by.first.count()));
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(by.factor, 52));
  for (std::uint32_t i = 1; i < failed; ++i) grown *= mantissa;
  const std::size_t bits = std::size_t{52} * (failed - 1);
  const std::uint64_t down = grown.shifted(bits);
  if (down >= static_cast<std::uint64_t>(by.most.count())) return {by.most};
  return {milliseconds(static_cast<std::int64_t>(down)), grown.ends_in_zeros(bits)};
}

/// Exact where that is a whole number of milliseconds; else within the two beside it.
void expect_delay(const retry_delay& by, std::uint32_t failed) {
  const exact_delay right = exact(by, failed);
  const milliseconds got = delay_behind(by, 7, failed);
  const std::string what = "first " + std::to_string(by.first.count()) + ", factor " + std::to_string(by.factor) +
                           ", most " + std::to_string(by.most.count()) + ", failed " + std::to_string(failed);
  if (right.is_whole) {
    EXPECT_EQ(got, right.down) << what;
  } else {
    EXPECT_GE(got, right.down) << what;
    EXPECT_LE(got, right.down + 1ms) << what;
  }
}

TEST(RetryDelay, IsNoneByDefault) {
  for (const std::uint32_t failed : {1U, 2U, 1000U, std::numeric_limits<std::uint32_t>::max()}) {
    EXPECT_EQ(delay_behind({}, 1, failed), 0ms);
  }
}

TEST(RetryDelay, FollowsTheListAndStaysAtItsEnd) {
  const retry_delay by{.listed = {5ms, 0ms, longest_retry_delay, 7ms}, .first = 1s, .factor = 3, .most = 1ms};
  EXPECT_EQ(delay_behind(by, 1, 1), 5ms);
  EXPECT_EQ(delay_behind(by, 1, 2), 0ms);
  EXPECT_EQ(delay_behind(by, 1, 3), longest_retry_delay);
  EXPECT_EQ(delay_behind(by, 1, 4), 7ms);
  EXPECT_EQ(delay_behind(by, 1, 5), 7ms);
  EXPECT_EQ(delay_behind(by, 1, std::numeric_limits<std::uint32_t>::max()), 7ms);
}

TEST(RetryDelay, GrowsExactly) {
  for (const double factor : {1.0, 1.5, 2.0, 3.0, 10.0, 99.0, 100.0, std::nextafter(1.0, 2.0), 1.1, 1.25, 99.9}) {
    for (const milliseconds first : std::initializer_list<milliseconds>{0ms, 1ms, 2ms, 999ms, 1s, 1024s}) {
      for (const milliseconds most : {0ms, 1ms, 1000ms, 86'400'000ms, longest_retry_delay}) {
        for (std::uint32_t failed = 1; failed <= 40; ++failed) {
          expect_delay({.first = first, .factor = factor, .most = most}, failed);
        }
      }
    }
  }
}

TEST(RetryDelay, StopsAtItsMostHoweverLargeThePowerIs) {
  constexpr std::uint32_t last = std::numeric_limits<std::uint32_t>::max();
  for (const std::uint32_t failed : {150U, 155U, 200U, 1025U, 1'000'000U, last - 1, last}) {
    for (const double factor : {2.0, 100.0}) {
      EXPECT_EQ(delay_behind({.first = 1ms, .factor = factor, .most = longest_retry_delay}, 1, failed),
                longest_retry_delay);
      EXPECT_EQ(delay_behind({.first = 0ms, .factor = factor, .most = longest_retry_delay}, 1, failed), 0ms);
      EXPECT_EQ(delay_behind({.first = longest_retry_delay, .factor = factor, .most = 0ms}, 1, failed), 0ms);
    }
    EXPECT_EQ(delay_behind({.first = 3s, .factor = 1, .most = 1h}, 1, failed), 3s);
  }
}

TEST(RetryDelay, BoundsItsFirstOne) {
  EXPECT_EQ(delay_behind({.first = 10s, .factor = 1, .most = 9s}, 1, 1), 9s);
  EXPECT_EQ(delay_behind({.first = 10s, .factor = 1, .most = 10s}, 1, 1), 10s);
  EXPECT_EQ(delay_behind({.first = longest_retry_delay, .factor = 100, .most = longest_retry_delay}, 1, 2),
            longest_retry_delay);
}

TEST(RetryDelay, AgreesWithTheExactOneAtRandom) {
  EXPECT_TRUE(rc::check("agrees", [] {
    retry_delay by;
    by.first = milliseconds(*rc::gen::inRange<std::int64_t>(0, 5'000'000));
    by.factor = 1 + static_cast<double>(*rc::gen::inRange<std::uint64_t>(0, std::uint64_t{99} << 40U)) * 0x1p-40;
    by.most = milliseconds(*rc::gen::inRange<std::int64_t>(0, longest_retry_delay.count() + 1));
    expect_delay(by, *rc::gen::inRange(1U, 60U));
    RC_ASSERT(!::testing::Test::HasFailure());
  }));
}

TEST(RetryDelay, IsLongerByAPartOfItself) {
  const std::vector<retry_delay> all{
      {.first = 1000s, .factor = 1},
      {.first = longest_retry_delay, .factor = 100, .most = longest_retry_delay},
      {.listed = {10s, longest_retry_delay, 3ms}},
  };
  for (retry_delay by : all) {
    for (const std::uint32_t failed : {1U, 2U, 3U, std::numeric_limits<std::uint32_t>::max()}) {
      by.jitter = 0;
      const milliseconds base = delay_behind(by, 1, failed);
      for (const double jitter : {0.1, 0.5, 1.0}) {
        by.jitter = jitter;
        const auto most = static_cast<double>(base.count()) * jitter;
        milliseconds shortest = longest_retry_delay * 2;
        milliseconds longest{};
        for (job_id id = 1; id <= 2000; ++id) {
          const milliseconds got = delay_behind(by, id, failed);
          ASSERT_EQ(got, delay_behind(by, id, failed)) << "it is the same at each node";
          shortest = std::min(shortest, got);
          longest = std::max(longest, got);
        }
        EXPECT_GE(shortest, base);
        EXPECT_LE(static_cast<double>((longest - base).count()), most);
        EXPECT_LE(longest, longest_retry_delay * 2);
        // Some of 2000 jobs are within the first twentieth, and some within the last.
        EXPECT_LE(static_cast<double>((shortest - base).count()), most * 0.05) << base.count();
        EXPECT_GE(static_cast<double>((longest - base).count()), most * 0.95 - 1) << base.count();
      }
    }
  }
}

TEST(RetryDelay, IsAnotherOneForEachTryOfAJob) {
  const retry_delay by{.first = 1000s, .factor = 1, .jitter = 1};
  std::vector<milliseconds> all;
  for (std::uint32_t failed = 1; failed <= 100; ++failed) all.push_back(delay_behind(by, 42, failed));
  std::ranges::sort(all);
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

TEST(RetryDelay, IsNeitherNegativeNorTooLongForAnyId) {
  EXPECT_TRUE(rc::check("is within its bounds", [] {
    retry_delay by;
    by.first = milliseconds(*rc::gen::inRange<std::int64_t>(0, longest_retry_delay.count() + 1));
    by.factor = static_cast<double>(*rc::gen::inRange(1, 101));
    by.most = milliseconds(*rc::gen::inRange<std::int64_t>(0, longest_retry_delay.count() + 1));
    by.jitter = static_cast<double>(*rc::gen::inRange(0, 101)) / 100;
    const milliseconds got = delay_behind(by, *rc::gen::arbitrary<job_id>(), *rc::gen::arbitrary<std::uint32_t>());
    RC_ASSERT(got >= 0ms);
    RC_ASSERT(got <= by.most * 2);
  }));
}

/// Whether a policy of the tube `mail` is refused, by a sentence that names `member`.
bool is_refused(const tube_policy& it, const std::string& member) {
  const std::optional<std::string> wrong = mistake_in("mail", it);
  if (wrong) {
    EXPECT_NE(wrong->find(member), std::string::npos) << *wrong;
  }
  return wrong.has_value();
}

TEST(TubePolicy, IsRightAtItsBoundsAndWrongBeyondThem) {
  const auto refuses = [](const std::string& member, auto set) {
    tube_policy it;
    set(it);
    return is_refused(it, member);
  };
  constexpr std::uint32_t most = greatest_policy_bound;
  EXPECT_FALSE(refuses("", [](tube_policy&) {}));
  EXPECT_FALSE(refuses("tries", [](tube_policy& it) { it.tries = most; }));
  EXPECT_TRUE(refuses("tries", [](tube_policy& it) { it.tries = most + 1; }));
  EXPECT_FALSE(refuses("most_reserved", [](tube_policy& it) { it.most_reserved = most; }));
  EXPECT_TRUE(refuses("most_reserved", [](tube_policy& it) { it.most_reserved = most + 1; }));
  EXPECT_FALSE(refuses("most_reserved_of_group", [](tube_policy& it) { it.most_reserved_of_group = most; }));
  EXPECT_TRUE(refuses("most_reserved_of_group", [](tube_policy& it) { it.most_reserved_of_group = most + 1; }));
  EXPECT_FALSE(refuses("most_per_second", [](tube_policy& it) { it.most_per_second = most; }));
  EXPECT_TRUE(refuses("most_per_second", [](tube_policy& it) { it.most_per_second = most + 1; }));
  for (const std::uint32_t burst : {0U, 1U, most, most + 1}) {
    const auto with = [burst](std::uint32_t rate) {
      return [burst, rate](tube_policy& it) {
        it.most_per_second = rate;
        it.burst = burst;
      };
    };
    EXPECT_EQ(refuses("burst", with(1)), burst == 0 || burst > most) << burst;
  }
  EXPECT_TRUE(refuses("expires", [](tube_policy& it) { it.expires = -1ms; }));
  EXPECT_FALSE(refuses("expires", [](tube_policy& it) { it.expires = 1ms; }));
  EXPECT_TRUE(refuses("expires", [](tube_policy& it) { it.expires = milliseconds::max(); }));
}

TEST(TubePolicy, HasDelaysWithinTheirBounds) {
  const auto refuses = [](const std::string& member, const retry_delay& delay) {
    return is_refused({.delay = delay}, member);
  };
  const milliseconds longest = longest_retry_delay;
  EXPECT_FALSE(refuses("first", {.first = longest, .factor = 100, .most = longest, .jitter = 1}));
  EXPECT_TRUE(refuses("first", {.first = longest + 1ms}));
  EXPECT_TRUE(refuses("first", {.first = -1ms}));
  EXPECT_TRUE(refuses("most", {.most = longest + 1ms}));
  EXPECT_TRUE(refuses("most", {.most = -1ms}));
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double wrong : {nan, infinity, -infinity, 0.0, std::nextafter(1.0, 0.0), std::nextafter(100.0, 101.0)}) {
    EXPECT_TRUE(refuses("factor", {.factor = wrong})) << wrong;
  }
  for (const double wrong : {nan, infinity, -0.001, std::nextafter(1.0, 2.0)}) {
    EXPECT_TRUE(refuses("jitter", {.jitter = wrong})) << wrong;
  }
  EXPECT_FALSE(refuses("listed", {.listed = std::vector<milliseconds>(most_listed_delays, longest)}));
  EXPECT_TRUE(refuses("listed", {.listed = std::vector<milliseconds>(most_listed_delays + 1)}));
  EXPECT_TRUE(refuses("listed", {.listed = {0ms, longest + 1ms}}));
  EXPECT_TRUE(refuses("listed", {.listed = {0ms, -1ms}}));
}

TEST(TubePolicy, SendsDeadLettersToAnotherTube) {
  const auto refuses = [](const std::string& to) {
    return is_refused({.tries = 1, .dead_letters = to}, "dead_letters");
  };
  EXPECT_FALSE(refuses(""));
  EXPECT_FALSE(refuses("mail2"));
  EXPECT_FALSE(refuses(std::string(200, 'x')));
  EXPECT_TRUE(refuses("mail"));
  EXPECT_TRUE(refuses(std::string(201, 'x')));
  EXPECT_TRUE(refuses(std::string("a\0b", 3)));
}

}  // namespace
}  // namespace foliot::jobs
