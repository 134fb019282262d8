// Lets a task await the awaiters of other libraries.
//
// A foreign awaiter must not get the handle of the task's own coroutine: only a worker may resume that coroutine, and
// it may be destroyed while the other library still holds the handle. The awaiter gets the handle of a small coroutine
// instead, a resumption. resume() on it claims the task's wait, and thereby makes the task ready on its own scheduler.
//
// Thread safety: any thread may resume a resumption, once; the rest is used by the worker that runs the task.
// Lifetime: two references keep a resumption. The task's ends with the wait; the other library's ends with resume(), or
// when await_suspend reports that resume() will not be called. Cost: one allocation for each wait.
#pragma once

#include <foliot/core/language.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

#include <foliot/core/seam/sync.hpp>
#include <foliot/core/sync/mutex.hpp>
#include <foliot/runtime/detail/frame.hpp>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/reference_count.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/wait_point.hpp>

namespace foliot::runtime::detail {

/// The coroutine whose handle a foreign awaiter gets.
class resumption {
 public:
  class promise_type : public pooled {
   public:
    class ends_wait {
     public:
      ends_wait() noexcept {}
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> self) const noexcept { self.promise().end_wait(); }
      void await_resume() const noexcept {}
    };

    resumption get_return_object() noexcept { return resumption(*this); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    ends_wait final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }

    /// From now on resume() claims this wait; null: it claims none.
    void stand_for(wait_point* wait) noexcept {
      const lock held(lock_);
      wait_ = wait;
    }
    /// Drops one of the two references.
    void release() noexcept {
      if (references_.release()) std::coroutine_handle<promise_type>::from_promise(*this).destroy();
    }

   private:
    void end_wait() noexcept {
      {
        const lock held(lock_);  // the task takes it before its wait, and later its scheduler, ends
        if (wait_ != nullptr) wait_->claim(0);
      }
      release();
    }

    mutex lock_{lock_rank::object};
    wait_point* wait_ FOLIOT_GUARDED_BY(lock_) = nullptr;
    // The task and the other library each drop one reference; the last drop destroys the resumption.
    reference_count references_{2};
  };

  /// Throws std::bad_alloc.
  static resumption make() { co_return; }

  [[nodiscard]] promise_type& promise() const noexcept { return *promise_; }
  [[nodiscard]] std::coroutine_handle<> handle() const noexcept {
    return std::coroutine_handle<promise_type>::from_promise(*promise_);
  }

 private:
  explicit resumption(promise_type& made) noexcept : promise_(&made) {}

  promise_type* promise_;
};

/// A wait of a task that only a resumption ends.
class foreign_wait {
 public:
  foreign_wait() noexcept = default;
  foreign_wait(const foreign_wait&) = delete;
  foreign_wait& operator=(const foreign_wait&) = delete;
  ~foreign_wait() { end(); }

  /// Returns the handle for the other library. Throws std::bad_alloc.
  [[nodiscard]] std::coroutine_handle<> begin(frame& who) {
    const resumption made = resumption::make();
    wait_.begin(who);
    begin_outside_wait(wait_.task().owner());
    resumption_ = &made.promise();
    resumption_->stand_for(&wait_);
    return made.handle();
  }
  /// The other library will not resume the handle after all.
  void withdraw() noexcept {
    wait_.claim(0);
    resumption_->release();  // on behalf of the other side
  }
  [[nodiscard]] bool park() noexcept { return wait_.park(wait_point::interrupts::deferred); }
  /// Afterwards a resume() does nothing.
  void end() noexcept {
    if (resumption_ == nullptr) return;
    resumption_->stand_for(nullptr);
    std::exchange(resumption_, nullptr)->release();
    end_outside_wait(wait_.task().owner());
  }

 private:
  wait_point wait_;
  resumption::promise_type* resumption_ = nullptr;
};

template <class Awaiter>
concept has_ready_and_resume = requires(Awaiter& one) {
  static_cast<bool>(one.await_ready());
  one.await_resume();
};
template <class Awaiter>
concept suspends_any = requires(Awaiter& one, std::coroutine_handle<> who) { one.await_suspend(who); };

/// Wraps a foreign awaiter, or a reference to it, for a task. `Awaiter` is as for step.
template <class Awaiter>
class foreign_awaiter : public task_awaiter {
  using answer = decltype(std::declval<Awaiter&>().await_suspend(std::coroutine_handle<>()));
  static constexpr bool suspends_always = std::is_void_v<answer>;
  static constexpr bool says_whether = std::same_as<answer, bool>;
  static_assert(suspends_always || says_whether || std::convertible_to<answer, std::coroutine_handle<>>,
                "foliot: await_suspend() of a foreign awaiter must return void, bool, or a coroutine handle");

 public:
  template <class Make>
  explicit foreign_awaiter(const Make& make) : awaiter_(make()) {}

  [[nodiscard]] bool await_ready() { return static_cast<bool>(awaiter_.await_ready()); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) {
    const std::coroutine_handle<> task = wait_.begin(who.promise());
    std::coroutine_handle<> next;
    try {
      if constexpr (suspends_always) {
        awaiter_.await_suspend(task);
      } else if constexpr (says_whether) {
        if (!awaiter_.await_suspend(task)) wait_.withdraw();
      } else {
        next = awaiter_.await_suspend(task);
      }
    } catch (...) {
      wait_.withdraw();
      throw;
    }
    if (next) next.resume();
    return wait_.park();
  }
  decltype(auto) await_resume() {
    wait_.end();
    return awaiter_.await_resume();
  }

 private:
  Awaiter awaiter_;
  foreign_wait wait_;  // destroyed before the awaiter
};

}  // namespace foliot::runtime::detail
