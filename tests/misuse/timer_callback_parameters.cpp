// expect: required for the satisfaction of 'timer_function<Function>'
// expect with clang: does not satisfy 'timer_function'
#include <foliot/service.hpp>

using namespace std::chrono_literals;

void run(foliot::timer_service& service) {
#ifdef CORRECT
  const foliot::timer t{service, 1s, [](const foliot::firing&) {}};
#else
  const foliot::timer t{service, 1s, [](int) {}};
#endif
}
