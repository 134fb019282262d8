// expect: required for the satisfaction of 'watch_function<Function>'
// expect with clang: does not satisfy 'watch_function'
#include <foliot/service.hpp>

void run(foliot::timer_service& service, int fd) {
#ifdef CORRECT
  const foliot::watch w{service, fd, foliot::readiness::readable, [](foliot::readiness) {}};
#else
  const foliot::watch w{service, fd, foliot::readiness::readable, [](const foliot::firing&) {}};
#endif
}
