// Timers in a loop of libev: a watchdog that a timer of libev's own resets three times.
#include <foliot/adapters/ev_timers.hpp>

#include <ev.h>

#include <cstdio>

using namespace std::chrono_literals;

namespace {

struct peer {
  foliot::loop_timer& idle;
  int words = 0;
};

void speak(struct ev_loop* loop, ev_timer* ticker, int) {
  peer& the_peer = *static_cast<peer*>(ticker->data);
  std::printf("word %d\n", ++the_peer.words);
  the_peer.idle.reset(30ms);
  if (the_peer.words == 3) ev_timer_stop(loop, ticker);
}

}  // namespace

int main() {
  struct ev_loop* loop = ev_loop_new(EVFLAG_AUTO);
  {
    foliot::ev_timers timers(loop);
    foliot::loop_timer idle(timers, [] { std::puts("good-bye"); });
    peer the_peer{idle};
    ev_timer ticker;
    ev_timer_init(&ticker, speak, 0.01, 0.01);
    ticker.data = &the_peer;
    ev_timer_start(loop, &ticker);
    idle.reset(300ms);
    timers.run();  // until the watchdog has fired
  }
  ev_loop_destroy(loop);
}
