// Every contestant of W5 does what is asked, and a set that does not is detected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "bench/workloads/crew.hpp"
#include "contestant_names.hpp"

namespace foliot::program::bench {

namespace {

using ::testing::ThrowsMessage;

request shared(workload what, int threads, std::size_t timers = 50) {
  return {.what = what, .timers = timers, .threads = threads, .time = std::chrono::microseconds(500), .quick = true};
}

class EverySharedContestant : public testing::TestWithParam<contestant> {};

TEST_P(EverySharedContestant, DoesEachWorkloadWithEachNumberOfThreads) {
  for (const workload what : {workload::w5w1, workload::w5w1_remote, workload::w5w2}) {
    if (!GetParam().takes_part(what)) continue;
    for (const int threads : {1, 2, 4}) {
      for (const std::size_t timers : {1u, 3u, 50u}) {
        const samples found = run(GetParam(), shared(what, threads, timers));
        EXPECT_GT(found.front().figure, 0) << name(what) << ' ' << threads << ' ' << timers;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Bench, EverySharedContestant, testing::ValuesIn(that_take(figure_kind::threads)), test_name);

// ---------------------------------------------------------------- which thread touches which timer

/// Notes which thread makes each call on which timer.
struct watched_timers {
  struct hand {};
  explicit watched_timers(std::size_t count) : owners(count), starters(count), stoppers(count), pending(count) {}

  void make(std::size_t index) { owners[index] = std::this_thread::get_id(); }
  void start(hand /*mine*/, std::size_t index, duration delay) {
    EXPECT_GE(delay, duration(std::chrono::milliseconds(100)));
    EXPECT_FALSE(pending[index].exchange(true, seam::acq_rel));
    starters[index] = std::this_thread::get_id();
    ++starts;
  }
  bool stop(hand /*mine*/, std::size_t index) {
    if (!pending[index].exchange(false, seam::acq_rel)) return false;
    const std::lock_guard held(lock);
    stoppers[index].insert(std::this_thread::get_id());
    return true;
  }
  void reset(hand /*mine*/, std::size_t index, duration delay) {
    EXPECT_EQ(delay, duration(std::chrono::seconds(30)));
    EXPECT_TRUE(pending[index].load(seam::relaxed));
    EXPECT_EQ(owners[index], std::this_thread::get_id());
    ++resets;
  }
  void refresh(hand /*mine*/) {}

  std::mutex lock;
  std::vector<std::thread::id> owners;
  std::vector<std::thread::id> starters;
  std::vector<std::set<std::thread::id>> stoppers;
  std::vector<seam::atomic<bool>> pending;
  seam::atomic<std::uint64_t> starts{0};
  seam::atomic<std::uint64_t> resets{0};
};

TEST(Crew, KeepsToItsOwnTimers) {
  const request asked = shared(workload::w5w1, 2);
  watched_timers timers(timers_of_all(asked));
  EXPECT_NO_THROW(crew(timers, asked).run());
  for (std::size_t i = 0; i < timers.owners.size(); ++i) {
    for (const std::thread::id stopper : timers.stoppers[i]) EXPECT_EQ(stopper, timers.owners[i]) << i;
  }
  EXPECT_GT(timers.starts, 2 * 1024u);
}

TEST(Crew, StopsOnlyTimersOfOthersWhereThatIsAsked) {
  const request asked = shared(workload::w5w1_remote, 3, 90);
  watched_timers timers(timers_of_all(asked));
  EXPECT_NO_THROW(crew(timers, asked).run());
  std::size_t stopped = 0;
  for (std::size_t i = 0; i < timers.owners.size(); ++i) {
    for (const std::thread::id stopper : timers.stoppers[i]) EXPECT_NE(stopper, timers.owners[i]) << i;
    stopped += timers.stoppers[i].size();
    if (timers.starters[i] != std::thread::id()) {
      EXPECT_EQ(timers.starters[i], timers.owners[i]) << i;
    }
  }
  EXPECT_GT(stopped, 0u);
}

TEST(Crew, ResetsItsOwn) {
  const request asked = shared(workload::w5w2, 2);
  watched_timers timers(timers_of_all(asked));
  EXPECT_NO_THROW(crew(timers, asked).run());
  EXPECT_GT(timers.resets, 2 * 1024u);
}

TEST(Crew, WorksInThreadsThatAreNotItsOwn) {
  for (const workload what : {workload::w5w1, workload::w5w1_remote, workload::w5w2}) {
    const request asked = shared(what, 2);
    watched_timers timers(timers_of_all(asked));
    crew all(timers, asked);
    std::vector<std::thread> threads;
    for (int i = 0; i < asked.threads; ++i) {
      threads.emplace_back([&all, i] {
        ASSERT_TRUE(all.begin(i));
        while (all.go_on(i)) {
        }
      });
    }
    for (std::thread& each : threads) each.join();
    EXPECT_GT(all.result().front().figure, 0) << name(what);
  }
}

TEST(Crew, NoMemberWaitsForOneThatNeverBegins) {
  const request asked = shared(workload::w5w1, 2);
  watched_timers timers(timers_of_all(asked));
  crew all(timers, asked);
  std::thread first([&all] { EXPECT_FALSE(all.begin(0)); });
  all.give_up("there is no second thread");
  first.join();
  EXPECT_THAT([&all] { (void)all.result(); }, ThrowsMessage<failure>("there is no second thread"));
}

// ---------------------------------------------------------------- canaries

struct lying_timers {
  struct hand {};
  void make(std::size_t /*index*/) {}
  void start(hand /*mine*/, std::size_t /*index*/, duration /*delay*/) {}
  bool stop(hand /*mine*/, std::size_t /*index*/) { return false; }
  void reset(hand /*mine*/, std::size_t /*index*/, duration /*delay*/) {}
  void refresh(hand /*mine*/) {}
};

struct failing_timers : lying_timers {
  void make(std::size_t index) {
    if (index == 5) throw std::runtime_error("no more");
  }
};

TEST(Crew, DetectsASetThatStopsNothing) {
  lying_timers timers;
  for (const workload what : {workload::w5w1, workload::w5w1_remote}) {
    const request asked = shared(what, 2);
    EXPECT_THROW(crew(timers, asked).run(), failure) << name(what);
  }
}

TEST(Crew, ReportsAnErrorInAThread) {
  failing_timers timers;
  const request asked = shared(workload::w5w2, 2);
  EXPECT_THAT([&] { crew(timers, asked).run(); }, ThrowsMessage<failure>("no more"));
}

// ---------------------------------------------------------------- the hand-over

TEST(HandOver, IsInOrderAndHoldsWhatItWasMadeFor) {
  hand_over numbers(3);
  std::uint32_t taken = 0;
  EXPECT_FALSE(numbers.take(taken));
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_TRUE(numbers.give(i));
  EXPECT_TRUE(numbers.full());
  EXPECT_FALSE(numbers.give(4));
  for (std::uint32_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(numbers.take(taken));
    EXPECT_EQ(taken, i);
  }
  EXPECT_FALSE(numbers.take(taken));
}

TEST(HandOver, PassesEverythingFromThreadToThread) {
  constexpr std::uint32_t count = 20'000;
  hand_over numbers(16);
  std::thread giver([&numbers] {
    for (std::uint32_t i = 0; i < count;) {
      if (numbers.give(i)) {
        ++i;
      } else {
        give_way();
      }
    }
  });
  for (std::uint32_t wanted = 0; wanted < count;) {
    std::uint32_t taken = 0;
    if (!numbers.take(taken)) {
      give_way();
    } else {
      EXPECT_EQ(taken, wanted++);
    }
  }
  giver.join();
}

}  // namespace

}  // namespace foliot::program::bench
