// Timers in a libuv loop, to the nanosecond where uv_timer_t counts milliseconds.
//
//   foliot::uv_timers timers(uv_default_loop());
//   foliot::loop_timer idle(timers, [&] { session.close(); });
//   idle.start(30s);
//   timers.run();                            // uv_run, and what a callback has thrown
//
// All of them are one handle of the loop, a uv_poll_t on a descriptor of their own. As with uv_timer_t, the loop runs
// as long as one of them is pending, unless they were unref'ed. A start and a stop call neither the system nor libuv,
// but for a start that makes the next deadline earlier.
//
// libuv is C, and no exception may come through it: where a callback throws, the loop is stopped (uv_stop), and run, or
// rethrow after a uv_run, throws it. Nothing is lost; the next run goes on.
//
// Thread safety: none, see loop_timers.hpp: the loop's thread.
// Lifetime: they end before their loop, and not in one of their callbacks. Their handle is closed then, so that the
// loop has to run once more before uv_loop_close, as for every handle of libuv.
#pragma once

#include <foliot/core/language.hpp>

#include <uv.h>

#include <exception>
#include <memory>
#include <system_error>
#include <utility>

#include <foliot/adapters/loop_timer.hpp>
#include <foliot/adapters/loop_timers.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/seam/alarm.hpp>

namespace foliot::inline adapters {

class FOLIOT_EXPORT uv_timers final : public loop_timers {
 public:
  /// Fires at most `turn` timers before the loop looks at its other handles. Throws std::system_error where there is no
  /// descriptor, or the loop does not take it; std::bad_alloc.
  explicit uv_timers(uv_loop_t* loop, budget turn = 256) : turn_(turn), alarm_(seam::clock_id::monotonic) {
    auto handle = std::make_unique<uv_poll_t>();
    check(uv_poll_init(loop, handle.get(), alarm_.descriptor()), "foliot: uv_poll_init");
    handle_ = handle.release();
    handle_->data = this;
    uv_poll_start(handle_, UV_READABLE, &on_readable);  // fails for handles that are closing
    uv_unref(as_handle());
  }
  ~uv_timers() override {
    uv_poll_stop(handle_);  // so that the descriptor may be closed before the handle
    uv_close(as_handle(), [](uv_handle_t* closed) { delete reinterpret_cast<uv_poll_t*>(closed); });
  }

  /// uv_run on their loop, and returns its answer. Throws what a callback has thrown; the loop was stopped then.
  int run(uv_run_mode mode = UV_RUN_DEFAULT) {
    const int answer = uv_run(handle_->loop, mode);
    rethrow();
    return answer;
  }
  /// Throws what a callback has thrown since the last time, if one has. For who calls uv_run himself.
  void rethrow() {
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  /// From now on the loop may end while timers are pending; or may not, as at first.
  void unref() noexcept { hold(pending_, holds_ = false); }
  void ref() noexcept { hold(pending_, holds_ = true); }

 private:
  static void check(int status, const char* what) {
    if (status < 0) throw std::system_error(-status, std::generic_category(), what);
  }

  static void on_readable(uv_poll_t* handle, int /*status*/, int /*events*/) noexcept {
    uv_timers& timers = *static_cast<uv_timers*>(handle->data);
    try {
      timers.expire(timers.now(), timers.turn_);  // what it leaves keeps the descriptor readable
    } catch (...) {
      if (timers.failure_ == nullptr) timers.failure_ = std::current_exception();
      uv_stop(handle->loop);
    }
  }

  void wake_at(instant next) noexcept override { alarm_.set(next); }
  void any_pending(bool any) noexcept override { hold(pending_ = any, holds_); }
  void hold(bool pending, bool wanted) noexcept {
    if (pending && wanted) {
      uv_ref(as_handle());
    } else {
      uv_unref(as_handle());
    }
  }
  [[nodiscard]] uv_handle_t* as_handle() const noexcept { return reinterpret_cast<uv_handle_t*>(handle_); }

  const budget turn_;
  seam::alarm alarm_;
  uv_poll_t* handle_ = nullptr;  // libuv's from uv_close on, which frees it
  std::exception_ptr failure_;
  bool pending_ = false;
  bool holds_ = true;
};

}  // namespace foliot::inline adapters
