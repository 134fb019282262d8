// The C interface: each function calls the C++ function of the same name, and turns exceptions into a status.
#include <foliot/foliot.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/service/sleep.hpp>
#include <foliot/service/ticker.hpp>
#include <foliot/service/timer.hpp>
#include <foliot/service/timer_service.hpp>
#include <foliot/version.hpp>

struct foliot_virtual_clock {
  foliot::virtual_clock itself;
};
struct foliot_service : foliot::timer_service {
  using timer_service::timer_service;
};
struct foliot_timer : foliot::timer {
  using timer::timer;
};
struct foliot_ticker : foliot::ticker {
  using ticker::ticker;
};

namespace {

thread_local char latest_message[256] = "";  // an array, so that reporting a lack of memory allocates nothing

foliot_status failed(foliot_status status, const char* message) noexcept {
  std::snprintf(latest_message, sizeof(latest_message), "%s", message);
  return status;
}

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
void need(const void* pointer, const char* message) {
  if (pointer == nullptr) throw std::invalid_argument(message);
}
void need_handle(const void* handle) { need(handle, "foliot: the handle must not be null"); }
void need_result(const void* result) { need(result, "foliot: the pointer to the new handle must not be null"); }

template <class Value>
void answer(Value* result, Value value) noexcept {
  if (result != nullptr) *result = value;
}

foliot_stop_result in_c(foliot::stop_result result) noexcept {
  switch (result) {
    case foliot::stop_result::stopped: return FOLIOT_STOPPED;
    case foliot::stop_result::running: return FOLIOT_STOP_RUNNING;
    default: return FOLIOT_STOP_IDLE;
  }
}

foliot_reset_result in_c(foliot::reset_result result) noexcept {
  switch (result) {
    case foliot::reset_result::superseded: return FOLIOT_SUPERSEDED;
    case foliot::reset_result::running: return FOLIOT_RESET_RUNNING;
    case foliot::reset_result::closed: return FOLIOT_CLOSED;
    default: return FOLIOT_RESET_IDLE;
  }
}

foliot::duration length(std::int64_t nanoseconds) noexcept { return foliot::duration::nanoseconds(nanoseconds); }
foliot::instant point(std::int64_t nanoseconds) noexcept { return foliot::instant::from_nanoseconds(nanoseconds); }

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
  void operator()(const foliot::firing& due) const {
    const foliot_firing firing{due.deadline.nanoseconds(), due.now.nanoseconds(), due.skipped};
    to->callback(to->context, &firing);
  }
};

/// Makes a handle by `make(bound)`; if that succeeds, the handle owns the context.
template <class Handle, class Make>
foliot_status create(foliot_service* service, foliot_callback callback, void* context, foliot_release release,
                     Handle** result, Make&& make) noexcept {
  return guarded([&] {
    need_handle(service);
    need(callback == nullptr ? nullptr : service, "foliot: a callback must not be null");
    need_result(result);
    const auto shared = std::make_shared<binding>(callback, context, release);
    *result = make(bound{shared});
    shared->owns = true;
  });
}

template <class Handle>
foliot_status stop(Handle* handle, foliot_stop_result* result) noexcept {
  return guarded([&] {
    need_handle(handle);
    answer(result, in_c(handle->stop()));
  });
}

template <class Handle>
foliot_status stop_and_wait(Handle* handle, foliot_stop_result* result) noexcept {
  return guarded([&] {
    need_handle(handle);
    answer(result, in_c(handle->stop_and_wait()));
  });
}

foliot::service_options in_cpp(const foliot_service_options& from) {
  if (from.size != sizeof(from)) {
    throw std::invalid_argument(
        "foliot: foliot_service_options has a size that this library does not know: initialise the options with "
        "FOLIOT_SERVICE_OPTIONS_INIT");
  }
  foliot::service_options to;
  if (from.engine != nullptr) to.engine = from.engine;
  switch (from.clock) {
    case FOLIOT_MONOTONIC: to.clock = foliot::service_clock::monotonic; break;
    case FOLIOT_BOOTTIME: to.clock = foliot::service_clock::boottime; break;
    case FOLIOT_WALL: to.clock = foliot::service_clock::wall; break;
    default: throw std::invalid_argument("foliot: the clock must be a foliot_clock, got " + std::to_string(from.clock));
  }
  to.shards = from.shards;
  to.precise = from.precise;
  if (from.turn != 0) to.turn = from.turn;
  return to;
}

}  // namespace

extern "C" {

const char* foliot_strerror(int status) noexcept {
  switch (status) {
    case FOLIOT_OK: return "no error";
    case FOLIOT_INVALID: return "an invalid argument";
    case FOLIOT_NO_MEMORY: return "out of memory";
    case FOLIOT_SYSTEM: return "out of a resource of the system";
    case FOLIOT_NOT_ALLOWED: return "not allowed here";
    case FOLIOT_FAILED: return "failed";
  }
  return "an unknown status";
}

const char* foliot_error_message(void) noexcept { return latest_message; }
const char* foliot_version(void) noexcept { return FOLIOT_VERSION; }

// ---------------------------------------------------------------- virtual clocks

foliot_status foliot_virtual_clock_create(int64_t start, foliot_virtual_clock** result) noexcept {
  return guarded([&] {
    need_result(result);
    if (point(start).is_never()) {
      throw std::invalid_argument("foliot: the start of a virtual clock must not be FOLIOT_NEVER");
    }
    *result = new foliot_virtual_clock{foliot::virtual_clock(point(start))};
  });
}

void foliot_virtual_clock_destroy(foliot_virtual_clock* time) noexcept { delete time; }

foliot_status foliot_virtual_clock_advance(foliot_virtual_clock* time, int64_t by, size_t* fired) noexcept {
  return guarded([&] {
    need_handle(time);
    answer(fired, time->itself.advance(length(by)).fired);
  });
}

foliot_status foliot_virtual_clock_advance_to(foliot_virtual_clock* time, int64_t target, size_t limit,
                                              size_t* fired) noexcept {
  return guarded([&] {
    need_handle(time);
    answer(fired, time->itself.advance_to(point(target), limit == 0 ? foliot::unlimited : limit).fired);
  });
}

int64_t foliot_virtual_clock_now(const foliot_virtual_clock* time) noexcept {
  return time == nullptr ? 0 : time->itself.now().nanoseconds();
}

// ---------------------------------------------------------------- services

foliot_status foliot_service_create(const foliot_service_options* options, foliot_service** result) noexcept {
  return guarded([&] {
    need_result(result);
    const foliot_service_options defaults = FOLIOT_SERVICE_OPTIONS_INIT;
    const foliot_service_options& chosen = options == nullptr ? defaults : *options;
    foliot::service_options wanted = in_cpp(chosen);
    *result = chosen.virtual_time == nullptr ? new foliot_service(std::move(wanted))
                                             : new foliot_service(chosen.virtual_time->itself, std::move(wanted));
  });
}

void foliot_service_destroy(foliot_service* service) noexcept { delete service; }

foliot_status foliot_service_shut_down(foliot_service* service, size_t* dropped) noexcept {
  return guarded([&] {
    need_handle(service);
    answer(dropped, service->shut_down());
  });
}

foliot_status foliot_service_drain(foliot_service* service, int64_t at_most, size_t* dropped) noexcept {
  return guarded([&] {
    need_handle(service);
    answer(dropped, service->drain(length(at_most)));
  });
}

foliot_status foliot_service_reserve(foliot_service* service, size_t count) noexcept {
  return guarded([&] {
    need_handle(service);
    service->reserve(count);
  });
}

foliot_status foliot_service_get_counters(const foliot_service* service, foliot_service_counters* result) noexcept {
  return guarded([&] {
    need_handle(service);
    need(result, "foliot: the pointer to the counters must not be null");
    const foliot::service_counters now = service->counters();
    *result = {now.started,  now.superseded,      now.stopped,
               now.fired,    now.skipped,         now.dropped,
               now.wake_ups, now.wakes_with_work, now.wakes_without_work,
               now.pending,  now.peak_pending};
  });
}

int64_t foliot_now(const foliot_service* service) noexcept {
  return service == nullptr ? 0 : service->now().nanoseconds();
}

foliot_status foliot_sleep(foliot_service* service, int64_t by, bool* whole) noexcept {
  return guarded([&] {
    need_handle(service);
    answer(whole, foliot::sleep_for(*service, length(by)));
  });
}

// ---------------------------------------------------------------- timers

foliot_status foliot_timer_create(foliot_service* service, foliot_callback callback, void* context,
                                  foliot_release release, foliot_timer** result) noexcept {
  return create(service, callback, context, release, result,
                [&](bound job) { return new foliot_timer(*service, std::move(job)); });
}

void foliot_timer_destroy(foliot_timer* timer) noexcept { delete timer; }

void foliot_timer_detach(foliot_timer* timer) noexcept {
  if (timer != nullptr) timer->detach();
  delete timer;
}

foliot_status foliot_timer_reset(foliot_timer* timer, int64_t delay, foliot_reset_result* result) noexcept {
  return foliot_timer_reset_with_slack(timer, delay, 0, result);
}

foliot_status foliot_timer_reset_at(foliot_timer* timer, int64_t deadline, foliot_reset_result* result) noexcept {
  return guarded([&] {
    need_handle(timer);
    answer(result, in_c(timer->reset_at(point(deadline))));
  });
}

foliot_status foliot_timer_reset_with_slack(foliot_timer* timer, int64_t delay, int64_t slack,
                                            foliot_reset_result* result) noexcept {
  return guarded([&] {
    need_handle(timer);
    answer(result, in_c(timer->reset(length(delay), length(slack))));
  });
}

foliot_status foliot_timer_stop(foliot_timer* timer, foliot_stop_result* result) noexcept {
  return stop(timer, result);
}

foliot_status foliot_timer_stop_and_wait(foliot_timer* timer, foliot_stop_result* result) noexcept {
  return stop_and_wait(timer, result);
}

bool foliot_timer_pending(const foliot_timer* timer) noexcept { return timer != nullptr && timer->pending(); }

// ---------------------------------------------------------------- tickers

foliot_status foliot_ticker_create(foliot_service* service, int64_t period, foliot_callback callback, void* context,
                                   foliot_release release, foliot_ticker** result) noexcept {
  return create(service, callback, context, release, result,
                [&](bound job) { return new foliot_ticker(*service, length(period), std::move(job)); });
}

void foliot_ticker_destroy(foliot_ticker* ticker) noexcept { delete ticker; }

foliot_status foliot_ticker_reset(foliot_ticker* ticker, int64_t period, foliot_reset_result* result) noexcept {
  return guarded([&] {
    need_handle(ticker);
    answer(result, in_c(ticker->reset(length(period))));
  });
}

foliot_status foliot_ticker_stop(foliot_ticker* ticker, foliot_stop_result* result) noexcept {
  return stop(ticker, result);
}

foliot_status foliot_ticker_stop_and_wait(foliot_ticker* ticker, foliot_stop_result* result) noexcept {
  return stop_and_wait(ticker, result);
}

bool foliot_ticker_pending(const foliot_ticker* ticker) noexcept { return ticker != nullptr && ticker->pending(); }

uint64_t foliot_ticker_skipped(const foliot_ticker* ticker) noexcept {
  return ticker == nullptr ? 0 : ticker->skipped();
}

}  // extern "C"
