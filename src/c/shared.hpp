// What the sources of the C interface share: the statuses, the context of a callback, the engines, and the
// virtual clocks.
//
// Thread safety: functions of any thread; the latest error is the calling thread's.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <foliot/core/duration.hpp>
#include <foliot/core/firing.hpp>
#include <foliot/core/instant.hpp>
#include <foliot/core/outcome.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/foliot.h>
#include <foliot/service/engine_choice.hpp>

/// An engine, as the C interface names it. Never changed.
struct foliot_engine {
  foliot::engine_choice choice;
};

struct foliot_virtual_clock {
  foliot::virtual_clock itself;
};

namespace foliot::c_interface {

/// Keeps the message as the calling thread's latest error, and returns the status.
foliot_status failed(foliot_status status, const char* message) noexcept;

/// Calls `call`, and returns its status.
template <class Call>
foliot_status guarded(Call&& call) noexcept {
  try {
    std::forward<Call>(call)();
    return FOLIOT_OK;
  } catch (const std::bad_alloc&) {
    return failed(FOLIOT_NO_MEMORY, "foliot: out of memory");
  } catch (const std::length_error&) {
    return failed(FOLIOT_NO_MEMORY, "foliot: the requested size exceeds the address space");
  } catch (const std::invalid_argument& error) {
    return failed(FOLIOT_INVALID, error.what());
  } catch (const std::logic_error& error) {
    return failed(FOLIOT_NOT_ALLOWED, error.what());
  } catch (const std::system_error& error) {
    return failed(FOLIOT_SYSTEM, error.what());
  } catch (const std::exception& error) {
    return failed(FOLIOT_FAILED, error.what());
  } catch (...) {
    return failed(FOLIOT_FAILED, "foliot: an unknown exception");
  }
}

/// Throws std::invalid_argument if `pointer` is null.
inline void need(const void* pointer, const char* message) {
  if (pointer == nullptr) throw std::invalid_argument(message);
}
inline void need_handle(const void* handle) { need(handle, "foliot: the handle must not be null"); }
inline void need_result(const void* result) { need(result, "foliot: the pointer to the new handle must not be null"); }

template <class Value>
void answer(Value* result, Value value) noexcept {
  if (result != nullptr) *result = value;
}

inline foliot_stop_result in_c(stop_result result) noexcept {
  switch (result) {
    case stop_result::stopped: return FOLIOT_STOPPED;
    case stop_result::running: return FOLIOT_STOP_RUNNING;
    default: return FOLIOT_STOP_IDLE;
  }
}

inline foliot_reset_result in_c(reset_result result) noexcept {
  switch (result) {
    case reset_result::superseded: return FOLIOT_SUPERSEDED;
    case reset_result::running: return FOLIOT_RESET_RUNNING;
    case reset_result::closed: return FOLIOT_CLOSED;
    default: return FOLIOT_RESET_IDLE;
  }
}

inline duration length(std::int64_t nanoseconds) noexcept { return duration::nanoseconds(nanoseconds); }
inline instant point(std::int64_t nanoseconds) noexcept { return instant::from_nanoseconds(nanoseconds); }

/// A callback and its context, which the destructor releases. The timer and, until it returns, the create function hold
/// references.
struct binding {
  binding(foliot_callback function, void* with, foliot_release at_end) noexcept
      : callback(function), context(with), release(at_end) {}
  binding(const binding&) = delete;
  binding& operator=(const binding&) = delete;
  ~binding() {
    if (owns && release != nullptr) release(context);
  }

  foliot_callback callback;
  void* context;
  foliot_release release;
  bool owns = false;  // set when the create function has succeeded, before it drops its reference
};

/// The function that the C++ timer calls.
struct bound {
  std::shared_ptr<binding> to;
  void operator()(const firing& due) const {
    const foliot_firing firing{due.deadline.nanoseconds(), due.now.nanoseconds(), due.skipped};
    to->callback(to->context, &firing);
  }
};

/// Makes a handle of the owner, a service or a loop, by `make(bound)`; if that succeeds, the handle owns the context.
template <class Handle, class Make>
foliot_status create(const void* owner, foliot_callback callback, void* context, foliot_release release,
                     Handle** result, Make&& make) noexcept {
  return guarded([&] {
    need_handle(owner);
    need(callback == nullptr ? nullptr : owner, "foliot: a callback must not be null");
    need_result(result);
    const auto shared = std::make_shared<binding>(callback, context, release);
    *result = make(bound{shared});
    shared->owns = true;
  });
}

}  // namespace foliot::c_interface
