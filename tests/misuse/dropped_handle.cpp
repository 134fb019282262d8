// expect: declared with attribute 'nodiscard'
// expect with clang: ignoring return value of function declared with 'nodiscard' attribute
#include <foliot/service.hpp>

using namespace std::chrono_literals;

void run(foliot::timer_service& service) {
#ifdef CORRECT
  foliot::after_func(service, 1s, [] {}).detach();
#else
  foliot::after_func(service, 1s, [] {});  // the handle goes at once, and the timer with it
#endif
}
