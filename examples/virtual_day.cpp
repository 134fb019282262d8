// Three days of timeouts in no time: the code of a server on a virtual clock, with the same result each time.
#include <foliot/service.hpp>

#include <cstdio>

int main() {
  using namespace std::chrono_literals;
  foliot::virtual_clock clock;
  foliot::timer_service timers(clock);

  int renewals = 0;
  foliot::timer lease(timers, 24h, [] { std::puts("the lease ran out"); });
  foliot::ticker renewal(timers, 1h, [&] {
    lease.reset(24h);
    if (++renewals == 48) renewal.stop();
  });

  clock.advance(71h);
  std::printf("after 71 hours: %d renewals, the lease is %s\n", renewals, lease.pending() ? "good" : "gone");
  clock.advance(1h);
  std::printf("after 72 hours: the lease is %s\n", lease.pending() ? "good" : "gone");
}
