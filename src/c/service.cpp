// The C interface of services: each function calls the C++ function of the same name, and turns exceptions into a
// status.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <foliot/foliot.h>
#include <foliot/service/sleep.hpp>
#include <foliot/service/ticker.hpp>
#include <foliot/service/timer.hpp>
#include <foliot/service/timer_service.hpp>

#include "shared.hpp"

struct foliot_service : foliot::timer_service {
  using timer_service::timer_service;
};
struct foliot_timer : foliot::timer {
  using timer::timer;
};
struct foliot_ticker : foliot::ticker {
  using ticker::ticker;
};

using namespace foliot::c_interface;

namespace {

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
  if (from.engine != nullptr) to.engine = from.engine->choice;
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
    *result = {now.started, now.superseded,  now.stopped,  now.fired,           now.skipped,
               now.dropped, now.refused,     now.wake_ups, now.wakes_with_work, now.wakes_without_work,
               now.pending, now.peak_pending};
  });
}

int64_t foliot_service_now(const foliot_service* service) noexcept {
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
