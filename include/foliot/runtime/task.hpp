// A task: a coroutine that the runtime runs.
//
//   foliot::task<std::size_t> echo(foliot::runtime::stream& peer) {
//     …
//     const auto length = co_await peer.read_some(buffer);
//     co_return length.value_or(0);
//   }
//
// A task is lazy. It runs when another task awaits it, as a part of that task, or when it is spawned, as a task of its
// own. It may be destroyed before it has run. Inside, co_await takes tasks, the operations of foliot/runtime, and the
// awaiters of other libraries (below). Calls may be nested as deep as memory allows: running them, stopping them, and
// destroying them where they wait take constant stack. Tasks that own tasks as parameters are destroyed recursively.
// Exceptions propagate to the task that awaits.
//
// Turns: a task has a budget of 128 steps. Each co_await is one step, and so is the return from a called task. A task
// that has made 128 steps without waiting goes to the back of the queue, as with yield(), and keeps the result of its
// last step; so a task whose awaits all complete at once does not starve others. If the task was asked to stop, its
// last step throws `cancelled` before the operation begins: channels, locks, selects, sleeps, joins and sockets do so,
// as if they had to wait. Calls of tasks and blocking() do not.
//
// Foreign awaiters: a task may await any object with await_ready, await_suspend for a std::coroutine_handle<>, and
// await_resume, and any object whose operator co_await, member or free, returns one. The handle that await_suspend gets
// stands for the task. Any thread may call its resume(), once, at any time from await_suspend on; the task then
// continues on a worker of its own runtime. The receiver must not destroy the handle. A stop or a timeout does not end
// such a wait; the task sees it at its next one. When the run ends, the waiting task is destroyed, and the awaiter with
// it: the awaiter's destructor must make sure that the other library no longer uses the awaiter. A resume() after that
// does nothing; until it is called, some 100 bytes behind the handle stay allocated. On virtual time such a wait counts
// as a wait for a descriptor: time advances to the next deadline, and without one the run waits for the resume(). Each
// such wait allocates, and may throw std::bad_alloc.
//
// Thread safety: a task is a plain object. It may continue in another thread after each co_await, so it must not hold a
// lock of a thread, or a pointer to a thread_local, across one.
// Alignment: a coroutine's frame has the alignment that operator new gives, and neither g++ 12 nor clang 19 aligns its
// variables more strictly. Keep over-aligned objects, such as a vector of AVX, behind a pointer. As the result of a
// task such a type does not compile; as a parameter or a variable of a coroutine it compiles, and is misaligned.
// With g++ 12 a full expression must have at most one co_await, not inside of ?:, && or ||, and no closure with
// captures among its operands.
#pragma once

#include <foliot/core/language.hpp>

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include <foliot/core/contract.hpp>
#include <foliot/runtime/detail/frame.hpp>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/step.hpp>
#include <foliot/runtime/detail/task_state.hpp>

namespace foliot::runtime {
template <class Result = void>
class task;
}  // namespace foliot::runtime

namespace foliot::runtime::detail {

template <class Result>
class spawned;

template <class Result>
class call_awaiter;
template <class Awaiter>
inline constexpr bool is_call = false;
template <class Result>
inline constexpr bool is_call<call_awaiter<Result>> = true;

/// Marks a co_await inside of a function of foliot: reports go on to name the program's own co_await, which has called
/// that function, and not a line of foliot.
template <class Awaitable>
struct inner_await {
  Awaitable&& awaitable;
};
template <class Awaitable>
[[nodiscard]] inner_await<Awaitable> inner(Awaitable&& awaitable) noexcept {
  return {std::forward<Awaitable>(awaitable)};
}

class task_promise_base : public frame, public pooled {
 public:
  std::suspend_always initial_suspend() const noexcept { return {}; }

  class final_awaiter {
   public:
    explicit final_awaiter(task_promise_base& ended) noexcept : ended_(ended) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const noexcept {
      execution& on = *ended_.task().on;
      if (ended_.caller() != nullptr) {
        on.next = ended_.caller();
      } else {
        on.ended = &ended_.task();
      }
    }
    void await_resume() const noexcept {}

   private:
    task_promise_base& ended_;
  };
  final_awaiter final_suspend() noexcept { return final_awaiter(*this); }

  void unhandled_exception() noexcept { failure_ = std::current_exception(); }
  [[nodiscard]] const std::exception_ptr& failure() const noexcept { return failure_; }

  template <class Awaitable>
  auto await_transform(Awaitable&& awaitable, std::source_location where = std::source_location::current()) {
    task().where.store(where, seam::relaxed);
    return step_of(std::forward<Awaitable>(awaitable));
  }
  template <class Awaitable>
  auto await_transform(inner_await<Awaitable> what) {
    return step_of(std::forward<Awaitable>(what.awaitable));
  }

 private:
  template <class Awaitable>
  auto step_of(Awaitable&& awaitable) {
    if constexpr (requires { std::forward<Awaitable>(awaitable).operator co_await(); }) {
      const auto make = [&]() -> decltype(auto) { return std::forward<Awaitable>(awaitable).operator co_await(); };
      if constexpr (is_call<decltype(make())>) {
        return make();  // the worker counts calls and returns
      } else {
        return make_step(task(), make);
      }
    } else if constexpr (requires { operator co_await(std::forward<Awaitable>(awaitable)); }) {
      return make_step(task(),
                       [&]() -> decltype(auto) { return operator co_await(std::forward<Awaitable>(awaitable)); });
    } else {
      return make_step(task(), [&]() -> auto& { return awaitable; });
    }
  }

  std::exception_ptr failure_;
};

template <class Result>
class task_promise : public task_promise_base {
  static_assert(fits_in_frame<Result>,
                "foliot: a task's result must not need a stricter alignment than operator new gives, which a "
                "coroutine's frame does not have: return a pointer to it");

 public:
  runtime::task<Result> get_return_object() noexcept;

  template <class Value>
    requires std::is_convertible_v<Value, Result>
  void return_value(Value&& value) {
    if constexpr (std::is_reference_v<Result>) {
      result_ = std::addressof(value);
    } else {
      result_.emplace(std::forward<Value>(value));
    }
  }
  /// The result, moved out; or throws what the coroutine threw.
  Result take() {
    if (failure()) std::rethrow_exception(failure());
    if constexpr (std::is_reference_v<Result>) {
      return static_cast<Result>(*result_);
    } else {
      return std::move(*result_);
    }
  }

 private:
  std::conditional_t<std::is_reference_v<Result>, std::remove_reference_t<Result>*, std::optional<Result>> result_{};
};

template <>
class task_promise<void> : public task_promise_base {
 public:
  runtime::task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() const {
    if (failure()) std::rethrow_exception(failure());
  }
};

/// Runs a task as a part of the task that awaits it.
template <class Result>
class call_awaiter {
 public:
  explicit call_awaiter(task_promise<Result>* called) noexcept : called_(called) {}
  bool await_ready() const {
    check_can_begin(called_);
    return false;
  }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> caller) const noexcept {
    task_state& task = caller.promise().task();
    called_->begin(task, &caller.promise());
    task.on->next = called_;
  }
  Result await_resume() const { return called_->take(); }

 private:
  task_promise<Result>* called_;
};

}  // namespace foliot::runtime::detail

namespace foliot::runtime {

/// A coroutine with a result, which runs once, when it is awaited or spawned. Move-only.
template <class Result>
class [[nodiscard("a task does nothing until it is awaited or spawned")]] task {
 public:
  using promise_type = detail::task_promise<Result>;
  using result_type = Result;

  /// An empty task, which cannot run.
  task() noexcept = default;

  /// Whether this has a coroutine, even if it has run already.
  [[nodiscard]] explicit operator bool() const noexcept { return owner_.get() != nullptr; }

  /// Runs the task to its end as a part of the calling task, and gives its result or throws what it threw. Throws
  /// std::logic_error if the task is empty, or was awaited or spawned before.
  detail::call_awaiter<Result> operator co_await() const& noexcept {
    return detail::call_awaiter<Result>(static_cast<promise_type*>(owner_.get()));
  }

 private:
  template <class>
  friend class detail::task_promise;
  template <class>
  friend class detail::spawned;

  explicit task(promise_type& made) noexcept : owner_(made, std::coroutine_handle<promise_type>::from_promise(made)) {}
  [[nodiscard]] promise_type& promise() const noexcept { return static_cast<promise_type&>(*owner_.get()); }

  detail::frame_owner owner_;
};

}  // namespace foliot::runtime

namespace foliot::runtime::detail {

template <class Result>
runtime::task<Result> task_promise<Result>::get_return_object() noexcept {
  return runtime::task<Result>(*this);
}
inline runtime::task<void> task_promise<void>::get_return_object() noexcept { return runtime::task<void>(*this); }

template <class Type>
inline constexpr bool is_task = false;
template <class Result>
inline constexpr bool is_task<runtime::task<Result>> = true;

}  // namespace foliot::runtime::detail

namespace foliot {
using runtime::task;
}  // namespace foliot
