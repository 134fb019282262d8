// expect: foliot: a sleep is not a case of a select: write after(length)
#include <foliot/runtime.hpp>

#include <chrono>

foliot::task<> run(foliot::runtime::channel<int> numbers) {
  using namespace std::chrono_literals;
#ifdef CORRECT
  co_await foliot::runtime::select(numbers.receive(), foliot::runtime::after(1s));
#else
  co_await foliot::runtime::select(numbers.receive(), foliot::runtime::sleep(1s));
#endif
}
