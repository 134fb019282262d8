// Timers in a loop of systemd's sd-event: a watchdog that a timer of the loop's own resets three times.
#include <foliot/adapters/sd_event_timers.hpp>

#include <systemd/sd-event.h>

#include <cstdint>
#include <cstdio>

using namespace std::chrono_literals;

namespace {

struct peer {
  foliot::loop_timer& idle;
  int words = 0;
};

int speak(sd_event_source* ticker, std::uint64_t, void* self) {
  peer& the_peer = *static_cast<peer*>(self);
  std::printf("word %d\n", ++the_peer.words);
  the_peer.idle.reset(30ms);
  if (the_peer.words == 3) return 0;
  sd_event_source_set_time_relative(ticker, 10'000);
  return sd_event_source_set_enabled(ticker, SD_EVENT_ONESHOT);
}

}  // namespace

int main() {
  sd_event* loop = nullptr;
  if (sd_event_default(&loop) < 0) return 1;
  int code = 0;
  {
    foliot::sd_event_timers timers(loop);
    foliot::loop_timer idle(timers, [loop] {
      std::puts("good-bye");
      sd_event_exit(loop, 0);
    });
    peer the_peer{idle};
    sd_event_source* ticker = nullptr;
    sd_event_add_time_relative(loop, &ticker, CLOCK_MONOTONIC, 10'000, 1, speak, &the_peer);
    idle.reset(300ms);
    code = timers.loop();  // until the watchdog has fired
    sd_event_source_unref(ticker);
  }
  sd_event_unref(loop);
  return code;
}
