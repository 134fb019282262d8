// Which failures get an answer.
#include "server/access/failed_attempts.hpp"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>

namespace foliot::program {
namespace {

using namespace std::chrono_literals;
using verdict = failed_attempts::verdict;

runtime::address at(const std::string& text) { return runtime::address::parse(text).value(); }

/// Fails until there is no answer. Returns how many answers there were.
std::size_t answers_to(failed_attempts& attempts, const std::string& from) {
  std::size_t answers = 0;
  verdict last = verdict::told;
  while (last != verdict::ignored && answers <= failed_attempts::most_failures) {
    last = attempts.note_failure(at(from)).deserves;
    if (last != verdict::ignored) ++answers;
    EXPECT_EQ(last == verdict::last, answers == failed_attempts::most_failures && last != verdict::ignored);
  }
  return answers;
}

TEST(FailedAttempts, GetSoManyAnswersInAMinute) {
  virtual_clock time;
  failed_attempts attempts(time);
  EXPECT_EQ(answers_to(attempts, "192.0.2.1:1000"), failed_attempts::most_failures);
  EXPECT_EQ(answers_to(attempts, "192.0.2.1:2000"), 0U) << "another port is the same address";
  EXPECT_EQ(answers_to(attempts, "192.0.2.2:1000"), failed_attempts::most_failures) << "another address is not";
  time.advance(failed_attempts::window - 1ns);
  EXPECT_EQ(answers_to(attempts, "192.0.2.1:1000"), 0U);
  time.advance(1ns);
  EXPECT_EQ(answers_to(attempts, "192.0.2.1:1000"), failed_attempts::most_failures);
}

TEST(FailedAttempts, TellTheRestOfTheMinute) {
  virtual_clock time;
  failed_attempts attempts(time);
  EXPECT_EQ(attempts.note_failure(at("192.0.2.1:1")).left, failed_attempts::window);
  time.advance(20s);
  for (std::size_t i = 1; i < failed_attempts::most_failures; ++i) {
    EXPECT_NE(attempts.note_failure(at("192.0.2.1:1")).deserves, verdict::ignored);
  }
  EXPECT_EQ(attempts.note_failure(at("192.0.2.1:1")).left, failed_attempts::window - 20s) << "of the first failure";
  time.advance(40s - 1ns);
  const failed_attempts::noted last = attempts.note_failure(at("192.0.2.1:1"));
  EXPECT_EQ(last.deserves, verdict::ignored);
  EXPECT_EQ(last.left, 1ns);
  time.advance(last.left);
  EXPECT_EQ(attempts.note_failure(at("192.0.2.1:1")).deserves, verdict::told);
}

TEST(FailedAttempts, OfANetworkCountTogether) {
  virtual_clock time;
  failed_attempts attempts(time);
  EXPECT_EQ(answers_to(attempts, "[2001:db8:1:2::1]:1"), failed_attempts::most_failures);
  EXPECT_EQ(answers_to(attempts, "[2001:db8:1:2:ffff::9]:1"), 0U);
  EXPECT_EQ(answers_to(attempts, "[2001:db8:1:3::1]:1"), failed_attempts::most_failures);
  EXPECT_EQ(answers_to(attempts, "[::ffff:192.0.2.1]:1"), failed_attempts::most_failures);
  EXPECT_EQ(answers_to(attempts, "[::ffff:192.0.2.2]:1"), failed_attempts::most_failures) << "these are IPv4";
  EXPECT_EQ(answers_to(attempts, "192.0.2.2:1"), 0U);
  EXPECT_EQ(answers_to(attempts, "unix:/run/one"), failed_attempts::most_failures);
  EXPECT_EQ(answers_to(attempts, "unix:/run/other"), 0U);
}

TEST(FailedAttempts, ManyAddressesForgetTheFirst) {
  virtual_clock time;
  failed_attempts attempts(time);
  const auto address = [](std::size_t i) {
    return "10." + std::to_string(i / 65'536) + "." + std::to_string(i / 256 % 256) + "." + std::to_string(i % 256) +
           ":1";
  };
  EXPECT_EQ(answers_to(attempts, address(0)), failed_attempts::most_failures);
  EXPECT_EQ(answers_to(attempts, address(1)), failed_attempts::most_failures);
  for (std::size_t i = 2; i <= failed_attempts::most_addresses; ++i) {
    EXPECT_EQ(attempts.note_failure(at(address(i))).deserves, verdict::told);
  }
  EXPECT_EQ(answers_to(attempts, address(1)), 0U);
  EXPECT_EQ(answers_to(attempts, address(0)), failed_attempts::most_failures) << "it was forgotten";
}

}  // namespace
}  // namespace foliot::program
