// A call on one of the threads for calls that block: the job, and the awaiter of the task that waits for it.
//
// Thread safety: the job's thread uses it between submit and the claim of the wait, the task before and after.
#pragma once

#include <foliot/core/language.hpp>

#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/function_result.hpp>
#include <foliot/runtime/detail/task_state.hpp>
#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

/// A part of the awaiter that waits for it.
class FOLIOT_EXPORT blocking_job {
 public:
  /// Runs the call, once. The job may be destroyed when this returns.
  void run() noexcept { run_(*this); }

 protected:
  explicit blocking_job(void (*how)(blocking_job& self) noexcept) noexcept : run_(how) {}

 private:
  friend class blocking_pool;

  void (*run_)(blocking_job& self) noexcept;
  blocking_job* next_ = nullptr;
};

/// Queues the job for another thread; on virtual time runs it before this returns. Throws std::system_error or
/// std::bad_alloc if there is no thread and none can be made.
FOLIOT_EXPORT void submit(scheduler& to, blocking_job& job);

template <class Function>
class blocking_call final : public blocking_job, public task_awaiter {
  using result = std::invoke_result_t<Function&>;
  static_assert(!std::is_reference_v<result>,
                "foliot: the function for blocking() must return a value or nothing, not a reference");
  static_assert(
      fits_in_frame<result>,
      "foliot: the result of blocking() must not need a stricter alignment than operator new gives, which the "
      "frame of the waiting task does not have: return a pointer to it");
  static_assert(fits_in_frame<Function>,
                "foliot: the function for blocking() must not need a stricter alignment than operator new gives, which "
                "the frame of the waiting task does not have: capture a pointer");

 public:
  explicit blocking_call(Function function) : blocking_job(call), function_(std::move(function)) {}

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::blocking; }
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) {
    wait_.begin(who);
    try {
      submit(wait_.task().owner(), *this);
    } catch (...) {
      result_.fail(std::current_exception());
      wait_.claim(0);
    }
    return wait_.park(wait_point::interrupts::deferred);
  }
  result await_resume() {
    static_cast<void>(wait_.ended_by());  // pairs with the claim, where the call was over before the task had parked
    return result_.take();
  }

 private:
  static void call(blocking_job& self) noexcept {
    auto& mine = static_cast<blocking_call&>(self);
    mine.result_.call(mine.function_);
    mine.wait_.claim(0);
  }

  Function function_;
  wait_point wait_;
  function_result<result> result_;
};

}  // namespace foliot::runtime::detail
