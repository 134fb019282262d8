#include <foliot/queue/detail/timer_word.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>

namespace foliot::test {
namespace {

using detail::timer_word;
using namespace std::chrono_literals;

constexpr instant at(std::int64_t nanoseconds) { return instant::from_nanoseconds(nanoseconds); }

TEST(TimerWord, IsOpenUntilItIsArmed) {
  timer_word word;
  EXPECT_FALSE(word.armed());
  EXPECT_FALSE(word.postpone(at(1)));
  EXPECT_FALSE(word.take_due(at(1))) << "a timer with an open word is due";
}

TEST(TimerWord, IsPutOffToLaterDeadlinesAlone) {
  timer_word word;
  word.arm(at(100));
  EXPECT_TRUE(word.armed());
  EXPECT_FALSE(word.postpone(at(99)));
  EXPECT_TRUE(word.postpone(at(100)));
  EXPECT_TRUE(word.postpone(at(150)));
  EXPECT_FALSE(word.postpone(at(120))) << "the deadline is earlier than the armed one";
  EXPECT_EQ(word.load().deadline(), at(150));
}

TEST(TimerWord, AClaimTakesItOrSaysHowFarItWasPutOff) {
  timer_word word;
  word.arm(at(100));
  EXPECT_TRUE(word.postpone(at(150)));
  EXPECT_EQ(word.take_due(at(100)), at(150));
  EXPECT_FALSE(word.armed()) << "the word is open while the timer is requeued";
  word.arm(at(150));
  EXPECT_EQ(word.take_due(at(150)), std::nullopt);
  EXPECT_FALSE(word.armed());
  EXPECT_FALSE(word.postpone(at(200))) << "the timer has fired";
}

TEST(TimerWord, ADisarmedOneAsksTheLock) {
  timer_word word;
  word.arm(at(100));
  word.disarm();
  EXPECT_FALSE(word.postpone(at(200)));
}

TEST(TimerWord, HoldsEveryDeadlineFromTheOriginToTheEndOfTime) {
  for (const instant deadline : {at(0), at(1), instant::latest() - 1ns, instant::latest()}) {
    timer_word word;
    word.arm(deadline);
    EXPECT_TRUE(word.armed());
    EXPECT_EQ(word.load().deadline(), deadline);
    EXPECT_TRUE(word.postpone(instant::latest()));
    EXPECT_EQ(word.load().deadline(), instant::latest());
    EXPECT_FALSE(word.postpone(instant::never())) << "a word cannot represent never";
  }
  for (const instant deadline : {at(-1), instant::earliest(), instant::never()}) {
    timer_word word;
    word.arm(deadline);
    EXPECT_FALSE(word.armed()) << "a word cannot represent these deadlines";
  }
}

TEST(TimerWord, IsStoppedAndStartedWhereItLies) {
  using started = timer_word::started;
  const auto queued = [] { return at(100); };
  timer_word word;
  EXPECT_FALSE(word.stop()) << "an open word refuses a stop";
  EXPECT_EQ(word.start(at(200), queued), started::no);
  word.arm(at(100));
  EXPECT_EQ(word.start(at(200), queued), started::no) << "an armed timer cannot be started";
  EXPECT_TRUE(word.postpone(at(300)));
  EXPECT_TRUE(word.stop());
  EXPECT_FALSE(word.armed());
  EXPECT_TRUE(word.load().stopped());
  EXPECT_FALSE(word.stop()) << "a timer can be stopped once";
  EXPECT_FALSE(word.postpone(at(400))) << "a stopped timer cannot be postponed";
  EXPECT_EQ(word.start(at(99), queued), started::no) << "the timer is queued after this deadline, so it would be late";
  EXPECT_EQ(word.start(instant::never(), queued), started::no) << "a word cannot represent never";
  EXPECT_EQ(word.start(at(-1), queued), started::no) << "a word cannot represent an instant before the clock's origin";
  EXPECT_EQ(word.start(at(100), queued), started::yes)
      << "earlier than the old deadline, not earlier than the queued one";
  EXPECT_EQ(word.load().deadline(), at(100));
  EXPECT_TRUE(word.stop());
  EXPECT_EQ(word.start(instant::latest(), queued), started::yes);
  EXPECT_EQ(word.load().deadline(), instant::latest());
}

TEST(TimerWord, AStartSaysSoWhereTheTimerIsFiledLaterAfterAll) {
  timer_word word;
  word.arm(at(300));
  EXPECT_TRUE(word.stop());
  int looks = 0;
  EXPECT_EQ(word.start(at(200), [&] { return ++looks == 1 ? at(100) : at(300); }), timer_word::started::queued_late);
  EXPECT_EQ(word.load().deadline(), at(200));
}

TEST(TimerWord, ATakeSaysWhatItWasAndCanBeTakenBack) {
  timer_word word;
  EXPECT_FALSE(word.take().armed() || word.take().stopped());
  word.arm(at(100));
  const auto armed = word.take();
  EXPECT_TRUE(armed.armed() && !armed.stopped() && armed.deadline() == at(100));
  EXPECT_FALSE(word.stop()) << "the word is open";
  word.restore(armed);
  EXPECT_TRUE(word.stop());
  const auto stopped = word.take();
  EXPECT_TRUE(stopped.stopped() && !stopped.armed());
  EXPECT_EQ(word.take_due(at(100)), std::nullopt);
  word.restore(stopped);
  EXPECT_EQ(word.start(at(100), [] { return at(100); }), timer_word::started::yes);
}

/// If a postponement and a take_due() race, one comes first, and both threads learn which.
TEST(TimerWord, AClaimAgainstPutOffs) {
  for (int round = 0; round < 2000; ++round) {
    timer_word word;
    word.arm(at(100));
    std::array<int, 2>
        data{};  // plain, so that ThreadSanitizer checks that a callback sees the writes before its postponement
    std::atomic<int> done = 0;
    std::thread other([&] {
      data[0] = 1;
      if (word.postpone(at(200))) data[1] = 1;
      ++done;
    });
    instant queued = at(100);
    while (const auto later = word.take_due(queued)) word.arm(queued = *later);
    const bool saw = queued == at(200);
    if (saw) {
      EXPECT_EQ(data[0], 1);
    }
    other.join();
    EXPECT_EQ(data[1] == 1, saw);
  }
}

}  // namespace
}  // namespace foliot::test
