// expect: foliot: a duration needs a unit: write 20ms or std::chrono::milliseconds(n)
#include <chrono>

#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/task.hpp>

using namespace std::chrono_literals;

foliot::task<> run() {
#ifdef CORRECT
  co_await foliot::runtime::sleep(20ms);
#else
  co_await foliot::runtime::sleep(20);
#endif
}
