// Timers in an epoll loop: one descriptor for all of them. A pipe stands for a connection, which hangs up when
// it has been silent for 30 ms.
#include <foliot/adapters.hpp>

#include <sys/epoll.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

using namespace std::chrono_literals;

int main() {
  foliot::epoll_timers timers;
  int connection[2];
  if (pipe(connection) != 0) return 1;
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  for (const int fd : {timers.fd(), connection[0]}) {
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.fd = fd;
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted);
  }

  bool open = true;
  foliot::loop_timer idle(timers, [&] { open = false; });
  idle.reset(30ms);
  int words = 0;
  std::unique_ptr<foliot::loop_timer> peer;  // the other end, which sends three words
  peer = std::make_unique<foliot::loop_timer>(timers, [&] {
    if (write(connection[1], "hello", 5) == 5 && ++words < 3) peer->reset(10ms);
  });
  peer->reset(10ms);

  while (open) {
    epoll_event ready{};
    if (epoll_wait(epoll, &ready, 1, -1) < 1) continue;
    if (ready.data.fd == timers.fd()) {
      timers.dispatch();
    } else {
      char word[6] = {};
      if (read(connection[0], word, 5) == 5) std::puts(word);
      idle.reset(30ms);  // a message has come: no system call
    }
  }
  std::puts("good-bye");
  for (const int fd : {epoll, connection[0], connection[1]}) close(fd);
}
