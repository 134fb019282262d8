// Asio: steady_timer in an io_context: a binary heap, nanoseconds, a handler for each wait.
//
// A start is expires_after and async_wait, a stop is cancel; a reset is expires_after, which cancels the wait, and
// async_wait again. Asio calls the handlers of cancelled waits too, in the io_context::poll that refreshes the time, so
// that their cost is inside the figures. A turn is poll, and with a budget as many calls of poll_one.
//
// For threads there is one io_context and a steady_timer each. Two threads may use two timers of one context at the
// same time, but not one timer: a thread takes `pending` before it touches a timer that another thread may have
// started. Each thread polls the context after 64 operations, and so runs the handlers of all waits that were cancelled
// by then.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#define ASIO_STANDALONE
#define ASIO_NO_DEPRECATED
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/version.hpp>

#include <fmt/format.h>
#include <foliot/core/seam/sync.hpp>

#include "bench/workloads/crew.hpp"
#include "peer_loop.hpp"

namespace foliot::program::bench {

namespace {

using work_guard = asio::executor_work_guard<asio::io_context::executor_type>;

struct asio_timer {
  explicit asio_timer(asio::io_context& context) : waiting(context) {}
  asio::steady_timer waiting;
  std::uint64_t payload = 0;
  bool pending = false;
};

class asio_timers : public peer_loop<asio_timers, asio_timer> {
 public:
  using timer = asio_timer;

  explicit asio_timers(std::size_t count) {
    timers_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) timers_.emplace_back(context_);
  }

  timer& operator[](std::size_t index) noexcept { return timers_[index]; }
  void prefetch(timer& each) { __builtin_prefetch(&each, 1); }

  void start(timer& each, instant /*now*/, duration delay) {
    each.waiting.expires_after(delay.to_chrono());
    wait_for_expiry(each);
  }
  void start_overdue(timer& each, duration ago) {
    each.waiting.expires_at(asio::steady_timer::clock_type::now() - ago.to_chrono());
    wait_for_expiry(each);
  }
  bool stop(timer& each) {
    if (!each.pending) return false;
    each.waiting.cancel();
    each.pending = false;
    return true;
  }

  template <class Sink>
  void refresh(instant now, Sink&& sink) {
    expire(now, unlimited, sink);
  }
  template <class Sink>
  expiry expire(instant /*now*/, budget limit, Sink&& sink) {
    if (limit == unlimited) return {.fired = fired_in(sink, [this] { context_.poll(); })};
    bool more = true;
    const std::size_t fired = fired_in(sink, [&] {
      for (budget i = 0; i < limit && more; ++i) more = context_.poll_one() > 0;
    });
    return {.fired = fired, .more = more};
  }
  void update_time() {}  // expires_after() reads the clock
  void wait() { context_.run_one(); }

 private:
  void wait_for_expiry(timer& each) {
    each.pending = true;
    each.waiting.async_wait([this, &each](const asio::error_code& error) {
      if (error) return;  // stopped, or reset
      each.pending = false;
      fired(each);
    });
  }

  asio::io_context context_{1};
  work_guard open_{context_.get_executor()};  // a context without work would stop
  std::vector<timer> timers_;                 // after the context, so that they die first
};

// ---------------------------------------------------------------- threads

class shared_asio {
 public:
  struct hand {};

  explicit shared_asio(const request& asked) : context_(asked.threads), timers_(timers_of_all(asked)) {}
  ~shared_asio() {
    for (timer& each : timers_) each.waiting.reset();
    context_.poll();  // the handlers refer to the timers
  }
  shared_asio(const shared_asio&) = delete;
  shared_asio& operator=(const shared_asio&) = delete;

  void make(std::size_t index) { timers_[index].waiting.emplace(context_); }
  void start(const hand& mine, std::size_t index, duration delay) { reset(mine, index, delay); }
  bool stop(const hand& /*mine*/, std::size_t index) {
    timer& each = timers_[index];
    // acquire: pairs with the release below, so that what the starting thread did to the timer is done.
    if (!each.pending.exchange(false, seam::acquire)) return false;
    each.waiting->cancel();
    return true;
  }
  void reset(const hand& /*mine*/, std::size_t index, duration delay) {
    timer& each = timers_[index];
    each.waiting->expires_after(delay.to_chrono());
    each.waiting->async_wait([&each](const asio::error_code& error) {
      if (!error) each.pending.store(false, seam::relaxed);  // it has fired: no thread stops it from now on
    });
    each.pending.store(true, seam::release);  // pairs with the acquire in stop()
  }
  void refresh(hand& /*mine*/) { context_.poll(); }

 private:
  struct timer {
    std::optional<asio::steady_timer> waiting;
    // Written by the thread that starts, stops or fires it; publishes the start to the thread that stops it.
    seam::atomic<bool> pending{false};
  };

  asio::io_context context_;
  work_guard open_{context_.get_executor()};
  std::vector<timer> timers_;
};

}  // namespace

void add_asio(roster& to) {
  add_loop<asio_timers>(to, "asio",
                        fmt::format("{}.{}.{}", ASIO_VERSION / 100'000, ASIO_VERSION / 100 % 1000, ASIO_VERSION % 100),
                        "on real time, so W2 is flattered");
  to.add("asio", shared_by_threads([](const request& asked) { return std::make_unique<shared_asio>(asked); }));
}

}  // namespace foliot::program::bench
