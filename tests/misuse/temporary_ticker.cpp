// expect: declared with attribute 'nodiscard'
// expect with clang: ignoring temporary created by a constructor declared with 'nodiscard' attribute
#include <foliot/runtime.hpp>

#include <chrono>

foliot::task<> run() {
  using namespace std::chrono_literals;
#ifdef CORRECT
  const foliot::runtime::ticker beat{1s};
#else
  foliot::runtime::ticker{1s};  // the handle goes at once, and the ticker with it
#endif
  co_return;
}
