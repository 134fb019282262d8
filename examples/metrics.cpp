// Metrics each ten seconds, on the full ten seconds.
//
// Two traps. A timer that its callback starts again ten seconds later drifts: each round is longer by the time that the
// report takes, and a day has fewer reports than it should. A ticker keeps its grid. And a machine that stands still
// misses ticks: the ticker fires once, late, counts the others in `skipped`, and is on the grid again. So a rate is
// divided by the time that has really passed, not by the period.
#include <foliot/service.hpp>

#include <cstdio>

using namespace std::chrono_literals;

int in_seconds(foliot::duration length) { return static_cast<int>(length / foliot::duration(1s)); }

int main() {
  foliot::virtual_clock clock;
  foliot::timer_service timers(clock);
  const foliot::instant start = clock.now();
  int requests = 0;

  const foliot::ticker report(timers, 10s, [&, counted = 0, from = start](const foliot::firing& tick) mutable {
    const int rate = (requests - counted) / in_seconds(tick.now - from);
    counted = requests;
    from = tick.now;
    std::printf("at %d s: %d requests a second, %d s late, %d skipped\n", in_seconds(tick.deadline - start), rate,
                in_seconds(tick.lateness()), static_cast<int>(tick.skipped));
    clock.stall(70ms);  // the report takes a while, and the grid stays
  });

  const auto serve_until = [&](int second) {
    for (int now = in_seconds(clock.now() - start); now < second;) {
      requests += 50;
      clock.advance_to(start + 1s * ++now);
    }
  };
  serve_until(35);
  clock.stall(27s);   // the machine stands still until second 62
  clock.advance(0s);  // and goes on
  serve_until(80);
  std::printf("%d reports skipped\n", static_cast<int>(report.skipped()));
}
