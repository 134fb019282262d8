// A runtime beside an event loop: the loop's thread spawns a task for each request, and the task posts its answer back,
// so that only the loop's thread touches the loop's objects. Here the requests come from the program itself.
//
// Two traps. The loop's thread must not wait for the runtime: call() would block all its connections, so it spawns, and
// gets the answer as a job. And when the loop ends, tasks may still have answers for it: the runtime is destroyed
// first, so that no task posts to a loop that is gone.
#include <foliot/runtime.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
namespace rt = foliot::runtime;

/// Jobs for the loop's thread, behind a descriptor that is readable while there are some.
class mailbox {
 public:
  mailbox() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  ~mailbox() { close(fd_); }
  mailbox(const mailbox&) = delete;
  mailbox& operator=(const mailbox&) = delete;

  [[nodiscard]] int fd() const { return fd_; }
  /// From any thread.
  void post(std::function<void()> job) {
    const std::lock_guard held(lock_);
    jobs_.push_back(std::move(job));
    eventfd_write(fd_, 1);
  }
  void run() {
    std::vector<std::function<void()>> jobs;
    {
      const std::lock_guard held(lock_);
      eventfd_t count = 0;
      eventfd_read(fd_, &count);
      jobs.swap(jobs_);
    }
    for (const auto& each : jobs) each();
  }

 private:
  const int fd_;
  std::mutex lock_;
  std::vector<std::function<void()>> jobs_;
};

/// The slow part of a request, as a task.
foliot::task<std::string> look_up(int request) {
  co_await rt::sleep(request * 10ms);
  co_return "answer " + std::to_string(request);
}

struct server {
  mailbox back;
  int open = 3;
  foliot::background_runtime background;  // last: destroyed first
  foliot::runtime_handle tasks = background.handle();

  /// Called by the loop's thread, and so is the function that is posted.
  void begin(int request) {
    tasks.spawn([this, request]() -> foliot::task<> {
      std::string text = co_await look_up(request);
      back.post([this, text = std::move(text)] {
        std::puts(text.c_str());
        --open;
      });
    });
  }
};

int main() {
  server self;
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  epoll_ctl(epoll, EPOLL_CTL_ADD, self.back.fd(), &wanted);
  for (int request = 1; request <= 3; ++request) self.begin(request);
  while (self.open > 0) {
    epoll_event ready{};
    if (epoll_wait(epoll, &ready, 1, -1) == 1) self.back.run();
  }
  close(epoll);
  // A thread without a loop may wait.
  const std::string last = self.tasks.call([] { return look_up(4); });
  std::puts(last.c_str());
}
