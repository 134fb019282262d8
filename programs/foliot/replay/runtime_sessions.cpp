#include "runtime_sessions.hpp"

#include <algorithm>
#include <utility>

#include <foliot/runtime/run.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "usage.hpp"

namespace foliot::program {

runtime_sessions::runtime_sessions(std::string timers, duration idle, session_sink sink)
    : session_tracker(idle, std::move(sink)) {
  batch_.reserve(batch_size);
  runtime::run_options options;
  options.processors = 1;
  options.timers = std::move(timers);
  options.clock = &clock_;
  options.time_jumps = false;  // time passes up to the next request, and no further
  thread_ = seam::thread("foliot-replay", [this, options] { run(options); });
}

runtime_sessions::~runtime_sessions() {
  order_ = order::leave;
  given_.wake();
  thread_.join();
}

void runtime_sessions::request(std::string_view client, instant time) {
  names_ += client;
  batch_.push_back({names_.size(), time});
  if (batch_.size() == batch_size) hand_over(order::requests);
}

void runtime_sessions::settle() {
  if (!batch_.empty()) hand_over(order::requests);
}

void runtime_sessions::finish() { hand_over(order::all_time); }

void runtime_sessions::hand_over(order what) {
  order_ = what;
  done_.clear();
  given_.wake();
  done_.sleep_until(instant::never());
  batch_.clear();
  names_.clear();
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  rethrow_failure();
}

void runtime_sessions::run(runtime::run_options options) noexcept {
  try {
    runtime::run(obey(), options);
    return;
  } catch (...) {
    failure_ = std::current_exception();
  }
  // The runtime could not begin: every order fails, until the last one.
  for (const std::exception_ptr failure = failure_; await_order(), order_ != order::leave; done_.wake()) {
    failure_ = failure;
  }
}

void runtime_sessions::await_order() noexcept {
  given_.sleep_until(instant::never());
  given_.clear();
}

runtime::task<> runtime_sessions::obey() {
  for (;;) {
    await_order();
    if (order_ == order::leave) co_return;
    const duration before = processor_time();
    try {
      co_await handle_batch();
      // All sessions that are alive end within the idle time.
      if (order_ == order::all_time) co_await runtime::advance(idle_);
    } catch (...) {
      failure_ = std::current_exception();
    }
    spent_ += processor_time() - before;
    done_.wake();
  }
}

runtime::task<> runtime_sessions::handle_batch() {
  std::size_t begin = 0;
  for (const gathered& each : batch_) {
    if (comes_later(each.time)) {
      if (now_ == instant::earliest()) {
        clock_.advance_to(each.time);  // the first request: nothing is due before it
      } else {
        co_await runtime::advance(each.time - now_);
      }
      now_ = clock_.now();
    }
    handle(std::string_view(names_).substr(begin, each.name_end - begin));
    begin = each.name_end;
  }
}

void runtime_sessions::handle(std::string_view client) {
  const std::uint64_t hash = hash_of(client);
  if (live_session* const session = go_on(client, hash)) {
    ++counters_.superseded;
    session->wakes.reset_at(deadline());
    return;
  }
  live_session& fresh = begin(client, hash);
  fresh.wakes = runtime::callback_timer([this, session = &fresh] {
    ++counters_.fired;
    --counters_.pending;
    end(*session);
  });
  fresh.wakes.reset_at(deadline());
  ++counters_.started;
  counters_.peak_pending = std::max(counters_.peak_pending, ++counters_.pending);
}

}  // namespace foliot::program
