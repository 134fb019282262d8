// expect: foliot: a time limit is for a task: write one that waits for this; or select(operation, after(2s))
#include <foliot/runtime.hpp>

#include <chrono>

foliot::task<> run(foliot::channel<int> numbers) {
  using namespace std::chrono_literals;
#ifdef CORRECT
  static_cast<void>(co_await foliot::runtime::select(numbers.receive(), foliot::runtime::after(1s)));
#else
  static_cast<void>(co_await foliot::runtime::with_timeout(numbers.receive(), 1s));
#endif
}
