// A timer in virtual time, with the package of Conan.
#include <foliot/service.hpp>
#include <foliot/version.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

int main() {
  foliot::virtual_clock clock;
  foliot::timer_service timers{clock};
  int fired = 0;
  const foliot::timer lease{timers, 24h, [&fired] { ++fired; }};
  clock.advance(24h);
  if (fired != 1) return 1;
  std::printf("foliot %s works\n", FOLIOT_VERSION);
}
