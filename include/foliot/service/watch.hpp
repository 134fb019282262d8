// A watch: runs a callback whenever a file descriptor is ready, on a service whose thread waits for descriptors and
// timers in one loop. `epoll-heap` is such an engine.
//
//   foliot::timer_service loop{{.engine = "epoll-heap"}};
//   foliot::watch input{loop, socket, readiness::readable, [&](readiness now) { … read until it would block … }};
//   input.modify(readiness::none);                 // not for now
//
// Of a service with several shards each has such a loop: a watch goes to the shard that its thread's timers go to, and
// one that a callback makes stays on the callback's shard. The callback runs on that shard's thread, between its
// timers, also where an executor runs those. Neither starves the other: after a turn of timers the loop looks at the
// descriptors, and after 64 of these at the timers. What it throws goes to the service's on_exception. It may begin
// before the constructor has returned: a callback that uses its own handle is made with `readiness::none`, and then
// modified. It may be called for nothing, when somebody else was quicker: make the descriptor one that does not block.
//
// Thread safety: modify, stop_and_wait and watching from any thread, also at once, and from inside callbacks; moving,
// assigning and destroying a handle need it to oneself.
// Lifetime: destroying it waits for its callback as stop_and_wait does. A watch goes before its descriptor is
// closed: the system knows the file, which may live on in another descriptor, and be told of for ever. A service that
// ends closes its watches; the handles stay valid.
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

/// What a watch runs, and what it is told. Closures of up to 24 bytes are stored without an allocation of their own.
using watch_callback = callable<void(readiness)>;

/// A function or closure that a watch can run.
template <class Function>
concept watch_function = std::invocable<std::decay_t<Function>&, readiness> || std::invocable<std::decay_t<Function>&>;

}  // namespace foliot::inline service

namespace foliot::detail {

class watcher;
struct watch_record;

/// As to_callback, of firing.hpp.
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

class FOLIOT_EXPORT watch {
 public:
  /// Empty: only assignment, destruction, stop_and_wait and `watching` mean anything.
  watch() noexcept = default;

  /// Watches `fd`; the function takes nothing or a `readiness`. Of a service that has ended it is closed from the
  /// beginning. Throws std::invalid_argument if the function is null, if the service's engine has no poller, and
  /// on virtual time; std::system_error when the system does not watch it (what is no descriptor, is watched on
  /// this shard already, or is a file that is always ready), or when the service's thread cannot be started or has no
  /// descriptor to wait with; std::bad_alloc.
  template <watch_function Function>
  watch(timer_service& service, int fd, interest what, Function&& function)
      : watch(service, fd, what, detail::to_watch_callback(std::forward<Function>(function)), from_callback{}) {}

  watch(watch&& other) noexcept : watcher_(std::move(other.watcher_)), record_(std::exchange(other.record_, nullptr)) {}
  watch& operator=(watch&& other) noexcept {
    // The old one goes last: its destruction may run what looks at this handle.
    watch old(std::move(other));
    std::swap(watcher_, old.watcher_);
    std::swap(record_, old.record_);
    return *this;
  }
  /// stop_and_wait(), and the memory comes back.
  ~watch();

  /// From now on it is told of this; what is ready already is told anew. `readiness::none`: of nothing, until the
  /// next modify. False: it has been closed. Throws std::system_error, with the watch as it was or, out of `none`,
  /// told of nothing, and std::logic_error on an empty handle.
  bool modify(interest what);

  /// Ends it for good: on return the callback does not run and will not, and all that it captured has been destroyed.
  /// What the system has told of it already finds nobody. From inside the callback it returns at once, and the captures
  /// go when the callback returns. Deadlocks if the caller holds what the running callback waits for.
  void stop_and_wait() noexcept;

  /// Whether its callback may begin, now or after a modify.
  [[nodiscard]] bool watching() const noexcept;

 private:
  struct from_callback {};
  watch(timer_service& service, int fd, interest what, watch_callback callback, from_callback);

  std::shared_ptr<detail::watcher> watcher_;
  detail::watch_record* record_ = nullptr;
};

}  // namespace foliot::inline service
