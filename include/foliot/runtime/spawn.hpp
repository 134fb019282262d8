// Concurrent tasks: spawn a task, join it, ask it to stop.
//
//   auto answer = foliot::runtime::spawn(ask(server), "ask");
//   …
//   const reply r = co_await answer.join();          // the result of the task; or throws what the task threw,
//                                                    // and join_cancelled if it was asked to stop
//
// A function that returns a task may be spawned, too, and lives until that task ends. So a coroutine may be a lambda
// that captures:
//
//   spawn([server, request]() -> foliot::task<> { co_await server->answer(request); });
//
// If the handle is destroyed, the task goes on; an exception that it throws then goes to run_options::on_failure.
//
// A handle may outlive its runtime. A runtime that ends destroys its waiting tasks: such a task is done, and a join
// throws std::logic_error, because there is no result.
//
// Thread safety: a handle is a plain object; request_stop() may be called by any thread.
#pragma once

#include <foliot/core/language.hpp>

#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <type_traits>
#include <utility>

#include <foliot/core/sync/mutex.hpp>
#include <foliot/core/sync/note.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/detail/frame_pool.hpp>
#include <foliot/runtime/detail/intrusive_ptr.hpp>
#include <foliot/runtime/detail/runtime_gate.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/task_state.hpp>
#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/task_name.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

class spawner;

/// A spawned task: its state, and its result once it has ended.
template <class Result>
class spawned final : public task_state, public pooled {
  static constexpr bool has_value = !std::is_void_v<Result>;
  using stored = std::conditional_t<std::is_reference_v<Result>, std::remove_reference_t<Result>*,
                                    std::conditional_t<has_value, Result, char>>;

 public:
  spawned(scheduler& owner, task_name name, task<Result> body) noexcept
      : task_state(owner, name.c_str()), own_name_(std::move(name).own()), body_(std::move(body)) {}

  /// Throws std::logic_error for a task that cannot run: it is empty, or was awaited or spawned before.
  static void check(const task<Result>& body) { check_can_begin(body.owner_.get()); }

  /// The frame that is resumed first.
  [[nodiscard]] frame& prepare() noexcept {
    body_.promise().begin(*this, nullptr);
    return body_.promise();
  }
  void begin() noexcept { launch(*this, prepare()); }

  void finish(ending how) noexcept override {
    abandoned_ = how == ending::abandoned;
    if (!abandoned_) take_result();
    stopping_.reset();
    body_ = task<Result>();  // destroys the frame and its parameters
    bool lost = false;
    {
      const lock held(lock_);
      done_ = true;
      lost = detached_ && failure_ != nullptr;
      if (joiner_ != nullptr) joiner_->claim(0);
      if (waiting_thread_ != nullptr) waiting_thread_->wake();
    }
    if (lost) report_failure(owner(), *this, failure_);
  }

  // For the handle:

  void stop_when(const std::stop_token& token) {
    stopping_ = std::make_unique<std::stop_callback<stop_request>>(token, stop_request(*this));
  }
  /// Asks the task to stop. Any thread: finish() waits for the lock, so the scheduler exists until this returns.
  void stop() noexcept {
    const lock held(lock_);
    request_stop();
  }
  void detach() noexcept {
    bool lost = false;
    {
      const lock held(lock_);
      detached_ = true;
      lost = done_ && failure_ != nullptr && !taken_;
    }
    if (lost) failed_in_->report(name(), failure_, stop_requested());
  }
  [[nodiscard]] bool done() const noexcept {
    const lock held(lock_);
    return done_;
  }
  /// Claims the wait when the task ends, at once if it has ended.
  void begin_join(wait_point& by) noexcept {
    const lock held(lock_);
    if (done_) {
      by.claim(0);
    } else {
      joiner_ = &by;
    }
  }
  void end_join() noexcept {
    const lock held(lock_);
    joiner_ = nullptr;
  }
  /// The same for a thread: wakes the note.
  void begin_wait(note& by) noexcept {
    const lock held(lock_);
    if (done_) {
      by.wake();
    } else {
      waiting_thread_ = &by;
    }
  }
  /// Returns whether the task has ended by itself.
  [[nodiscard]] bool end_wait() noexcept {
    const lock held(lock_);
    waiting_thread_ = nullptr;
    return done_ && !abandoned_;
  }
  /// Precondition: done(). Throws std::logic_error if there is no result, or if it was taken before.
  Result take() {
    if (abandoned_) throw std::logic_error("foliot: the task has no result: its runtime ended before the task did");
    if (taken_) throw std::logic_error("foliot: the task has been joined before: join a task once");
    taken_ = true;
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    if constexpr (std::is_reference_v<Result>) {
      return static_cast<Result>(**result_);
    } else if constexpr (has_value) {
      return std::move(*result_);
    }
  }
  /// The same for those who join: the stop of this task is not theirs.
  Result take_joined() {
    try {
      return take();
    } catch (const join_cancelled&) {
      throw;
    } catch (const cancelled&) {
      throw join_cancelled();
    }
  }

 private:
  class stop_request {
   public:
    explicit stop_request(task_state& task) noexcept : task_(&task) {}
    void operator()() const noexcept { task_->request_stop(); }

   private:
    task_state* task_;
  };

  void take_result() noexcept {
    auto& promise = body_.promise();
    failure_ = promise.failure();
    if (failure_ != nullptr) {
      failed_in_ = gate_of(owner());
      return;
    }
    try {
      if constexpr (std::is_reference_v<Result>) {
        result_ = std::addressof(promise.take());
      } else if constexpr (has_value) {
        result_.emplace(promise.take());
      }
    } catch (...) {
      failure_ = std::current_exception();
      failed_in_ = gate_of(owner());
    }
  }

  std::unique_ptr<char[]> own_name_;
  task<Result> body_;
  mutable mutex lock_{lock_rank::object};
  wait_point* joiner_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  note* waiting_thread_ FOLIOT_GUARDED_BY(lock_) = nullptr;
  bool done_ FOLIOT_GUARDED_BY(lock_) = false;
  bool detached_ FOLIOT_GUARDED_BY(lock_) = false;
  std::unique_ptr<std::stop_callback<stop_request>> stopping_;
  bool taken_ = false;  // used by the handle alone
  // Written before done_ is set, read after it was seen.
  bool abandoned_ = false;  // the runtime ended before the task
  std::exception_ptr failure_;
  intrusive_ptr<runtime_gate> failed_in_;  // set together with failure_
  std::optional<stored> result_;
};

/// Waits for the end of another task.
template <class Result>
class join_awaiter : public task_awaiter {
 public:
  join_awaiter(spawned<Result>& target, wait_point::interrupts how) noexcept : target_(&target), interrupts_(how) {}
  ~join_awaiter() {
    if (waits_) target_->end_join();  // the task is destroyed where it waits
  }
  join_awaiter(const join_awaiter&) = delete;
  join_awaiter& operator=(const join_awaiter&) = delete;

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::task; }
  [[nodiscard]] bool await_ready() const noexcept { return target_->done(); }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
    wait_.begin(who);
    target_->begin_join(wait_);
    waits_ = true;
    return wait_.park(interrupts_);
  }
  bool interrupt(frame& who) noexcept {
    if (interrupts_ == wait_point::interrupts::deferred) return false;
    wait_.begin_interrupted(who);
    return true;
  }
  Result await_resume() {
    if (std::exchange(waits_, false)) {
      target_->end_join();
      if (!target_->done()) wait_.throw_if_interrupted();
    } else if (wait_.begun()) {
      wait_.throw_if_interrupted();
    }
    return target_->take_joined();
  }

 private:
  spawned<Result>* target_;
  wait_point::interrupts interrupts_;
  bool waits_ = false;
  wait_point wait_;
};

}  // namespace foliot::runtime::detail

namespace foliot::runtime {

/// A reference to a spawned task. Move-only. Destroying it does not stop the task.
template <class Result = void>
class join_handle {
 public:
  /// An empty handle.
  join_handle() noexcept = default;
  /// The other handle is empty afterwards.
  join_handle(join_handle&&) noexcept = default;
  /// Lets the task of this handle go on without it, then takes over the task of `other`.
  join_handle& operator=(join_handle&& other) noexcept {
    if (this != &other) {
      drop();
      task_ = std::move(other.task_);
    }
    return *this;
  }
  /// The task goes on; its failure then goes to run_options::on_failure.
  ~join_handle() { drop(); }

  /// Whether the handle refers to a task.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(task_); }

  /// Whether the task has ended, or its runtime has ended before it. Throws std::logic_error on an empty handle.
  [[nodiscard]] bool done() const { return checked().done(); }
  /// A task must await the result: it waits for the end of the task, and gives its result or throws what it threw. Only
  /// one task at a time may join, and a result can be taken once: a later join throws std::logic_error, and so does the
  /// join of a task whose runtime ended before it. The handle must live as long as the wait. If the waiting task is
  /// asked to stop, the wait throws `cancelled`; the other task goes on, and can be joined again. Throws
  /// std::logic_error on an empty handle.
  [[nodiscard]] detail::join_awaiter<Result> join() {
    return detail::join_awaiter<Result>(checked(), detail::wait_point::interrupts::heeded);
  }
  /// The same, but the wait goes on if the waiting task is asked to stop.
  [[nodiscard]] detail::join_awaiter<Result> join_without_cancellation() {
    return detail::join_awaiter<Result>(checked(), detail::wait_point::interrupts::deferred);
  }
  /// Asks the task to stop: from now on its waits throw `cancelled`. Any thread. Throws std::logic_error on an empty
  /// handle.
  void request_stop() const { checked().stop(); }

 private:
  friend class detail::spawner;

  explicit join_handle(detail::spawned<Result>& task) noexcept : task_(task) {}
  [[nodiscard]] detail::spawned<Result>& checked() const {
    if (!task_)
      throw std::logic_error(
          "foliot: this join_handle is empty (default-constructed or moved from): use one that spawn() returned");
    return *task_;
  }
  void drop() noexcept {
    if (task_) task_->detach();
  }

  detail::intrusive_ptr<detail::spawned<Result>> task_;
};

namespace detail {

/// Spawns tasks in a given runtime, which exists during the call.
class spawner {
 public:
  template <class Result>
  static join_handle<Result> spawn(scheduler& in, task<Result>&& body, task_name name) {
    spawned<Result>::check(body);
    auto* const made = new spawned<Result>(in, std::move(name), std::move(body));
    made->retain();
    join_handle<Result> handle(*made);
    made->begin();
    return handle;
  }
  template <class Result>
  static join_handle<Result> spawn(scheduler& in, task<Result>&& body, std::stop_token token, task_name name) {
    spawned<Result>::check(body);
    auto* const made = new spawned<Result>(in, std::move(name), std::move(body));
    join_handle<Result> handle(*made);  // the only reference: if the next line throws, the task is destroyed
    made->stop_when(token);
    made->retain();  // for the scheduler
    made->begin();
    return handle;
  }
  /// Blocks the calling thread until the task has ended, and gives its result. Throws runtime_ended if the runtime ends
  /// first.
  template <class Result>
  static Result wait(join_handle<Result>& running, waiting_call& waiting) {
    spawned<Result>& task = *running.task_;
    task.begin_wait(waiting.end_of_task());
    waiting.sleep();
    if (!task.end_wait()) fail_call();
    return task.take_joined();
  }
};

}  // namespace detail

/// Runs `body` as a task of its own, concurrently with the caller. `name` appears in reports of failures and deadlocks,
/// and in dumps: a literal, or a std::string, which is copied (task_name.hpp). Throws std::logic_error
/// outside of a runtime, and for a task that is empty or has run; std::bad_alloc.
template <class Result>
join_handle<Result> spawn(task<Result> body, task_name name = "task") {
  return detail::spawner::spawn(detail::this_scheduler("spawn"), std::move(body), std::move(name));
}

/// The same; a stop request of the token asks the task to stop.
template <class Result>
join_handle<Result> spawn(task<Result> body, std::stop_token token, task_name name = "task") {
  return detail::spawner::spawn(detail::this_scheduler("spawn"), std::move(body), std::move(token), std::move(name));
}

namespace detail {

// g++ 12 takes the type of a coroutine's frame for one that other files have, too, and warns of a lambda in it.
#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
/// Calls `function` and awaits the task that it returns. The function is in this frame, and so outlives that task.
template <class Function>
std::invoke_result_t<Function&> call_kept(Function function) {
  co_return co_await inner(function());
}
#pragma GCC diagnostic pop

/// The task that calls `function`.
template <class Function>
auto task_of(Function&& function) {
  using kept = std::decay_t<Function>;
  static_assert(
      is_task<std::invoke_result_t<kept&>>,
      "foliot: spawn() takes a task, or a function that returns one: write -> foliot::task<> and co_return, or "
      "await blocking(function) where it is a plain function");
  static_assert(fits_in_frame<kept>,
                "foliot: the function for spawn() must not need a stricter alignment than operator new gives, which a "
                "coroutine's frame does not have: capture a pointer");
  return call_kept<kept>(std::forward<Function>(function));
}

}  // namespace detail

/// Calls `function` in a task of its own, and awaits there the task that it returns. The function, with its captures,
/// lives until that task ends. Otherwise as above; also throws what copying the function throws.
template <class Function>
  requires std::invocable<std::decay_t<Function>&>
auto spawn(Function&& function, task_name name = "task") {
  return spawn(detail::task_of(std::forward<Function>(function)), std::move(name));
}
/// The same; a stop request of the token asks the task to stop.
template <class Function>
  requires std::invocable<std::decay_t<Function>&>
auto spawn(Function&& function, std::stop_token token, task_name name = "task") {
  return spawn(detail::task_of(std::forward<Function>(function)), std::move(token), std::move(name));
}

}  // namespace foliot::runtime
