// Asio: one io_context for all threads, a steady_timer each. Two threads may use two timers of one context
// at the same time, but no one timer: that is seen to by `pending`, which a thread takes before it touches
// a timer that another one may have started. Each thread polls the context after 64 operations, and so runs
// the handlers of the waits that were cancelled by then, whoever's they are.
#include <chrono>
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

#include <foliot/core/seam/sync.hpp>

#include "../trials/trial_contestants.hpp"
#include "crew.hpp"

namespace foliot::program::bench {

namespace {

class shared_asio {
 public:
  struct hand {};

  explicit shared_asio(const trial& asked) : context_(asked.threads), timers_(timers_of_all(asked)) {}
  ~shared_asio() {
    for (timer& each : timers_) each.waiting.reset();
    context_.poll();  // the handlers refer to the timers
  }
  shared_asio(const shared_asio&) = delete;
  shared_asio& operator=(const shared_asio&) = delete;

  void make(std::size_t index) { timers_[index].waiting.emplace(context_); }
  void start(const hand& mine, std::size_t index, std::int64_t delay) { reset(mine, index, delay); }
  bool stop(const hand& /*mine*/, std::size_t index) {
    timer& each = timers_[index];
    // acquire: pairs with the release below, so that what the starter did to the timer is done.
    if (!each.pending.exchange(false, seam::acquire)) return false;
    each.waiting->cancel();
    return true;
  }
  void reset(const hand& /*mine*/, std::size_t index, std::int64_t delay) {
    timer& each = timers_[index];
    each.waiting->expires_after(std::chrono::nanoseconds(delay));
    each.waiting->async_wait([&each](const asio::error_code& error) {
      if (!error) each.pending.store(false, seam::relaxed);  // it has fired, and is left alone from now on
    });
    each.pending.store(true, seam::release);  // pairs with the acquire in stop()
  }
  void refresh(hand& /*mine*/) { context_.poll(); }

 private:
  struct timer {
    std::optional<asio::steady_timer> waiting;
    // Written by who starts, stops or fires it; publishes the start to who stops it.
    seam::atomic<bool> pending{false};
  };

  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> open_{context_.get_executor()};
  std::vector<timer> timers_;
};

}  // namespace

void add_shared_asio(std::vector<trial_contestant>& to) {
  to.push_back(shared_contestant("asio", [](const trial& asked) { return std::make_unique<shared_asio>(asked); }));
}

}  // namespace foliot::program::bench
