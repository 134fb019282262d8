// Sleep means sleep: the service's thread is there only when it is needed, and runs only when it must. Who
// wakes it is counted in tests/simulation, where it is certain when it sleeps.
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

/// The kernel shows a thread as sleeping shortly before it counts that: two looks must agree.
void wait_until_asleep(const fs::path& task) {
  for (;;) {
    const std::uint64_t before = sleeps_of(task);
    std::this_thread::sleep_for(10ms);  // tidy: allow(seam-sleep) lets the kernel finish what it has begun
    if (status_of(task, "State").starts_with("S") && sleeps_of(task) == before) return;
  }
}

class Idle : public threaded_suite {
 protected:
  /// Lets the thread run once, and then counts how often the kernel puts it to sleep.
  void expect_no_wake_ups() {
    std::latch fired(1);
    const timer once(timers, 0ns, [&] { fired.count_down(); });
    fired.wait();
    const std::vector<fs::path> found = threads_named("foliot-timer");
    ASSERT_EQ(found.size(), 1u);
    const fs::path& task = found[0];
    wait_until_asleep(task);
    const std::uint64_t before = sleeps_of(task);
    // Real time has to pass here, since it is the kernel that is asked; more of it would only be stricter.
    std::this_thread::sleep_for(200ms);  // tidy: allow(seam-sleep) counts the kernel's wake-ups over real time
    EXPECT_EQ(sleeps_of(task), before) << "zero wake-ups";
    EXPECT_EQ(status_of(task, "State").front(), 'S');
  }
};

INSTANTIATE_TEST_SUITE_P(, Idle, every_engine(), engine_as_name);

TEST_P(Idle, NoThreadBeforeTheFirstStart) {
  timer t(timers, [] {});
  EXPECT_TRUE(threads_named("foliot-timer").empty());
  t.start(1h);
  while (threads_named("foliot-timer").empty()) std::this_thread::yield();
  timers.shut_down();
  // And none after the end. The kernel shows one that has ended for a moment.
  while (!threads_named("foliot-timer").empty()) std::this_thread::yield();
}

TEST_P(Idle, WithNothingDueNothingWakes) {
  const timer far(timers, 1h, [] {});
  expect_no_wake_ups();
}

TEST_P(Idle, WithNothingPendingNothingWakes) { expect_no_wake_ups(); }

}  // namespace
}  // namespace foliot::test
