// System calls that fail on demand, for an executable that is linked with failing_calls.cpp and its --wrap options.
//
//   const failing_calls no_files{call::timerfd_create, EMFILE};      // each call fails while the object exists
//   const failing_calls one{call::futex_wait, EINTR, 3, 1};          // the fourth call fails
//
// With FOLIOT_WITHOUT_MEMBARRIER in the environment, membarrier always fails, as on a system without that call.
//
// Thread safety: it counts the calls of all threads. At most one failing_calls may exist at a time.
#pragma once

#include <cstddef>
#include <limits>

namespace foliot::test {

enum class call {
  none,
  futex_wait,
  membarrier,
  timerfd_create,
  epoll_ctl,
  timerfd_read,  ///< and every other read
  prctl,
  thread,  ///< a std::thread is made
};

class failing_calls {
 public:
  /// After `succeeding` calls, `failing` calls fail with this error. With the error 0 they return success without
  /// having done anything.
  failing_calls(call which, int error, std::size_t succeeding = 0,
                std::size_t failing = std::numeric_limits<std::size_t>::max()) noexcept;
  ~failing_calls();
  failing_calls(const failing_calls&) = delete;
  failing_calls& operator=(const failing_calls&) = delete;
  /// Whether a call has failed.
  [[nodiscard]] bool failed() const noexcept;
};

/// How many file descriptors the process has.
[[nodiscard]] std::size_t open_descriptors();

}  // namespace foliot::test
