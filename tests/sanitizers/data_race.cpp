// A counter that a callback and the main thread share without a lock. All that passes between the two is
// a relaxed flag, which orders nothing, so the race is there in every run.
#include <foliot/service.hpp>

#include <atomic>
#include <cstdio>

int main() {
  using namespace std::chrono_literals;
  foliot::timer_service timers;
  int shared = 0;
  std::atomic<bool> ran = false;
  const foliot::timer t(timers, 0ns, [&] {
    ++shared;
    ran.store(true, std::memory_order_relaxed);
  });
  while (!ran.load(std::memory_order_relaxed)) {
  }
  ++shared;
  std::printf("%d\n", shared);
}
