// expect: foliot: nothing ends a call by blocking(): see docs/cookbook.md
#include <foliot/runtime.hpp>

#include <chrono>

int read_all();

foliot::task<int> run() {
  using namespace std::chrono_literals;
#ifdef CORRECT
  co_return co_await foliot::runtime::blocking(read_all);
#else
  auto got = co_await foliot::runtime::with_timeout(foliot::runtime::blocking(read_all), 1s);
  co_return got ? 1 : 0;
#endif
}
