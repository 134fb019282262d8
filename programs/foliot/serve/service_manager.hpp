// Tells systemd how the server is: where the environment has NOTIFY_SOCKET, one datagram for each change.
#pragma once

#include <string_view>

namespace foliot::program {

/// Sends `state`, such as "READY=1", to the service manager. Does nothing where there is none, or where it cannot be
/// reached: the server works without it.
void tell_service_manager(std::string_view state) noexcept;

}  // namespace foliot::program
