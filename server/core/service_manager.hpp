// Tells systemd the state of the server: where the environment has NOTIFY_SOCKET, one datagram for each change.
//
// Thread safety: any thread.
#pragma once

#include <chrono>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/core/instant.hpp>

namespace foliot::program {

class service_manager {
 public:
  /// Reads the environment, and opens the socket for all messages: later there may be no descriptor for one. Throws
  /// std::system_error.
  service_manager();
  ~service_manager();
  service_manager(const service_manager&) = delete;
  service_manager& operator=(const service_manager&) = delete;

  /// Sends `state`, such as "READY=1", without waiting. Returns false if that was not possible at present, as where the
  /// manager's socket is full; true also where there is no manager. The server works without it.
  [[nodiscard]] bool tell(std::string_view state) const noexcept;

 private:
  const char* path_;  // of the environment, which nobody changes; null: there is no manager
  int socket_ = -1;
};

/// Tells the service manager that the server is ready, again and again until that was possible. One task.
class readiness_notice {
 public:
  explicit readiness_notice(const service_manager& to) noexcept : to_(to) {}

  /// When to call try_to_tell() for the next time; never(): it is told.
  [[nodiscard]] instant next() const noexcept { return next_; }
  void try_to_tell() noexcept;

 private:
  const service_manager& to_;
  instant next_ = instant::earliest();
  duration pause_ = std::chrono::milliseconds(100);
};

/// Within which time the service manager wants to hear "WATCHDOG=1" again and again (WatchdogSec= of the unit); zero:
/// it does not.
[[nodiscard]] duration watchdog_time() noexcept;

}  // namespace foliot::program
