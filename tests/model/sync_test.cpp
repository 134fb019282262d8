// The shipped locks in every schedule, with every value that their memory orders let them read. Then each memory order
// is weakened alone, and the checker must find a failure.
#include <string>
#include <vector>

#include <foliot/core/sync/condition.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/sync/note.hpp>

#include "audited.hpp"

namespace foliot::model {
namespace {

using namespace std::chrono_literals;

// Threads that lock a mutex.

void visit(unsigned threads, unsigned visits) {
  mutex guard(lock_rank::engine);
  seam::plain<unsigned> count{0};
  name(guard, "guard");
  name(count, "count");
  const auto come = [&] {
    for (unsigned i = 0; i < visits; ++i) {
      const lock held(guard);
      ++count;
    }
  };
  std::vector<seam::thread> others;
  for (unsigned t = 1; t < threads; ++t) others.emplace_back("visitor", come);
  come();
  for (seam::thread& each : others) each.join();
  require(count == threads * visits, "every visit must be counted");
}

TEST(Mutex, LetsInOneAtATimeAndForgetsNobody) {
  holds({.name = "mutex, two threads", .preemptions = unlimited}, [] { visit(2, 2); });
  holds({.name = "mutex, three threads"}, [] { visit(3, 1); });
  holds({.name = "mutex, interrupted", .interruptions = 2}, [] { visit(2, 2); });
}

TEST(Mutex, ADroppedWakeUpIsFound) {
  finds({.name = "mutex, drops a wake-up", .drop_wake = 1}, "deadlock", [] { visit(2, 1); });
}

// A thread that sleeps on a note, and a thread that wakes it.

void wake_one() {
  note bell;
  seam::plain<int> message{0};
  name(bell, "bell");
  name(message, "message");
  seam::thread waker("waker", [&] {
    message = 1;
    bell.wake();
    bell.wake();
  });
  require(bell.sleep_until(instant::never()), "woken");
  require(message == 1, "the woken thread must see the waker's write");
  waker.join();
}

TEST(Note, LosesNoWakeUp) {
  holds({.name = "note", .preemptions = unlimited}, wake_one);
  holds({.name = "note, interrupted", .preemptions = unlimited, .interruptions = 2}, wake_one);
}

TEST(Note, ADroppedWakeUpIsFound) { finds({.name = "note, drops a wake-up", .drop_wake = 1}, "deadlock", wake_one); }

/// A wake-up near the deadline: the result tells whether the thread may read the waker's message.
void wake_near_the_deadline() {
  note bell;
  seam::plain<int> message{0};
  seam::thread waker("waker", [&] {
    message = 1;
    bell.wake();
  });
  const instant deadline = seam::monotonic_now() + 1ms;
  if (bell.sleep_until(deadline)) {
    require(message == 1, "the woken thread must see the waker's write");
  } else {
    require(seam::monotonic_now() >= deadline, "the deadline has come");
  }
  waker.join();
}

TEST(Note, AtTheDeadlineSaysOneOrTheOther) {
  holds({.name = "note, deadline", .preemptions = unlimited}, wake_near_the_deadline);
}

/// As an engine uses a note: it is cleared under the lock under which the thread announces its sleep.
void sleep_again_and_again() {
  mutex guard(lock_rank::engine);
  note bell;
  seam::plain<bool> sleeping{false};
  seam::plain<int> work{0};
  name(guard, "guard");
  name(bell, "bell");
  const auto give = [&] {
    lock held(guard);
    ++work;
    const bool must_wake = sleeping;
    sleeping = false;
    held.leave();
    if (must_wake) bell.wake();
  };
  seam::thread giver("giver", [&] {
    give();
    give();
  });
  for (int done = 0; done < 2;) {
    lock held(guard);
    if (work > 0) {
      --work;
      ++done;
      continue;
    }
    sleeping = true;
    bell.clear();
    held.leave();
    bell.sleep_until(instant::never());
    held.enter();
    sleeping = false;
  }
  giver.join();
}

TEST(Note, IsClearedForTheNextSleep) { holds({.name = "note, again and again"}, sleep_again_and_again); }

// Threads that wait on a condition, and a thread that notifies them.

void notify(unsigned waiters) {
  mutex guard(lock_rank::engine);
  condition changed;
  seam::plain<int> stage{0};
  name(guard, "guard");
  name(changed, "changed");
  name(stage, "stage");
  const auto wait = [&] {
    const lock held(guard);
    while (stage == 0) changed.wait(guard);
  };
  std::vector<seam::thread> others;
  for (unsigned t = 0; t < waiters; ++t) others.emplace_back("waiter", wait);
  {
    const lock held(guard);
    stage = 1;
    changed.notify_all();
  }
  for (seam::thread& each : others) each.join();
}

TEST(Condition, LosesNoNotification) {
  holds({.name = "condition", .preemptions = unlimited}, [] { notify(1); });
  holds({.name = "condition, two waiters"}, [] { notify(2); });
  finds({.name = "condition, drops a wake-up", .drop_wake = 1}, "deadlock", [] { notify(1); });
}

// Pruning loses no outcome, also with waits, pauses and timeouts.

void outcomes_are_the_same(const char* what, const std::function<std::string()>& body) {
  const auto pruned = outcomes({.name = what, .preemptions = unlimited}, body);
  EXPECT_EQ(pruned, outcomes({.name = what, .preemptions = unlimited - 1}, body));
  EXPECT_GT(pruned.size(), 1u);
}

TEST(Pruning, LosesNoOutcome) {
  outcomes_are_the_same("order of arrival", [] {
    mutex guard(lock_rank::engine);
    std::string came;
    const auto come = [&](char who) {
      const lock held(guard);
      came += who;
    };
    seam::thread one("one", [&] {
      come('1');
      come('1');
    });
    come('0');
    one.join();
    return came;
  });
  outcomes_are_the_same("which came first", [] {
    note bell;
    seam::atomic<int> told{0};
    seam::thread waker("waker", [&] {
      told.store(1, seam::relaxed);
      bell.wake();
    });
    seam::thread other("other", [&] { told.store(2, seam::relaxed); });
    const bool woken = bell.sleep_until(seam::monotonic_now() + 1ms);
    const int seen = told.load(seam::relaxed);
    waker.join();
    other.join();
    return std::to_string(woken) + std::to_string(seen);
  });
  outcomes_are_the_same("spinning", [] {
    seam::atomic<int> turn{0};
    int looked = 0;
    seam::thread giver("giver", [&] {
      turn.store(1, seam::relaxed);
      turn.store(2, seam::relaxed);
    });
    while (looked < 3 && turn.load(seam::relaxed) == 0) {
      ++looked;
      seam::spin_pause();
    }
    const int seen = turn.load(seam::relaxed);
    giver.join();
    return std::to_string(looked) + std::to_string(seen);
  });
}

// Each order alone, one step weaker.

TEST(Orders, OfTheMutex) {
  needs_its_orders({.name = "orders of the mutex"}, [] { visit(3, 1); });
}

TEST(Orders, OfTheNote) {
  needs_its_orders({.name = "orders of the note", .preemptions = unlimited}, wake_one);
  // The mutex publishes the data that the note announces.
  needs_its_orders({.name = "orders of the note, again and again"}, sleep_again_and_again,
                   {"note.cpp release -> relaxed", "note.cpp acquire -> relaxed"});
  needs_its_orders({.name = "orders of the note at its deadline", .preemptions = unlimited}, wake_near_the_deadline);
}

}  // namespace
}  // namespace foliot::model
