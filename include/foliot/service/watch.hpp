// A watch: runs a callback whenever a file descriptor is ready, on a service whose threads wait for descriptors and
// timers in one loop. `epoll-heap` is such an engine.
//
//   foliot::timer_service loop{{.engine = "epoll-heap"}};
//   foliot::watch input{loop, socket, readiness::readable, [&](readiness now) { … read until it would block … }};
//   input.modify(readiness::none);                 // not for now
//
// The callback runs on the thread of the shard that the thread which made the watch is assigned to, between the shard's
// timers, also where an executor runs the callbacks of timers. Neither starves the other: after one turn of timers the
// loop looks at the descriptors, and after at most 64 descriptors at the timers. Exceptions of the callback go to
// service_options::on_exception.
//
// The callback may begin before the constructor has returned: make a watch whose callback uses its own handle with
// `readiness::none`, then modify it. The callback may be called although the descriptor is not ready any more, if other
// code has read from it meanwhile: the descriptor should be non-blocking.
//
// Thread safety: modify, stop_and_wait and watching from any thread, also at once, and from inside callbacks. No other
// thread may use the handle while it is moved, assigned or destroyed.
// Lifetime: destroying a watch waits for its callback as stop_and_wait does. A watch must be destroyed or stopped
// before its descriptor is closed: the kernel watches the open file, which may stay open by way of another descriptor,
// and would be reported for ever. A service that ends closes its watches; their handles stay valid.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <foliot/core/callable.hpp>
#include <foliot/core/export.h>
#include <foliot/core/readiness.hpp>

namespace foliot::inline service {

class timer_service;

/// The callback of a watch; its argument is what the descriptor is ready for. Closures of up to 24 bytes are stored
/// without an allocation of their own.
using watch_callback = callable<void(readiness)>;

/// A function or closure that a watch can run.
template <class Function>
concept watch_function = std::invocable<std::decay_t<Function>&, readiness> || std::invocable<std::decay_t<Function>&>;

}  // namespace foliot::inline service

namespace foliot::detail {

class watcher;
struct watch_record;

/// As to_callback in firing.hpp.
template <watch_function Function>
watch_callback to_watch_callback(Function&& function) {
  using stored = std::decay_t<Function>;
  refuse_null<stored>(function);
  if constexpr (std::invocable<stored&, readiness>) {
    return watch_callback(std::forward<Function>(function));
  } else {
    return watch_callback([kept = stored(std::forward<Function>(function))](readiness) mutable { kept(); });
  }
}

}  // namespace foliot::detail

namespace foliot::inline service {

/// A file descriptor and the callback that runs when it is ready. A move-only handle.
class FOLIOT_EXPORT watch {
 public:
  /// An empty handle, for assignment. `stop_and_wait` and `watching` may be called, and find nothing to do.
  watch() noexcept = default;

  /// Watches `fd`; the function takes nothing or a `readiness`. If the service has ended, the watch is closed from the
  /// beginning. Throws std::invalid_argument if the function is null, if the service's engine has no poller, and on
  /// virtual time; std::system_error if the system refuses the descriptor (it is not open, is watched on this shard
  /// already, or is a file that is always ready), or if the service's thread cannot be started or gets no descriptor to
  /// wait with; std::bad_alloc.
  template <watch_function Function>
  watch(timer_service& service, int fd, interest what, Function&& function)
      : watch(service, fd, what, detail::to_watch_callback(std::forward<Function>(function)), from_callback{}) {}

  watch(watch&& other) noexcept : watcher_(std::move(other.watcher_)), record_(std::exchange(other.record_, nullptr)) {}
  watch& operator=(watch&& other) noexcept {
    // The old watch is destroyed last: the destructors of its captures may use this handle.
    watch old(std::move(other));
    std::swap(watcher_, old.watcher_);
    std::swap(record_, old.record_);
    return *this;
  }
  /// As stop_and_wait, and frees the watch.
  ~watch();

  /// Changes what the watch waits for; if the descriptor is ready for it already, the callback is called again.
  /// `readiness::none` means nothing, until the next modify. Returns false if the watch is closed. Any thread. Throws
  /// std::logic_error on an empty handle, and std::system_error if the system refuses: the watch is then as it was or,
  /// if it waited for nothing, still waits for nothing.
  bool modify(interest what);

  /// Closes the watch: on return its callback does not run and will not run again, and everything that it captured has
  /// been destroyed. From inside the callback itself it returns at once, and the captures are destroyed when the
  /// callback returns. Any thread. Deadlocks if the caller holds a lock that the running callback waits for.
  void stop_and_wait() noexcept;

  /// Whether the callback may begin, now or after a modify. Any thread.
  [[nodiscard]] bool watching() const noexcept;

 private:
  struct from_callback {};
  watch(timer_service& service, int fd, interest what, watch_callback callback, from_callback);

  std::shared_ptr<detail::watcher> watcher_;
  detail::watch_record* record_ = nullptr;
};

}  // namespace foliot::inline service
