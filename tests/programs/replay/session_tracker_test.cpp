#include "replay/session_tracker.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "programs/colliding_names.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t second = 1'000'000'000;

instant at_second(std::int64_t since_epoch) { return instant::from_nanoseconds(since_epoch * second); }

/// A tracker with an idle time of ten seconds, and the sessions that it has ended, in seconds: "client
/// start-last/n@end". With the timers of a service, and of runtimes.
class SessionTracker : public testing::TestWithParam<const char*> {
 protected:
  std::vector<std::string> taken() {
    tracker->settle();
    return std::exchange(ended, {});
  }
  /// The same, sorted: sessions that end in one instant come in no order.
  std::vector<std::string> taken_at_once() {
    std::vector<std::string> all = taken();
    std::ranges::sort(all);
    return all;
  }

  std::vector<std::string> ended;
  std::unique_ptr<session_tracker> tracker = make_session_tracker(GetParam(), 10s, [this](ended_session&& session) {
    const auto in_seconds = [](instant time) { return std::to_string(time.nanoseconds() / second); };
    ended.push_back(session.client + " " + in_seconds(session.start) + "-" + in_seconds(session.last_request) + "/" +
                    std::to_string(session.requests) + "@" + in_seconds(session.expired));
  });
};

constexpr const char* engines[] = {"global-heap", "foliot-runtime", "processor-heaps", "processor-heaps-1.14"};
std::string as_name(const testing::TestParamInfo<const char*>& engine) {
  std::string name = engine.param;
  std::ranges::replace_if(name, [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(, SessionTracker, testing::ValuesIn(engines), as_name);

using sessions = std::vector<std::string>;

TEST_P(SessionTracker, ASessionLastsWhileRequestsCome) {
  tracker->request("a", at_second(100));
  tracker->request("a", at_second(109));
  tracker->request("a", at_second(118));
  EXPECT_EQ(taken(), sessions{});
  tracker->finish();
  EXPECT_EQ(taken(), sessions{"a 100-118/3@128"});
  EXPECT_EQ(tracker->sessions(), 1U);
  EXPECT_EQ(tracker->clients().count(), 1U);
}

TEST_P(SessionTracker, WhatIsDueExactlyNowEndsBeforeTheRequest) {
  tracker->request("a", at_second(100));
  tracker->request("a", at_second(110));
  EXPECT_EQ(taken(), sessions{"a 100-100/1@110"});
  tracker->finish();
  EXPECT_EQ(taken(), sessions{"a 110-110/1@120"});
  EXPECT_EQ(tracker->sessions(), 2U);
  EXPECT_EQ(tracker->clients().count(), 1U);
}

TEST_P(SessionTracker, OneNanosecondEarlierItGoesOn) {
  tracker->request("a", at_second(100));
  tracker->request("a", instant::from_nanoseconds(110 * second - 1));
  EXPECT_EQ(taken(), sessions{});
}

TEST_P(SessionTracker, EndsAtItsDeadlineWhateverTheClockJumps) {
  tracker->request("a", at_second(100));
  tracker->request("b", at_second(105));
  tracker->request("c", at_second(1'000'000));
  EXPECT_EQ(taken(), (sessions{"a 100-100/1@110", "b 105-105/1@115"}));
}

TEST_P(SessionTracker, ALineFromThePastCountsAsNow) {
  tracker->request("a", at_second(100));
  tracker->request("b", at_second(95));
  tracker->request("a", at_second(100));
  tracker->request("a", at_second(99));
  tracker->settle();
  EXPECT_EQ(tracker->out_of_order(), 2U);
  tracker->finish();
  EXPECT_EQ(taken_at_once(), (sessions{"a 100-100/3@110", "b 100-100/1@110"}));
}

TEST_P(SessionTracker, ALateLineDoesNotReviveWhatHasEnded) {
  tracker->request("a", at_second(100));
  tracker->request("b", at_second(110));
  EXPECT_EQ(taken(), sessions{"a 100-100/1@110"});
  tracker->request("a", at_second(101));
  tracker->finish();
  EXPECT_EQ(taken_at_once(), (sessions{"a 110-110/1@120", "b 110-110/1@120"}));
}

TEST_P(SessionTracker, TimeBeforeTheEpochIsTimeToo) {
  tracker->request("a", at_second(-100));
  tracker->request("a", at_second(-90));
  tracker->finish();
  EXPECT_EQ(taken(), (sessions{"a -100--100/1@-90", "a -90--90/1@-80"}));
  EXPECT_EQ(tracker->out_of_order(), 0U);
}

TEST_P(SessionTracker, CountsWhatTheTimersDid) {
  for (int i = 0; i < 5; ++i) tracker->request("a", at_second(i));
  tracker->request("b", at_second(5));
  tracker->finish();
  const service_counters timers = tracker->timers();
  EXPECT_EQ(timers.started, 2U);
  EXPECT_EQ(timers.superseded, 4U);
  EXPECT_EQ(timers.fired, 2U);
  EXPECT_EQ(timers.peak_pending, 2U);
  EXPECT_EQ(timers.pending, 0U);
}

TEST_P(SessionTracker, WithoutRequestsThereIsNothing) {
  tracker->finish();
  EXPECT_EQ(taken(), sessions{});
  EXPECT_EQ(tracker->sessions(), 0U);
}

TEST_P(SessionTracker, ManyClientsEndInOneInstant) {
  for (int i = 0; i < 1'000; ++i) tracker->request("client " + std::to_string(i), at_second(100));
  tracker->settle();
  EXPECT_EQ(tracker->timers().pending, 1'000U);
  tracker->request("z", at_second(110));
  EXPECT_EQ(taken().size(), 1'000U);
  EXPECT_EQ(tracker->timers().pending, 1U);
}

TEST(SessionTrackerErrors, WhatTheSinkThrowsComesOut) {
  for (const char* const engine : engines) {
    const auto tracker =
        make_session_tracker(engine, 10s, [](ended_session&&) { throw std::runtime_error("the disk is full"); });
    tracker->request("a", at_second(100));
    tracker->request("b", at_second(100));
    const auto next = [&] {
      tracker->request("c", at_second(110));
      tracker->settle();
    };
    EXPECT_THROW(next(), std::runtime_error) << engine;
  }
}

TEST_P(SessionTracker, CountsClientsWhoseNamesWereChosenToCollide) {
  for (const std::string& name : colliding_names(1'000)) tracker->request(name, at_second(100));
  tracker->finish();
  EXPECT_EQ(taken().size(), 1'000U);
  EXPECT_TRUE(tracker->clients().exact());
  EXPECT_EQ(tracker->clients().count(), 1'000U);
}

TEST(SessionTrackerErrors, AnUnknownEngineIsNamedWithThoseThereAre) {
  try {
    static_cast<void>(make_session_tracker("sundial", 10s, [](ended_session&&) {}));
    FAIL() << "it was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("'sundial'"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("global-heap"), std::string::npos);
  }
}

TEST(SessionTrackerErrors, MayBeAbandonedWithSessionsAlive) {
  for (const char* const engine : engines) {
    const auto tracker = make_session_tracker(engine, 10s, [](ended_session&&) { FAIL() << "nothing ended"; });
    for (int i = 0; i < 100; ++i) tracker->request(std::to_string(i), at_second(100));
    tracker->settle();
    tracker->request("the next batch", at_second(100));
  }
}

}  // namespace
}  // namespace foliot::program
