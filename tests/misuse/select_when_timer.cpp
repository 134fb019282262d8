// expect: foliot: a case of a select waits for the next instant of a timer or a ticker: write select(beat.c(), ...)
#include <foliot/runtime.hpp>

#include <chrono>

foliot::task<> run(bool waits) {
  using namespace std::chrono_literals;
  using namespace foliot::runtime;
  timer idle{30s};
#ifdef CORRECT
  co_await select(when(waits, idle.c()), after(1s));
#else
  co_await select(when(waits, idle), after(1s));
#endif
}
