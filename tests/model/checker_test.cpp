// Tests of the checker: it must find the flaws of programs that are broken on purpose, and none in the corrected
// programs; and how it bounds, reports and repeats executions.
#include <cstdlib>
#include <memory>
#include <optional>

#include <foliot/core/seam/system.hpp>

#include "check.hpp"

namespace foliot::model {
namespace {

using namespace std::chrono_literals;
using flag = seam::atomic<std::uint32_t>;

// Races.

void publish(order store, order load) {
  seam::plain<int> data{0};
  flag ready{0};
  seam::thread writer("writer", [&] {
    data = 1;
    ready.store(1, store);
  });
  if (ready.load(load) == 1) require(data == 1, "the reader must see the published write");
  writer.join();
}

TEST(Race, ADataRaceIsFound) {
  holds({.name = "published"}, [] { publish(seam::release, seam::acquire); });
  finds({.name = "not released"}, "race on", [] { publish(seam::relaxed, seam::acquire); });
  finds({.name = "not acquired"}, "race on", [] { publish(seam::release, seam::relaxed); });
}

TEST(Race, SeqCstFencesOrderButDoNotSynchronise) {
  finds({.name = "by fences alone"}, "race on", [] {
    seam::plain<int> data{0};
    flag x{0};
    flag y{0};
    seam::thread other("other", [&] {
      y.store(1, seam::relaxed);
      seam::atomic_thread_fence(seam::seq_cst);
      if (x.load(seam::relaxed) == 0) data = 1;
    });
    x.store(1, seam::relaxed);
    seam::atomic_thread_fence(seam::seq_cst);
    if (y.load(seam::relaxed) == 1) data = 2;  // the other thread may write at the same time
    other.join();
  });
}

TEST(Race, TwoReadersAreNone) {
  holds({.name = "readers"}, [] {
    seam::plain<int> data{7};
    seam::thread other("other", [&] { require(data == 7, "read"); });
    require(data == 7, "read");
    other.join();
    data = 8;
  });
}

TEST(Race, AReadThatTheWriterDoesNotKnowIsFound) {
  finds({.name = "reader unknown"}, "race on data", [] {
    seam::plain<int> data{7};
    name(data, "data");
    flag done{0};
    seam::thread reader("reader", [&] {
      require(data == 7, "read");
      done.store(1, seam::relaxed);
    });
    if (done.load(seam::acquire) == 1) data = 8;
    reader.join();
  });
}

TEST(Race, AnAtomicThatItsUserDoesNotKnowIsFound) {
  const auto hand_over = [](order store) {
    seam::atomic<flag*> handed{nullptr};
    seam::thread maker("maker", [&] { handed.store(new flag{1}, store); });
    flag* got = handed.load(seam::acquire);
    if (got != nullptr) got->store(2, seam::relaxed);
    maker.join();
    delete handed.load(seam::relaxed);
  };
  holds({.name = "made, then published"}, [&] { hand_over(seam::release); });
  finds({.name = "made, and not published"}, "does not know that it was made", [&] { hand_over(seam::relaxed); });
}

TEST(Race, TheEndOfAnAtomicsLifeIsOrdered) {
  const auto end = [](order store) {
    auto word = std::make_unique<flag>(0u);
    flag done{0};
    seam::thread user("user", [&] {
      word->store(1, seam::relaxed);
      done.store(1, store);
    });
    if (done.load(seam::acquire) == 1) word.reset();
    user.join();
  };
  holds({.name = "its user is done"}, [&] { end(seam::release); });
  finds({.name = "its user may not be done"}, "ends its life", [&] { end(seam::relaxed); });
}

// Schedules.

TEST(Schedule, ADeadlockIsFound) {
  const auto embrace = [](bool same_order) {
    flag a{0};
    flag b{0};
    const auto take = [](flag& lock) {
      while (lock.exchange(1, seam::acquire) == 1) {
        static_cast<void>(seam::futex_wait(lock, 1, instant::never()));
      }
    };
    const auto leave = [](flag& lock) {
      lock.store(0, seam::release);
      seam::futex_wake(lock, 1);
    };
    seam::thread other("other", [&] {
      take(same_order ? a : b);
      take(same_order ? b : a);
      leave(b);
      leave(a);
    });
    take(a);
    take(b);
    leave(a);
    leave(b);
    other.join();
  };
  holds({.name = "one order"}, [&] { embrace(true); });
  finds({.name = "two orders"}, "deadlock: main", [&] { embrace(false); });
}

TEST(Schedule, ALostWakeUpIsFound) {
  const auto wait = [](bool compare) {
    flag ready{0};
    seam::thread waker("waker", [&] {
      ready.store(1, seam::release);
      seam::futex_wake(ready, 1);
    });
    while (ready.load(seam::acquire) == 0) {
      // Without the comparison: the wait expects the value that the word has.
      const std::uint32_t expected = compare ? 0 : ready.load(seam::relaxed);
      static_cast<void>(seam::futex_wait(ready, expected, instant::never()));
    }
    waker.join();
  };
  holds({.name = "compares"}, [&] { wait(true); });
  finds({.name = "does not compare"}, "deadlock", [&] { wait(false); });
  finds({.name = "a wake-up is dropped", .drop_wake = 1}, "deadlock", [&] { wait(true); });
}

TEST(Schedule, AWaitThatIsInterruptedIsFound) {
  const auto wait = [](bool again) {
    flag ready{0};
    seam::thread waker("waker", [&] {
      ready.store(1, seam::release);
      seam::futex_wake(ready, 1);
    });
    do {
      if (ready.load(seam::acquire) == 1) break;
      static_cast<void>(seam::futex_wait(ready, 0, instant::never()));
    } while (again);
    require(ready.load(seam::acquire) == 1, "the flag must be set");
    waker.join();
  };
  holds({.name = "looks again", .interruptions = 2}, [&] { wait(true); });
  finds({.name = "does not look again", .interruptions = 1}, "the flag must be set", [&] { wait(false); });
}

TEST(Schedule, AWaitMayTimeOutAtAnyTime) {
  const auto wait = [](bool trusts) {
    flag ready{0};
    const instant deadline = seam::monotonic_now() + 1ms;
    seam::thread waker("waker", [&] {
      ready.store(1, seam::release);
      seam::futex_wake(ready, 1);
    });
    const seam::wait_status status = seam::futex_wait(ready, 0, deadline);
    if (status == seam::wait_status::timed_out) {
      require(seam::monotonic_now() >= deadline, "the deadline has come");
      if (trusts) require(ready.load(seam::acquire) == 0, "the flag must not be set");
    }
    waker.join();
  };
  holds({.name = "looks at the word"}, [&] { wait(false); });
  finds({.name = "trusts the timeout"}, "the flag must not be set", [&] { wait(true); });
}

TEST(Schedule, SpinningEnds) {
  const auto spin = [](bool told, bool pauses) {
    flag ready{0};
    seam::thread teller("teller", [&] {
      if (told) ready.store(1, seam::relaxed);
    });
    while (ready.load(seam::relaxed) == 0) {
      if (pauses) seam::spin_pause();
    }
    teller.join();
  };
  holds({.name = "set"}, [&] { spin(true, true); });
  holds({.name = "set, without a bound", .preemptions = unlimited}, [&] { spin(true, true); });
  finds({.name = "never set"}, "all threads spin", [&] { spin(false, true); });
  finds({.name = "never pauses"}, "spin_pause", [&] { spin(true, false); });
}

TEST(Schedule, TwoThatSpinForEachOther) {
  holds({.name = "ping pong"}, [] {
    flag turn{0};
    const auto play = [&](std::uint32_t own) {
      for (int i = 0; i < 2; ++i) {
        while (turn.load(seam::acquire) != own) seam::spin_pause();
        turn.store(1 - own, seam::release);
      }
    };
    seam::thread other("other", [&] { play(1); });
    play(0);
    other.join();
  });
}

TEST(Schedule, ABoundLeavesOutWhatNeedsMore) {
  const auto needs_two = [] {
    flag x{0};
    seam::thread other("other", [&] {
      const std::uint32_t first = x.load(seam::relaxed);
      const std::uint32_t second = x.load(seam::relaxed);
      require(!(first == 1 && second == 2), "the reads must not lie between the two stores and after them");
    });
    x.store(1, seam::seq_cst);
    x.store(2, seam::seq_cst);
    other.join();
  };
  // Weak memory shows stores late, so a bound of one preemption finds failures that need a switch to and fro. A bound
  // of none does not.
  holds({.name = "no preemption", .preemptions = 0}, [] {
    flag x{0};
    seam::thread other("other", [&] { x.store(1, seam::seq_cst); });
    require(x.load(seam::seq_cst) == 0, "no other thread may run between the two operations");
    other.join();
  });
  finds({.name = "one preemption", .preemptions = 1}, "between the two stores", needs_two);
}

TEST(Schedule, AChoiceIsGoneThrough) {
  std::set<std::uint64_t> seen;
  const result found = holds({.name = "choices"}, [&] { seen.insert(choose(3) * 3 + choose(3)); });
  EXPECT_EQ(seen.size(), 9u);
  EXPECT_EQ(found.executions, 9u);
}

TEST(Schedule, ALimitIsALimit) {
  const result found = explore({.name = "limited", .executions = 5}, [] { static_cast<void>(choose(30)); });
  EXPECT_EQ(found.executions, 5u);
  EXPECT_FALSE(found.complete);
}

// Reports.

TEST(Report, AFailureTellsWhatHappenedAndRepeats) {
  const result found = finds({.name = "report"}, "race on", [] { publish(seam::release, seam::relaxed); });
  ASSERT_TRUE(found.failed);
  EXPECT_NE(found.failed->trace.find("writer"), std::string::npos) << found.failed->trace;
  EXPECT_NE(found.failed->trace.find("relaxed read 1 of writer"), std::string::npos) << found.failed->trace;
  EXPECT_NE(found.failed->trace.find("checker_test.cpp:"), std::string::npos) << found.failed->trace;

  const support::leaks_ignored for_what_is_abandoned;
  ::setenv("FOLIOT_MODEL_REPEAT", found.failed->choices.c_str(), 1);
  const result again = explore({.name = "report"}, [] { publish(seam::release, seam::relaxed); });
  const result right = explore({.name = "report"}, [] { publish(seam::release, seam::acquire); });
  ::unsetenv("FOLIOT_MODEL_REPEAT");
  EXPECT_EQ(again.executions, 1u);
  ASSERT_TRUE(again.failed);
  EXPECT_EQ(again.failed->what, found.failed->what);
  EXPECT_EQ(again.failed->trace, found.failed->trace);
  EXPECT_FALSE(right.failed);
}

TEST(Report, TheSameEveryTime) {
  const auto run = [] {
    return explore({.name = "the same"}, [] { publish(seam::release, seam::acquire); }).describe();
  };
  EXPECT_EQ(run(), run());
}

TEST(Report, AuditFindsEveryOrderThatIsNeeded) {
  const support::leaks_ignored for_what_is_abandoned;
  const auto all = audit({.name = "audited"}, [] { publish(seam::release, seam::acquire); });
  EXPECT_EQ(all.size(), 2u);
  for (const audited& each : all) EXPECT_TRUE(each.found.failed) << each.weakened.describe();

  const auto more = audit({.name = "audited too"}, [] { publish(seam::acq_rel, seam::acquire); });
  EXPECT_EQ(more.size(), 3u);
}

}  // namespace
}  // namespace foliot::model
