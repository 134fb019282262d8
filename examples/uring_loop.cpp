// Timers beside a ring of io_uring's: each wait for completions ends when the next timer is due.
#include <foliot/adapters.hpp>

#include <liburing.h>
#include <unistd.h>

#include <array>
#include <cstdio>

using namespace std::chrono_literals;

namespace {

/// The timeout of a wait until the next timer is due; null if none is pending.
__kernel_timespec* until_next(foliot::loop_timers& timers, __kernel_timespec& room) {
  const foliot::duration wait = timers.next_deadline() - timers.now();
  if (wait.is_forever()) return nullptr;
  const auto nanoseconds = wait > 0ns ? wait.count() : 0;
  room = {.tv_sec = nanoseconds / 1'000'000'000, .tv_nsec = nanoseconds % 1'000'000'000};
  return &room;
}

void ask_for_a_word(io_uring& ring, int from, char& to) {
  io_uring_prep_read(io_uring_get_sqe(&ring), from, &to, 1, 0);
}

}  // namespace

int main() {
  io_uring ring{};
  if (io_uring_queue_init(8, &ring, 0) < 0) {
    std::puts("this system has no io_uring");
    return 77;
  }
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return 1;
  foliot::loop_timers timers;
  bool open = true;
  int words = 0;
  foliot::loop_timer idle(timers, [&] {
    std::puts("good-bye");
    open = false;
  });
  foliot::loop_timer peer(timers, [&] {
    if (write(ends[1], "x", 1) == 1 && ++words < 3) peer.reset(10ms);
  });
  idle.reset(300ms);
  peer.reset(10ms);
  char word = 0;
  ask_for_a_word(ring, ends[0], word);
  while (open) {
    __kernel_timespec timeout{};
    io_uring_cqe* done = nullptr;
    __kernel_timespec* const wait = until_next(timers, timeout);
    io_uring_submit_and_wait_timeout(&ring, &done, 1, wait, nullptr);
    while (io_uring_peek_cqe(&ring, &done) == 0) {  // completions first: a word in time
      io_uring_cqe_seen(&ring, done);
      std::puts("a word");
      idle.reset(30ms);
      ask_for_a_word(ring, ends[0], word);
    }
    timers.expire(timers.now(), 256);
  }
  io_uring_queue_exit(&ring);
  close(ends[0]);
  close(ends[1]);
}
