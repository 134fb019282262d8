// The real side of the alarm of event loops: Linux.
#include <foliot/core/seam/loop_alarm.hpp>

#include <fcntl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "timer_descriptor.hpp"

namespace foliot::inline core::seam {

namespace {

int made_timer() noexcept { return ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC); }

/// Puts a new timerfd in the place of that descriptor, which is closed in any case; returns it, or -1 if the system has
/// none.
int renewed(int descriptor) noexcept {
  int made = made_timer();
  if (made < 0) {  // perhaps because this one had the last free number
    ::close(descriptor);
    made = made_timer();
  }
  if (made < 0 || made == descriptor) return made;
  const int placed = ::dup3(made, descriptor, O_CLOEXEC);
  if (placed < 0) ::close(descriptor);  // its number is not below the limit any more
  ::close(made);
  return placed;
}

}  // namespace

loop_alarm::loop_alarm() : descriptor_(made_timer()) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "foliot: cannot make a timerfd");
  witness_forks();
}

loop_alarm::~loop_alarm() {
  forget_forks();
  if (descriptor_ >= 0) ::close(descriptor_);
}

void loop_alarm::set(instant at) noexcept {
  at_.store(at.nanoseconds(), relaxed);
  if (descriptor_ >= 0) set_timer(descriptor_, at);
}

/// Here and not at the first use: an event loop that goes on in the child waits for the descriptor before it calls any
/// function of ours, and a removal from the loop's epoll instance, which the child shares with its parent, would remove
/// the parent's timerfd.
void loop_alarm::after_fork_in_child() noexcept {
  if (descriptor_ < 0) return;
  descriptor_ = renewed(descriptor_);
  set(instant::from_nanoseconds(at_.load(relaxed)));
}

}  // namespace foliot::inline core::seam
