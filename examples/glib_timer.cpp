// Timers in a main loop of GLib: a watchdog that a timer of GLib's own resets three times.
#include <foliot/adapters/glib_timers.hpp>

#include <glib.h>

#include <cstdio>

using namespace std::chrono_literals;

namespace {

struct peer {
  foliot::loop_timer& idle;
  int words = 0;
};

gboolean speak(gpointer self) {
  peer& the_peer = *static_cast<peer*>(self);
  std::printf("word %d\n", ++the_peer.words);
  the_peer.idle.reset(30ms);
  return the_peer.words < 3 ? G_SOURCE_CONTINUE : G_SOURCE_REMOVE;
}

}  // namespace

int main() {
  GMainLoop* loop = g_main_loop_new(nullptr, FALSE);
  {
    foliot::glib_timers timers;
    foliot::loop_timer idle(timers, [loop] {
      std::puts("good-bye");
      g_main_loop_quit(loop);
    });
    peer the_peer{idle};
    g_timeout_add(10, speak, &the_peer);
    idle.reset(300ms);
    timers.run(loop);  // until the watchdog has fired
  }
  g_main_loop_unref(loop);
}
