// Timers in a loop of libevent: a watchdog that a timer of libevent's own resets three times.
#include <foliot/adapters/libevent_timers.hpp>

#include <event2/event.h>

#include <cstdio>

using namespace std::chrono_literals;

namespace {

struct peer {
  foliot::loop_timer& idle;
  event* ticker = nullptr;
  int words = 0;
};

void speak(evutil_socket_t, short, void* self) {
  peer& the_peer = *static_cast<peer*>(self);
  std::printf("word %d\n", ++the_peer.words);
  the_peer.idle.reset(30ms);
  if (the_peer.words == 3) event_del(the_peer.ticker);
}

}  // namespace

int main() {
  event_base* base = event_base_new();
  {
    foliot::libevent_timers timers(base);
    foliot::loop_timer idle(timers, [] { std::puts("good-bye"); });
    peer the_peer{idle};
    the_peer.ticker = event_new(base, -1, EV_PERSIST, speak, &the_peer);
    const timeval period{0, 10'000};
    event_add(the_peer.ticker, &period);
    idle.reset(300ms);
    timers.run();  // until the watchdog has fired
    event_free(the_peer.ticker);
  }
  event_base_free(base);
}
