// expect: declared with attribute 'nodiscard'
// expect with clang: ignoring temporary created by a constructor declared with 'nodiscard' attribute
#include <foliot/service.hpp>

#include <chrono>

void run(foliot::timer_service& service) {
  using namespace std::chrono_literals;
#ifdef CORRECT
  foliot::timer{service, 1s, [] {}}.detach();
#else
  foliot::timer{service, 1s, [] {}};  // the handle goes at once, and the timer with it
#endif
}
