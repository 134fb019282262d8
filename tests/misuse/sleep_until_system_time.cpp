// expect: foliot: the timers of a runtime do not go by the wall clock: include foliot/runtime/wall_time.hpp
#include <chrono>

#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/task.hpp>
#ifdef CORRECT
#include <foliot/runtime/wall_time.hpp>
#endif

foliot::task<> run() {
  using namespace std::chrono_literals;
  co_await foliot::runtime::sleep_until(std::chrono::system_clock::now() + 5s);
}
