// The C interface of timers in a program's own event loop: each function calls the C++ function of the same name, and
// turns exceptions into a status.
#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

#include <foliot/adapters/epoll_timers.hpp>
#include <foliot/adapters/loop_ticker.hpp>
#include <foliot/adapters/loop_timer.hpp>
#include <foliot/adapters/loop_timers.hpp>
#include <foliot/foliot.h>

#include "shared.hpp"

struct foliot_loop {
  std::unique_ptr<foliot::loop_timers> timers;
  const foliot::epoll_timers* with_descriptor = nullptr;  // the same, if the loop has a descriptor
};
struct foliot_loop_timer {
  foliot::loop_timer itself;
};
struct foliot_loop_ticker {
  foliot::loop_ticker itself;
};

using namespace foliot::c_interface;

namespace {

std::unique_ptr<foliot_loop> make_loop(const foliot_loop_options& from) {
  if (from.size != sizeof(from)) {
    throw std::invalid_argument(
        "foliot: foliot_loop_options has a size that this library does not know: initialise the options with "
        "FOLIOT_LOOP_OPTIONS_INIT");
  }
  auto made = std::make_unique<foliot_loop>();
  if (from.virtual_time != nullptr) {
    if (from.descriptor) {
      throw std::invalid_argument(
          "foliot: a loop on a virtual clock has no descriptor: leave out descriptor or virtual_time");
    }
    made->timers = std::make_unique<foliot::loop_timers>(from.virtual_time->itself);
  } else if (from.descriptor) {
    auto with_descriptor = std::make_unique<foliot::epoll_timers>();
    made->with_descriptor = with_descriptor.get();
    made->timers = std::move(with_descriptor);
  } else {
    made->timers = std::make_unique<foliot::loop_timers>();
  }
  return made;
}

template <class Handle>
foliot_status stop(Handle* handle, foliot_stop_result* result) noexcept {
  return guarded([&] {
    need_handle(handle);
    answer(result, in_c(handle->itself.stop()));
  });
}

}  // namespace

extern "C" {

foliot_status foliot_loop_create(const foliot_loop_options* options, foliot_loop** result) noexcept {
  return guarded([&] {
    need_result(result);
    const foliot_loop_options defaults = FOLIOT_LOOP_OPTIONS_INIT;
    *result = make_loop(options == nullptr ? defaults : *options).release();
  });
}

void foliot_loop_destroy(foliot_loop* loop) noexcept { delete loop; }

int64_t foliot_loop_now(const foliot_loop* loop) noexcept {
  return loop == nullptr ? 0 : loop->timers->now().nanoseconds();
}

int64_t foliot_loop_next_deadline(foliot_loop* loop) noexcept {
  return loop == nullptr ? FOLIOT_NEVER : loop->timers->next_deadline().nanoseconds();
}

int64_t foliot_loop_timeout(foliot_loop* loop) noexcept {
  if (loop == nullptr) return FOLIOT_NEVER;
  const foliot::instant next = loop->timers->next_deadline();
  if (next.is_never()) return FOLIOT_NEVER;
  return std::max(foliot::duration::zero(), next - loop->timers->now()).count();
}

int foliot_loop_timeout_ms(foliot_loop* loop) noexcept {
  const std::int64_t left = foliot_loop_timeout(loop);
  if (left == FOLIOT_NEVER) return -1;
  const std::int64_t rounded_up = left / FOLIOT_MILLISECOND + (left % FOLIOT_MILLISECOND > 0 ? 1 : 0);
  return static_cast<int>(std::min<std::int64_t>(rounded_up, std::numeric_limits<int>::max()));
}

int foliot_loop_fd(const foliot_loop* loop) noexcept {
  return loop == nullptr || loop->with_descriptor == nullptr ? -1 : loop->with_descriptor->fd();
}

foliot_status foliot_loop_expire(foliot_loop* loop, size_t limit, size_t* fired, bool* more) noexcept {
  return guarded([&] {
    need_handle(loop);
    foliot::loop_timers& timers = *loop->timers;
    const foliot::expiry turn = timers.expire(timers.now(), limit == 0 ? foliot::unlimited : limit);
    answer(fired, turn.fired);
    answer(more, turn.more);
  });
}

size_t foliot_loop_pending(const foliot_loop* loop) noexcept { return loop == nullptr ? 0 : loop->timers->size(); }

foliot_status foliot_loop_reserve(foliot_loop* loop, size_t count) noexcept {
  return guarded([&] {
    need_handle(loop);
    loop->timers->reserve(count);
  });
}

// ---------------------------------------------------------------- timers

foliot_status foliot_loop_timer_create(foliot_loop* loop, foliot_callback callback, void* context,
                                       foliot_release release, foliot_loop_timer** result) noexcept {
  return create(loop, callback, context, release, result,
                [&](bound job) { return new foliot_loop_timer{{*loop->timers, std::move(job)}}; });
}

void foliot_loop_timer_destroy(foliot_loop_timer* timer) noexcept { delete timer; }

foliot_status foliot_loop_timer_reset(foliot_loop_timer* timer, int64_t delay, foliot_reset_result* result) noexcept {
  return guarded([&] {
    need_handle(timer);
    answer(result, in_c(timer->itself.reset(length(delay))));
  });
}

foliot_status foliot_loop_timer_reset_at(foliot_loop_timer* timer, int64_t deadline,
                                         foliot_reset_result* result) noexcept {
  return guarded([&] {
    need_handle(timer);
    answer(result, in_c(timer->itself.reset_at(point(deadline))));
  });
}

foliot_status foliot_loop_timer_stop(foliot_loop_timer* timer, foliot_stop_result* result) noexcept {
  return stop(timer, result);
}

bool foliot_loop_timer_pending(const foliot_loop_timer* timer) noexcept {
  return timer != nullptr && timer->itself.pending();
}

// ---------------------------------------------------------------- tickers

foliot_status foliot_loop_ticker_create(foliot_loop* loop, int64_t period, foliot_callback callback, void* context,
                                        foliot_release release, foliot_loop_ticker** result) noexcept {
  return create(loop, callback, context, release, result,
                [&](bound job) { return new foliot_loop_ticker{{*loop->timers, length(period), std::move(job)}}; });
}

void foliot_loop_ticker_destroy(foliot_loop_ticker* ticker) noexcept { delete ticker; }

foliot_status foliot_loop_ticker_reset(foliot_loop_ticker* ticker, int64_t period,
                                       foliot_reset_result* result) noexcept {
  return guarded([&] {
    need_handle(ticker);
    answer(result, in_c(ticker->itself.reset(length(period))));
  });
}

foliot_status foliot_loop_ticker_reset_at(foliot_loop_ticker* ticker, int64_t first, int64_t period,
                                          foliot_reset_result* result) noexcept {
  return guarded([&] {
    need_handle(ticker);
    answer(result, in_c(ticker->itself.reset_at(point(first), length(period))));
  });
}

foliot_status foliot_loop_ticker_stop(foliot_loop_ticker* ticker, foliot_stop_result* result) noexcept {
  return stop(ticker, result);
}

bool foliot_loop_ticker_pending(const foliot_loop_ticker* ticker) noexcept {
  return ticker != nullptr && ticker->itself.pending();
}

uint64_t foliot_loop_ticker_skipped(const foliot_loop_ticker* ticker) noexcept {
  return ticker == nullptr ? 0 : ticker->itself.skipped();
}

}  // extern "C"
