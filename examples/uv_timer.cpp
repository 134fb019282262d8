// Timers in a libuv loop: a watchdog that a timer of libuv's own resets three times.
#include <foliot/adapters/uv_timers.hpp>

#include <uv.h>

#include <cstdio>

using namespace std::chrono_literals;

namespace {

struct peer {
  foliot::loop_timer& idle;
  int words = 0;
};

void speak(uv_timer_t* ticker) {
  peer& the_peer = *static_cast<peer*>(ticker->data);
  std::printf("word %d\n", ++the_peer.words);
  the_peer.idle.reset(30ms);
  if (the_peer.words == 3) uv_close(reinterpret_cast<uv_handle_t*>(ticker), nullptr);
}

}  // namespace

int main() {
  uv_loop_t* loop = uv_default_loop();
  {
    foliot::uv_timers timers(loop);
    foliot::loop_timer idle(timers, [] { std::puts("good-bye"); });
    peer the_peer{idle};
    uv_timer_t ticker;
    uv_timer_init(loop, &ticker);
    ticker.data = &the_peer;
    uv_timer_start(&ticker, speak, 10, 10);
    idle.reset(30ms);
    timers.run();  // until the watchdog has fired
  }
  uv_run(loop, UV_RUN_DEFAULT);  // closes the timers' handle
  return uv_loop_close(loop);
}
