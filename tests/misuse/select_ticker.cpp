// expect: foliot: a case of a select waits for the next instant of a timer or a ticker: write select(beat.c(), ...)
#include <foliot/runtime.hpp>

#include <chrono>

foliot::task<> run() {
  using namespace std::chrono_literals;
  foliot::runtime::ticker beat{1s};
#ifdef CORRECT
  co_await foliot::runtime::select(beat.c(), foliot::runtime::after(5s));
#else
  co_await foliot::runtime::select(beat, foliot::runtime::after(5s));
#endif
}
