// What run() reports by default, in a process of its own: a deadlock is certain if the process has no threads but the
// runtime's. The exit status is 0 if all checks hold. Nothing here depends on the speed of the machine: the program
// waits for an expected report, and an unexpected one would be wrong at any time.
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <foliot/core/seam/system.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/channel.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/this_task.hpp>
#include <foliot/service.hpp>

namespace {

using namespace std::chrono_literals;
using namespace foliot::runtime;
using foliot::task;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "deadlock_process: %s\n", what);
  std::_Exit(1);
}

void pass(foliot::duration length) {
  foliot::note nobody_wakes;
  nobody_wakes.sleep_until(foliot::seam::monotonic_now() + length);
}

task<> receive_from(channel<int> from) { static_cast<void>(co_await from.receive()); }

bool is_reported(task<> main, std::size_t processors) {
  run_options options;
  options.processors = processors;
  try {
    foliot::run(std::move(main), options);
  } catch (const deadlock& found) {
    return std::string_view(found.what()).starts_with("foliot: deadlock: all tasks wait");
  }
  return false;
}

/// Without another thread a deadlock is certain, also if the runtime has had more threads before.
void alone() {
  const auto main = []() -> task<> {
    auto job = [] {};
    co_await blocking(job);
    set_processors(4);
    co_await sleep(1ms);
    set_processors(1);
    co_await receive_from(channel<int>());
  };
  for (const std::size_t processors : {1U, 2U, 4U}) {
    require(is_reported(receive_from(channel<int>()), processors), "alone: it was not reported");
    require(is_reported(main(), processors), "after changes: it was not reported");
  }
}

/// Another thread exists and wakes a task: no report.
void with_another() {
  for (const std::size_t processors : {1U, 2U}) {
    const channel<int> numbers;
    std::thread other([numbers] {
      for (int i = 0; i < 3; ++i) {
        pass(20ms);
        while (!numbers.try_send(i)) std::this_thread::yield();
      }
    });
    const auto main = [](channel<int> from) -> task<> {
      for (int i = 0; i < 3; ++i) static_cast<void>(co_await from.receive());
    };
    require(!is_reported(main(numbers), processors), "with another thread: it was reported");
    other.join();
  }
}

/// A thread of a service counts as another thread too.
void with_a_service() {
  const channel<int> numbers;
  foliot::timer_service timers;
  foliot::timer later{timers, 20ms, [numbers] {
                        while (!numbers.try_send(1)) std::this_thread::yield();
                      }};
  require(!is_reported(receive_from(numbers), 2), "with a service: it was reported");
}

/// When the other thread has been joined, no thread is left that could wake a task.
void after_another() {
  const auto main = []() -> task<> {
    const channel<int> numbers;
    std::vector<std::thread> others;
    for (int i = 0; i < 8; ++i) {
      others.emplace_back([numbers] {
        while (!numbers.try_send(1)) std::this_thread::yield();
      });
    }
    for (int i = 0; i < 8; ++i) static_cast<void>(co_await numbers.receive());
    for (std::thread& each : others) each.join();
    co_await receive_from(numbers);
  };
  for (const std::size_t processors : {1U, 2U, 4U}) {
    require(is_reported(main(), processors), "after other threads: it was not reported");
  }
}

/// The seam's count of threads, with more threads than one read of the list returns.
void many_threads() {
  using foliot::seam::other_threads;
  using foliot::seam::threads_besides;
  constexpr std::size_t count = 150;
  std::atomic<bool> over = false;
  require(threads_besides(1) == other_threads::none, "one thread: there are others");
  require(threads_besides(2) == other_threads::some,
          "fewer threads than expected were not reported as some other thread");
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 0; i < count; ++i) others.emplace_back([&over] { over.wait(false); });
    require(threads_besides(1) == other_threads::some, "many threads: it finds none");
    require(threads_besides(count) == other_threads::some, "many threads: it misses one");
    require(threads_besides(count + 1) == other_threads::none, "many threads: it finds one more");
    over = true;
    over.notify_all();
  }
  while (threads_besides(1) != other_threads::none) {
    require(threads_besides(1) != other_threads::some, "threads that have been joined run no code any more");
  }
}

/// The program's first thread has ended. It stays in the system's list.
void without_the_first() {
  std::thread([] {
    // The end of the thread cannot be awaited; until then it counts as another thread.
    while (foliot::seam::threads_besides(1) != foliot::seam::other_threads::none) pass(1ms);
    require(is_reported(receive_from(channel<int>()), 2), "without the first thread: it was not reported");
    std::_Exit(0);
  }).detach();
  ::pthread_exit(nullptr);
}

}  // namespace

int main() {
  many_threads();
  alone();
  with_another();
  with_a_service();
  after_another();
  alone();
  without_the_first();
}
