// Timers in an event loop of systemd (sd-event), in O(1) and in exact order, where sd-event has two heaps and wakes up
// to 250 ms late if it is not told otherwise.
//
//   foliot::sd_event_timers timers(event);
//   foliot::loop_timer idle(timers, [&] { session.close(); });
//   idle.reset(30s);
//   timers.loop();                           // sd_event_loop; throws the exceptions of callbacks
//
// All timers together are one source of the loop, on a descriptor of their own. A start and a stop call neither the
// system nor sd-event, except a start that makes the next deadline earlier. The loop runs until sd_event_exit, as ever:
// no timer keeps it running or ends it.
//
// An exception must not pass through sd-event, which is C. If a callback throws, run() and loop() throw the exception
// when the turn is over, and rethrow() does in a program that calls sd_event_run itself. No timer is lost: the next run
// continues. The loop does not exit, since sd-event cannot begin again then.
//
// In the child of a fork sd-event refuses to run a loop of the parent, so these timers do not go on there. They may be
// destroyed, which changes nothing in the parent.
//
// Thread safety: none. They belong to the loop's thread: see loop_timers.hpp.
// Lifetime: they keep their loop alive. They must not be destroyed in a callback of theirs.
#pragma once

#include <foliot/core/language.hpp>

#include <systemd/sd-event.h>

#include <cstdint>
#include <limits>
#include <system_error>

#include <foliot/adapters/detail/c_loop_timers.hpp>
#include <foliot/adapters/loop_timer.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/export.h>

namespace foliot::inline adapters {

/// The timers of an event loop of systemd. Belongs to the loop's thread.
class FOLIOT_EXPORT sd_event_timers final : public detail::c_loop_timers {
 public:
  /// Timers of `event`, with the priority of a source; at most `turn` fire before the loop serves its other sources.
  /// Throws std::system_error if there is no file descriptor left, or no memory.
  explicit sd_event_timers(sd_event* event, std::int64_t priority = SD_EVENT_PRIORITY_NORMAL,
                           budget turn = detail::usual_turn)
      : c_loop_timers(turn) {
    throw_if_error(sd_event_add_io(event, &source_, descriptor(), EPOLLIN, &on_readable, this));
    sd_event_source_set_priority(source_, priority);            // fails only for a loop that has ended
    sd_event_source_set_description(source_, "foliot timers");  // without memory there is none
  }
  /// Ends pending timers without firing them.
  ~sd_event_timers() override { sd_event_source_disable_unref(source_); }

  /// Calls sd_event_run, which waits up to so many microseconds, and returns its result. Throws the exceptions of
  /// callbacks.
  int run(std::uint64_t longest_wait = std::numeric_limits<std::uint64_t>::max()) {
    const int result = sd_event_run(sd_event_source_get_event(source_), longest_wait);
    rethrow();
    return result;
  }
  /// Calls run() until the loop has been told to exit, and returns the code of the exit, or a negative error of
  /// sd-event. Throws the exceptions of callbacks.
  int loop() {
    sd_event* const event = sd_event_source_get_event(source_);
    for (;;) {
      const int state = sd_event_get_state(event);
      if (state < 0) return state;
      if (state == SD_EVENT_FINISHED) break;
      if (const int result = run(); result < 0) return result;
    }
    int code = 0;
    const int result = sd_event_get_exit_code(event, &code);
    return result < 0 ? result : code;
  }

 private:
  static void throw_if_error(int status) {
    if (status < 0)
      throw std::system_error(-status, std::generic_category(),
                              "foliot: cannot watch the alarm in the loop of systemd");
  }

  static int on_readable(sd_event_source* /*source*/, int /*descriptor*/, std::uint32_t /*events*/,
                         void* self) noexcept {
    static_cast<void>(static_cast<sd_event_timers*>(self)->take_turn());  // run() looks for an exception
    return 0;
  }

  sd_event_source* source_ = nullptr;
};

}  // namespace foliot::inline adapters
