// Timers in a libuv loop, precise to the nanosecond, where uv_timer_t counts milliseconds.
//
//   foliot::uv_timers timers(uv_default_loop());
//   foliot::loop_timer idle(timers, [&] { session.close(); });
//   idle.reset(30s);
//   timers.run();                            // uv_run; throws the exceptions of callbacks
//
// All timers together are one handle of the loop, a uv_poll_t on a descriptor of their own. As with uv_timer_t, the
// loop runs as long as a timer is pending, unless unref() was called. A start and a stop call neither the system nor
// libuv, except a start that makes the next deadline earlier.
//
// An exception must not pass through libuv, which is C. If a callback throws, the loop is stopped (uv_stop); then
// run(), or rethrow() after a uv_run, throws the exception. No timer is lost: the next run continues.
//
// In the child of a fork the timers are a copy of the parent's, pending as there, with a descriptor of their own, and
// go on as libuv's own timers do: after uv_loop_fork. If the system has no descriptor for the child, the timers do not
// go on there, and run() and rethrow() throw std::runtime_error.
//
// Thread safety: none. They belong to the loop's thread: see loop_timers.hpp.
// Lifetime: they must be destroyed before their loop is closed, and not in a callback of theirs. The destructor closes
// their handle, so the loop must run once more before uv_loop_close, as for every handle of libuv. A program that
// closes all handles of a loop must destroy them first: a handle that is closed twice aborts the process.
#pragma once

#include <foliot/core/language.hpp>

#include <uv.h>

#include <memory>
#include <system_error>

#include <foliot/adapters/detail/c_loop_timers.hpp>
#include <foliot/adapters/loop_timer.hpp>
#include <foliot/core/expiry.hpp>
#include <foliot/core/export.h>

namespace foliot::inline adapters {

/// The timers of a libuv loop. Belongs to the loop's thread.
class FOLIOT_EXPORT uv_timers final : public detail::c_loop_timers {
 public:
  /// Timers of `loop`, of which at most `turn` fire before the loop polls its other handles. Throws std::system_error
  /// if there is no file descriptor left or the loop refuses the descriptor, and std::bad_alloc.
  explicit uv_timers(uv_loop_t* loop, budget turn = detail::usual_turn) : c_loop_timers(turn), loop_(loop) {
    auto handle = std::make_unique<uv_poll_t>();
    throw_if_error(uv_poll_init(loop, handle.get(), descriptor()),
                   "foliot: cannot watch the alarm in the loop of libuv");
    handle_ = handle.release();
    handle_->data = this;
    uv_poll_start(handle_, UV_READABLE, &on_readable);  // fails only for handles that are closing
    uv_unref(as_handle());
  }
  /// Ends pending timers without firing them, and closes the handle.
  ~uv_timers() override { close_handle(); }

  /// Calls uv_run for the timers' loop and returns its result. If a callback throws, stops the loop and throws that
  /// exception.
  int run(uv_run_mode mode = UV_RUN_DEFAULT) {
    const int result = uv_run(loop_, mode);
    rethrow();
    return result;
  }

  /// Lets the loop end while timers are pending.
  void unref() noexcept {
    keeps_loop_ = false;
    update_ref();
  }
  /// Keeps the loop running while timers are pending, which is the default.
  void ref() noexcept {
    keeps_loop_ = true;
    update_ref();
  }

 private:
  static void throw_if_error(int status, const char* what) {
    if (status < 0) throw std::system_error(-status, std::generic_category(), what);
  }

  static void on_readable(uv_poll_t* handle, int /*status*/, int /*events*/) noexcept {
    if (!static_cast<uv_timers*>(handle->data)->take_turn()) uv_stop(handle->loop);
  }

  void any_pending(bool any) noexcept override {
    pending_ = any;
    update_ref();
  }
  void update_ref() noexcept {
    if (handle_ == nullptr) return;
    if (pending_ && keeps_loop_) {
      uv_ref(as_handle());
    } else {
      uv_unref(as_handle());
    }
  }
  void lose_descriptor() noexcept override { close_handle(); }
  /// Before the descriptor is closed in this process; in a child, before its loop runs: libuv aborts a process whose
  /// loop watches a closed descriptor.
  void close_handle() noexcept {
    if (handle_ == nullptr) return;
    uv_close(as_handle(), [](uv_handle_t* closed) { delete reinterpret_cast<uv_poll_t*>(closed); });
    handle_ = nullptr;
  }
  [[nodiscard]] uv_handle_t* as_handle() const noexcept { return reinterpret_cast<uv_handle_t*>(handle_); }

  uv_loop_t* const loop_;
  uv_poll_t* handle_ = nullptr;  // null from uv_close on: then libuv owns it, until the close callback deletes it
  bool pending_ = false;
  bool keeps_loop_ = true;
};

}  // namespace foliot::inline adapters
