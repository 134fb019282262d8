// expect: declared with attribute 'nodiscard'
// expect with clang: ignoring temporary created by a constructor declared with 'nodiscard' attribute
#include <foliot/service.hpp>

#include <chrono>

void arm(foliot::timer_service& timers) {
  using namespace std::chrono_literals;
#ifdef CORRECT
  const foliot::pinned_timer t(timers, 1s, [] {});
  static_cast<void>(t);
#else
  foliot::pinned_timer(timers, 1s, [] {});
#endif
}
