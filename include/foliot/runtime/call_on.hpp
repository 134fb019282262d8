// Posts a function back to an executor outside of the runtime, such as an event loop or a thread pool, and waits for
// its result.
//
//   const auto loop = [&reactor](posted_call job) { reactor.post(std::move(job)); };
//   …
//   auto show = [&window, text] { return window.show(text); };
//   const bool shown = co_await call_on(loop, std::move(show));     // the function runs in the loop's thread
//
// The executor is a function that takes the job and calls it once, on any thread, at once or later. It is called by the
// worker of the task, and must not block. A task that needs no result calls the loop's own function instead, as any
// code does: `reactor.post([window, text] { … })`.
//
// - A job that is destroyed without having been called ends the wait with call_dropped; and so does a loop that ends
//   with jobs in its queue, if it destroys them. What the executor throws reaches the task, also if it has called the
//   job; the result of the function is dropped then, or its exception. A job that has not begun does nothing.
// - Nothing ends the wait early: a stop or a timeout is seen by the next one. When the main task has ended, a function
//   that has begun is waited for; one that has not is not called, and is destroyed with its task, after which the job
//   does nothing. So the function must not wait for the end of the runtime.
// - On virtual time the wait counts as one for a descriptor: time advances to the next deadline, and without one the
//   run waits for the job.
//
// Thread safety: any thread may call or destroy a job; the rest is the task's. The service's executors
// (service/executor.hpp) have the same form: a generic lambda serves as both.
// Complexity: O(1); one allocation for each call.
#pragma once

#include <foliot/core/language.hpp>

#include <coroutine>
#include <exception>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/detail/frame.hpp>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/function_result.hpp>
#include <foliot/runtime/detail/intrusive_ptr.hpp>
#include <foliot/runtime/detail/reference_count.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime {

/// The executor destroyed the job of a call_on() without having called it.
class FOLIOT_EXPORT call_dropped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

template <class Executor, class Function>
class executor_call;

/// The call of a task, as its job sees it: a part of the awaiter.
class outside_call {
 public:
  outside_call(const outside_call&) = delete;
  outside_call& operator=(const outside_call&) = delete;

 protected:
  explicit outside_call(void (*how)(outside_call& self) noexcept) noexcept : run_(how) {}
  ~outside_call() = default;

  wait_point wait_;

 private:
  friend class call_link;

  void (*run_)(outside_call& self) noexcept;
};

/// What the awaiter and the job share: which of them is still there, and whether the function has run.
class call_link : public pooled {
 public:
  enum class progress : std::uint8_t { posted, running, returned, dropped };

  explicit call_link(outside_call& call) noexcept : call_(&call) {}

  void retain() noexcept { references_.retain(); }
  void release() noexcept {
    if (references_.release()) delete this;
  }

  /// Runs the function, unless the task is gone. Called by the job, once.
  void run() noexcept {
    outside_call* call = nullptr;
    {
      const lock held(lock_);
      if (call_ == nullptr) return;
      progress_ = progress::running;
      call = call_;
    }
    call->run_(*call);  // the awaiter waits until this has returned
    end(progress::returned);
  }
  /// The job was destroyed before it ran.
  void drop() noexcept { end(progress::dropped); }

  /// Detaches the awaiter. Returns how far the job has come; waits for it while the function runs. Called by the task.
  progress detach() noexcept {
    lock held(lock_);
    while (progress_ == progress::running) {
      returned_.clear();
      detaches_ = true;
      held.leave();
      returned_.sleep_until(instant::never());
      held.enter();
    }
    call_ = nullptr;
    return progress_;
  }
  /// Whether the job has not begun; then it does nothing from now on.
  [[nodiscard]] bool withdraw() noexcept {
    const lock held(lock_);
    if (progress_ != progress::posted) return false;
    call_ = nullptr;
    return true;
  }

 private:
  void end(progress how) noexcept {
    const lock held(lock_);  // the awaiter takes it before it goes
    if (call_ == nullptr) return;
    progress_ = how;
    if (detaches_) {
      returned_.wake();
    } else {
      call_->wait_.claim(0);
    }
  }

  mutex lock_{lock_rank::object};
  outside_call* call_ FOLIOT_GUARDED_BY(lock_);  // null once the task has gone on
  progress progress_ FOLIOT_GUARDED_BY(lock_) = progress::posted;
  bool detaches_ FOLIOT_GUARDED_BY(lock_) = false;
  note returned_;  // for the awaiter that is destroyed while the function runs
  reference_count references_{1};
};

}  // namespace detail

/// What the executor of a call_on() gets: a move-only function object, for any thread. Only call_on() makes jobs.
class posted_call {
 public:
  posted_call(posted_call&&) noexcept = default;
  posted_call& operator=(posted_call&& other) noexcept {
    std::swap(link_, other.link_);
    return *this;
  }
  /// Ends the wait of the task, unless the job was called.
  ~posted_call() {
    if (link_) link_->drop();
  }

  /// Calls the function, unless the task is gone. Its exceptions go to the task. A second call does nothing.
  void operator()() noexcept {
    if (const auto link = std::exchange(link_, {})) link->run();
  }

 private:
  template <class Executor, class Function>
  friend class detail::executor_call;

  explicit posted_call(detail::intrusive_ptr<detail::call_link> link) noexcept : link_(std::move(link)) {}

  detail::intrusive_ptr<detail::call_link> link_;
};

namespace detail {

/// Waits for the job of a call_on().
template <class Executor, class Function>
class executor_call final : private outside_call, public task_awaiter {
  using result = std::invoke_result_t<Function&>;
  static_assert(!std::is_reference_v<result>,
                "foliot: the function for call_on() must return a value or nothing, not a reference");
  static_assert(fits_in_frame<result> && fits_in_frame<Function> && fits_in_frame<Executor>,
                "foliot: the executor of call_on(), the function and its result must not need a stricter alignment "
                "than operator new gives, which the frame of the waiting task does not have: use pointers");

 public:
  executor_call(Executor executor, Function function)
      : outside_call(call), executor_(std::move(executor)), function_(std::move(function)) {}
  ~executor_call() { end(); }  // the task is destroyed where it waits

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::executor; }
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) {
    wait_.begin(who);
    try {
      link_ = intrusive_ptr<call_link>(*new call_link(*this));
      begin_outside_wait(wait_.task().owner());
      posted_call job(link_);
      executor_(std::move(job));
    } catch (...) {
      refusal_ = std::current_exception();  // if the executor has kept the job nevertheless, the job ends the wait
      if (!link_ || link_->withdraw()) wait_.claim(0);
    }
    return wait_.park(wait_point::interrupts::deferred);
  }
  result await_resume() {
    static_cast<void>(wait_.ended_by());  // pairs with the claim, where the job was over before the task had parked
    const bool was_called = end();
    if (refusal_ != nullptr) std::rethrow_exception(refusal_);
    if (!was_called) {
      throw call_dropped("foliot: the executor destroyed the job of call_on() without having called it");
    }
    return result_.take();
  }

 private:
  static void call(outside_call& self) noexcept {
    auto& mine = static_cast<executor_call&>(self);
    mine.result_.call(mine.function_);
  }

  /// Afterwards the job does not use this object. Returns whether the function has been called.
  bool end() noexcept {
    if (!link_) return false;
    const auto progress = link_->detach();
    link_ = {};
    end_outside_wait(wait_.task().owner());
    return progress == call_link::progress::returned;
  }

  Executor executor_;
  Function function_;
  intrusive_ptr<call_link> link_;
  std::exception_ptr refusal_;  // what the executor threw
  function_result<result> result_;
};

}  // namespace detail

/// Has `executor` call `function` outside of the runtime. A task must await the result: it waits until the function has
/// returned, and gives its result or throws what it threw. The wait throws call_dropped, what the executor throws, and
/// std::bad_alloc.
template <class Executor, class Function>
[[nodiscard("co_await it")]] detail::executor_call<std::decay_t<Executor>, std::decay_t<Function>> call_on(
    Executor&& executor, Function&& function) {
  return detail::executor_call<std::decay_t<Executor>, std::decay_t<Function>>(std::forward<Executor>(executor),
                                                                               std::forward<Function>(function));
}

}  // namespace foliot::runtime
