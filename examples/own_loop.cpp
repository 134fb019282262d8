// A queue inside of the program's own event loop: no thread, no lock, no allocation. The loop waits until the next
// deadline, and after each wait it fires the timers that are due.
#include <foliot/core.hpp>
#include <foliot/queue.hpp>

#include <poll.h>
#include <time.h>

#include <cstdio>

using namespace std::chrono_literals;

/// A session holds its timer: nothing is allocated for it.
struct session : foliot::timer_node {
  int id = 0;
  int beats_left = 3;
};

int main() {
  const foliot::monotonic_clock& clock = foliot::monotonic_clock::instance();
  foliot::quad_heap queue;
  session sessions[3];
  for (int i = 0; i < 3; ++i) {
    sessions[i].id = i;
    queue.start(sessions[i], clock.now() + 10ms * (i + 1));
  }
  while (queue.size() > 0) {
    const foliot::duration wait = queue.next_deadline() - clock.now();
    if (wait > foliot::duration::zero()) {
      const auto seconds = wait.count() / 1'000'000'000;
      const timespec timeout{.tv_sec = seconds, .tv_nsec = wait.count() % 1'000'000'000};
      // A server's file descriptors would stand here.
      ppoll(nullptr, 0, &timeout, nullptr);
    }
    queue.expire(clock.now(), 100, [&](foliot::timer_node& due) {
      auto& s = static_cast<session&>(due);
      std::printf("session %d beats, %d to go\n", s.id, --s.beats_left);
      if (s.beats_left > 0) queue.start(s, s.deadline() + 30ms);
    });
  }
}
