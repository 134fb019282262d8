// A callback that outlives what it points to: the session is gone, its timer is not.
#include <foliot/service.hpp>

#include <cstdio>
#include <memory>

int main() {
  using namespace std::chrono_literals;
  foliot::virtual_clock clock;
  foliot::timer_service timers(clock);
  auto session = std::make_unique<int>(42);
  const foliot::timer t(timers, 1ms, [raw = session.get()] { std::printf("%d\n", *raw); });
  session.reset();
  clock.advance(1ms);
}
