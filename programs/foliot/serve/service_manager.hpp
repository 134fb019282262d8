// Tells systemd how the server is: where the environment has NOTIFY_SOCKET, one datagram for each change.
#pragma once

#include <string_view>

#include <foliot/core/duration.hpp>

namespace foliot::program {

/// Sends `state`, such as "READY=1", to the service manager. Does nothing where there is none, or where it cannot be
/// reached: the server works without it. Waits for room in the manager's socket, unless the message `may_be_lost`.
void tell_service_manager(std::string_view state, bool may_be_lost = false) noexcept;

/// Within which time the service manager wants to hear "WATCHDOG=1" again and again (WatchdogSec= of the unit); zero:
/// it does not.
[[nodiscard]] duration watchdog_time() noexcept;

}  // namespace foliot::program
