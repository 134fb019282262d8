#include "replay/session_tracker.hpp"

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t second = 1'000'000'000;

instant at_second(std::int64_t since_epoch) { return instant::from_nanoseconds(since_epoch * second); }

/// A tracker with an idle time of ten seconds, and what it said, in seconds: "client start-last/n@end".
class SessionTracker : public testing::Test {
 protected:
  std::vector<std::string> taken() { return std::exchange(ended, {}); }

  std::vector<std::string> ended;
  session_tracker tracker{
      "global-heap", 10s, [this](ended_session&& session) {
        const auto in_seconds = [](instant time) { return std::to_string(time.nanoseconds() / second); };
        ended.push_back(session.client + " " + in_seconds(session.start) + "-" + in_seconds(session.last_request) +
                        "/" + std::to_string(session.requests) + "@" + in_seconds(session.expired));
      }};
};

using sessions = std::vector<std::string>;

TEST_F(SessionTracker, ASessionLastsWhileRequestsCome) {
  tracker.request("a", at_second(100));
  tracker.request("a", at_second(109));
  tracker.request("a", at_second(118));
  EXPECT_EQ(taken(), sessions{});
  tracker.finish();
  EXPECT_EQ(taken(), sessions{"a 100-118/3@128"});
  EXPECT_EQ(tracker.sessions(), 1U);
  EXPECT_EQ(tracker.clients().count(), 1U);
}

TEST_F(SessionTracker, WhatIsDueExactlyNowEndsBeforeTheRequest) {
  tracker.request("a", at_second(100));
  tracker.request("a", at_second(110));
  EXPECT_EQ(taken(), sessions{"a 100-100/1@110"});
  tracker.finish();
  EXPECT_EQ(taken(), sessions{"a 110-110/1@120"});
  EXPECT_EQ(tracker.sessions(), 2U);
  EXPECT_EQ(tracker.clients().count(), 1U);
}

TEST_F(SessionTracker, OneNanosecondEarlierItGoesOn) {
  tracker.request("a", at_second(100));
  tracker.request("a", instant::from_nanoseconds(110 * second - 1));
  EXPECT_EQ(taken(), sessions{});
}

TEST_F(SessionTracker, EndsAtItsDeadlineWhateverTheClockJumps) {
  tracker.request("a", at_second(100));
  tracker.request("b", at_second(105));
  tracker.request("c", at_second(1'000'000));
  EXPECT_EQ(taken(), (sessions{"a 100-100/1@110", "b 105-105/1@115"}));
}

TEST_F(SessionTracker, ALineFromThePastCountsAsNow) {
  tracker.request("a", at_second(100));
  tracker.request("b", at_second(95));
  tracker.request("a", at_second(100));
  tracker.request("a", at_second(99));
  EXPECT_EQ(tracker.out_of_order(), 2U);
  tracker.finish();
  EXPECT_EQ(taken(), (sessions{"b 100-100/1@110", "a 100-100/3@110"}));
}

TEST_F(SessionTracker, ALateLineDoesNotReviveWhatHasEnded) {
  tracker.request("a", at_second(100));
  tracker.request("b", at_second(110));
  EXPECT_EQ(taken(), sessions{"a 100-100/1@110"});
  tracker.request("a", at_second(101));
  tracker.finish();
  EXPECT_EQ(taken(), (sessions{"b 110-110/1@120", "a 110-110/1@120"}));
}

TEST_F(SessionTracker, TimeBeforeTheEpochIsTimeToo) {
  tracker.request("a", at_second(-100));
  tracker.request("a", at_second(-90));
  tracker.finish();
  EXPECT_EQ(taken(), (sessions{"a -100--100/1@-90", "a -90--90/1@-80"}));
  EXPECT_EQ(tracker.out_of_order(), 0U);
}

TEST_F(SessionTracker, CountsWhatTheTimersDid) {
  for (int i = 0; i < 5; ++i) tracker.request("a", at_second(i));
  tracker.request("b", at_second(5));
  tracker.finish();
  const service_counters timers = tracker.timers();
  EXPECT_EQ(timers.started, 2U);
  EXPECT_EQ(timers.superseded, 4U);
  EXPECT_EQ(timers.fired, 2U);
  EXPECT_EQ(timers.peak_pending, 2U);
  EXPECT_EQ(timers.pending, 0U);
}

TEST_F(SessionTracker, WithoutRequestsThereIsNothing) {
  tracker.finish();
  EXPECT_EQ(taken(), sessions{});
  EXPECT_EQ(tracker.sessions(), 0U);
}

TEST_F(SessionTracker, ManyClientsEndInOneInstant) {
  for (int i = 0; i < 1'000; ++i) tracker.request("client " + std::to_string(i), at_second(100));
  EXPECT_EQ(tracker.timers().pending, 1'000U);
  tracker.request("z", at_second(110));
  EXPECT_EQ(taken().size(), 1'000U);
  EXPECT_EQ(tracker.timers().pending, 1U);
}

TEST(SessionTrackerErrors, WhatTheSinkThrowsComesOut) {
  session_tracker tracker("global-heap", 10s, [](ended_session&&) { throw std::runtime_error("the disk is full"); });
  tracker.request("a", at_second(100));
  tracker.request("b", at_second(100));
  EXPECT_THROW(tracker.request("c", at_second(110)), std::runtime_error);
}

TEST(SessionTrackerErrors, AnUnknownEngineIsNamedWithThoseThereAre) {
  try {
    session_tracker tracker("sundial", 10s, [](ended_session&&) {});
    FAIL() << "it was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("'sundial'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("global-heap"), std::string::npos);
  }
}

TEST(SessionTrackerErrors, MayBeAbandonedWithSessionsAlive) {
  session_tracker tracker("global-heap", 10s, [](ended_session&&) { FAIL() << "nothing ended"; });
  for (int i = 0; i < 100; ++i) tracker.request(std::to_string(i), at_second(100));
}

}  // namespace
}  // namespace foliot::program
