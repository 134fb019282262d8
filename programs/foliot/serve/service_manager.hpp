// Tells systemd how the server is: where the environment has NOTIFY_SOCKET, one datagram for each change.
#pragma once

#include <string_view>

#include <foliot/core/duration.hpp>

namespace foliot::program {

/// Sends `state`, such as "READY=1", to the service manager, without waiting. Returns false if that was not possible at
/// present, as where the manager's socket is full; true also where there is no manager. The server works without it.
[[nodiscard]] bool tell_service_manager(std::string_view state) noexcept;

/// Within which time the service manager wants to hear "WATCHDOG=1" again and again (WatchdogSec= of the unit); zero:
/// it does not.
[[nodiscard]] duration watchdog_time() noexcept;

}  // namespace foliot::program
