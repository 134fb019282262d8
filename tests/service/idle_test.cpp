// The service's thread exists only when it is needed, and wakes up only when a timer is due. Wake-ups by other
// threads are counted in tests/simulation, where it is certain when the thread sleeps.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "fixture.hpp"
#include "own_threads.hpp"

namespace foliot::test {
namespace {

using namespace std::chrono_literals;

namespace fs = std::filesystem;

std::string status_of(const fs::path& task, const std::string& field) {
  std::ifstream status(task / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return line.substr(field.size() + 2);
  }
  return {};
}

/// How often the kernel has put the thread to sleep.
std::uint64_t sleeps_of(const fs::path& task) { return std::stoull(status_of(task, "voluntary_ctxt_switches")); }

class Idle : public threaded_suite {
 protected:
  /// Lets the thread run once, waits until it is asleep, and then for a time in which the kernel must not put it to
  /// sleep again. The first tries may be too early: the kernel counts a sleep a moment after the state shows it.
  void expect_no_wake_ups() {
    std::latch fired(1);
    const timer once(timers, 0ns, [&] { fired.count_down(); });
    fired.wait();
    const std::vector<fs::path> found = threads_named("foliot-timer");
    ASSERT_EQ(found.size(), 1u);
    const fs::path& task = found[0];
    constexpr int most_tries = 3;
    bool slept = false;
    for (int tries = 0; tries < most_tries && !slept; ++tries) {
      while (!status_of(task, "State").starts_with("S")) std::this_thread::yield();
      const std::uint64_t before = sleeps_of(task);
      // Real time has to pass here, since it is the kernel that is asked; more of it would only be stricter.
      std::this_thread::sleep_for(200ms);  // tidy: allow(seam-sleep) counts the kernel's wake-ups over real time
      slept = status_of(task, "State").starts_with("S") && sleeps_of(task) == before;
    }
    EXPECT_TRUE(slept) << "the thread woke up although nothing was due";
  }
};

INSTANTIATE_TEST_SUITE_P(, Idle, every_engine(), engine_as_name);

TEST_P(Idle, NoThreadBeforeTheFirstStart) {
  timer t(timers, [] {});
  EXPECT_TRUE(threads_named("foliot-timer").empty());
  t.reset(1h);
  while (threads_named("foliot-timer").empty()) std::this_thread::yield();
  timers.shut_down();
  // There is no thread after the end. The kernel shows a thread for a moment after it has ended.
  while (!threads_named("foliot-timer").empty()) std::this_thread::yield();
}

TEST_P(Idle, WithNothingDueNothingWakes) {
  const timer far(timers, 1h, [] {});
  expect_no_wake_ups();
}

TEST_P(Idle, WithNothingPendingNothingWakes) { expect_no_wake_ups(); }

}  // namespace
}  // namespace foliot::test
