// Asio: steady_timer in an io_context: a binary heap, nanoseconds, a handler for each wait.
//
// A start is expires_after and async_wait, a stop is cancel; a reset is expires_after, which cancels the
// wait, and async_wait again. Cancelled waits are delivered as handlers, by the io_context::poll that
// refreshes the time, so that their cost is inside the figures. A turn is poll, and with a budget so
// many poll_one.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#define ASIO_STANDALONE
#define ASIO_NO_DEPRECATED
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/version.hpp>

#include "../bout_of.hpp"
#include "contestants.hpp"
#include "peer_firing.hpp"

namespace foliot::program::bench {

namespace {

class asio_timers {
 public:
  struct timer {
    explicit timer(asio::io_context& context) : waiting(context) {}
    asio::steady_timer waiting;
    std::uint64_t payload = 0;
    bool pending = false;
  };
  static constexpr time_kind time = time_kind::real_time;

  explicit asio_timers(std::size_t count) {
    timers_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) timers_.emplace_back(context_);
  }

  timer& operator[](std::size_t index) noexcept { return timers_[index]; }

  void start(timer& each, std::int64_t /*now*/, std::int64_t delay) {
    each.waiting.expires_after(std::chrono::nanoseconds(delay));
    wait(each);
  }
  void start_overdue(timer& each, std::int64_t ago) {
    each.waiting.expires_at(asio::steady_timer::clock_type::now() - std::chrono::nanoseconds(ago));
    wait(each);
  }
  bool stop(timer& each) {
    if (!each.pending) return false;
    each.waiting.cancel();
    each.pending = false;
    return true;
  }
  void reset(timer& each, std::int64_t now, std::int64_t delay) { start(each, now, delay); }

  void prefetch(timer& each) { __builtin_prefetch(&each, 1); }
  template <class Sink>
  void refresh(std::int64_t now, Sink&& sink) {
    expire(now, unlimited, sink);
  }
  template <class Sink>
  expiry expire(std::int64_t /*now*/, budget limit, Sink&& sink) {
    if (limit == unlimited) return {.fired = firing_.during(sink, [this] { context_.poll(); })};
    bool more = true;
    const std::size_t fired = firing_.during(sink, [&] {
      for (budget i = 0; i < limit && more; ++i) more = context_.poll_one() > 0;
    });
    return {.fired = fired, .more = more};
  }

 private:
  void wait(timer& each) {
    each.pending = true;
    each.waiting.async_wait([this, &each](const asio::error_code& error) {
      if (error) return;  // stopped, or reset
      each.pending = false;
      firing_(each);
    });
  }

  using work_guard = asio::executor_work_guard<asio::io_context::executor_type>;

  asio::io_context context_{1};
  work_guard open_{context_.get_executor()};  // a context that has run dry would stop
  std::vector<timer> timers_;                 // after the context, so that they die first
  peer_firing<timer> firing_;
};

std::string version() {
  return std::to_string(ASIO_VERSION / 100'000) + '.' + std::to_string(ASIO_VERSION / 100 % 1000) + '.' +
         std::to_string(ASIO_VERSION % 100);
}

}  // namespace

void add_asio(std::vector<contestant>& to) {
  to.push_back(make_contestant<asio_timers>("asio", version(), "on real time, so W2 is flattered"));
}

}  // namespace foliot::program::bench
