// expect: foliot: shielded() takes a task: write one that waits for this
#include <foliot/runtime.hpp>

#include <chrono>

using namespace std::chrono_literals;

foliot::task<> rest() { co_await foliot::runtime::sleep(1s); }

foliot::task<> run() {
#ifdef CORRECT
  co_await foliot::runtime::shielded(rest());
#else
  co_await foliot::runtime::shielded(foliot::runtime::sleep(1s));
#endif
}
