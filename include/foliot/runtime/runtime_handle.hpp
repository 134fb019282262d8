// A handle to a running runtime, for threads outside of it: they spawn tasks there, and wait for results.
//
//   foliot::runtime_handle handle = foliot::this_runtime();       // in a task; or background_runtime::handle()
//
//   // In any thread:
//   handle.spawn([request] { return answer(request); });          // wakes the runtime
//   const int total = handle.call([&cart] { return sum(cart); }); // blocks this thread until the result is there
//
// The other direction needs no handle: a task calls the function by which an event loop or a thread pool takes jobs,
// or awaits call_on() (call_on.hpp) if it needs the result.
//
// The end: once the main task has ended, spawn() and call() throw runtime_ended, and the task or the function that was
// passed is destroyed in the calling thread before that. A task that came before has the fate of all tasks: it runs,
// or it is destroyed with those that have not ended. So no task is lost without a word. A handle may outlive its
// runtime.
//
// Deadlocks: on real time a runtime is never reported dead by default while the process has another thread, which could
// spawn by a handle (run_options::deadlocks). On virtual time other threads are seen by their handles: while there is
// one, a runtime whose tasks all wait, without a deadline, waits for another thread, unless the option is `always`. So
// on virtual time drop each handle when it is not needed any more.
//
// Virtual time stands still while a task can run, and moves on while another thread is about to spawn. So a task that
// comes from outside begins at the instant that the clock shows when the runtime takes it.
//
// Inside of its own runtime a handle spawns as spawn() does until the main task has ended, and call() throws
// std::logic_error, because it would block a worker. A task of another runtime should not call either: it joins what it
// has spawned. In the child of a fork the handles of a background_runtime throw
// runtime_ended; those of run() must not be used.
//
// Thread safety: a handle is a plain object, its const members from any thread; copies of one handle may be used by
// several threads at once. Complexity: a copy is two increments; a spawn takes two short locks more than one inside.
#pragma once

#include <foliot/core/language.hpp>

#include <concepts>
#include <stop_token>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <foliot/core/export.h>
#include <foliot/runtime/detail/intrusive_ptr.hpp>
#include <foliot/runtime/detail/reports.hpp>
#include <foliot/runtime/detail/runtime_gate.hpp>
#include <foliot/runtime/runtime_ended.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/task_name.hpp>

namespace foliot::runtime {

namespace detail {

#pragma GCC diagnostic push
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wsubobject-linkage"  // as in spawn.hpp
#endif
/// A task that calls a plain function.
template <class Function>
task<std::invoke_result_t<Function&>> call_plain(Function function) {
  co_return function();
}
#pragma GCC diagnostic pop

/// The task that calls `function`, and awaits the result if that is a task.
template <class Function>
auto task_that_calls(Function&& function) {
  using kept = std::decay_t<Function>;
  if constexpr (is_task<std::invoke_result_t<kept&>>) {
    return task_of(std::forward<Function>(function));
  } else {
    static_assert(fits_in_frame<kept>,
                  "foliot: the function for call() must not need a stricter alignment than operator new gives, which a "
                  "coroutine's frame does not have: capture a pointer");
    return call_plain<kept>(std::forward<Function>(function));
  }
}

}  // namespace detail

/// Refers to a runtime. Copyable; two handles are equal if they refer to the same runtime.
class runtime_handle {
 public:
  /// An empty handle.
  runtime_handle() noexcept = default;
  runtime_handle(const runtime_handle& other) noexcept : runtime_handle(other.gate_) {}
  /// The other handle is empty afterwards.
  runtime_handle(runtime_handle&&) noexcept = default;
  /// Takes the runtime of `other`.
  runtime_handle& operator=(runtime_handle other) noexcept {
    std::swap(gate_, other.gate_);
    return *this;
  }
  ~runtime_handle() {
    if (gate_) gate_->drop_handle();
  }

  /// Whether the handle refers to a runtime, be it that this has ended.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(gate_); }
  friend bool operator==(const runtime_handle&, const runtime_handle&) noexcept = default;

  /// Whether the runtime has ended, or is about to: then it takes no more tasks. True is final, false may be outdated
  /// at once. Throws std::logic_error on an empty handle.
  [[nodiscard]] bool ended() const { return checked().is_ending(); }

  /// As the function spawn() does (spawn.hpp), from any thread: runs `body` as a task of the runtime, and wakes the
  /// runtime if it sleeps. The join_handle may be dropped, asked to stop its task by any thread, and joined by a task
  /// of any runtime. Throws runtime_ended; std::logic_error on an empty handle, and for a task that is empty or has
  /// run; std::bad_alloc.
  template <class Result>
  join_handle<Result> spawn(task<Result> body, task_name name = "task") const {
    const detail::runtime_gate::guest inside(checked());
    return detail::spawner::spawn(owner(inside), std::move(body), std::move(name));
  }
  /// The same; a stop request of the token asks the task to stop.
  template <class Result>
  join_handle<Result> spawn(task<Result> body, std::stop_token token, task_name name = "task") const {
    const detail::runtime_gate::guest inside(checked());
    return detail::spawner::spawn(owner(inside), std::move(body), std::move(token), std::move(name));
  }
  /// Calls `function` in a task of its own, and awaits there the task that it returns. The function, with its captures,
  /// lives until that task ends. Otherwise as above; also throws what copying the function throws.
  template <class Function>
    requires std::invocable<std::decay_t<Function>&>
  auto spawn(Function&& function, task_name name = "task") const {
    return spawn(detail::task_of(std::forward<Function>(function)), std::move(name));
  }
  /// The same; a stop request of the token asks the task to stop.
  template <class Function>
    requires std::invocable<std::decay_t<Function>&>
  auto spawn(Function&& function, std::stop_token token, task_name name = "task") const {
    return spawn(detail::task_of(std::forward<Function>(function)), std::move(token), std::move(name));
  }

  /// Runs `body` as a task of the runtime, and blocks the calling thread until the task has ended; returns its result
  /// or throws what it threw. Throws runtime_ended, and never waits on, if the runtime ends first: the task has been
  /// destroyed by then, unless a function of blocking() still runs, for which the runtime waits before it destroys
  /// tasks. Throws std::logic_error inside of the runtime, otherwise as spawn().
  template <class Result>
  Result call(task<Result> body, task_name name = "call") const {
    check_may_wait(checked());
    detail::waiting_call waiting(*gate_);
    auto running = spawn(std::move(body), std::move(name));
    return detail::spawner::wait(running, waiting);
  }
  /// The same for a function: one that returns a task, or a plain one, which must not block. The function is called by
  /// the runtime.
  template <class Function>
    requires std::invocable<std::decay_t<Function>&>
  auto call(Function&& function, task_name name = "call") const {
    check_may_wait(checked());
    return call(detail::task_that_calls(std::forward<Function>(function)), std::move(name));
  }

  /// As the function statistics() does (statistics.hpp), from any thread. The runtime's tasks go on meanwhile, and none
  /// of them has to end its turn. Throws runtime_ended; std::logic_error on an empty handle; std::bad_alloc.
  [[nodiscard]] runtime_statistics statistics() const { return reported(detail::statistics_of); }
  /// The same for tasks() (task_report.hpp).
  [[nodiscard]] std::vector<task_report> tasks() const { return reported(detail::task_reports); }
  /// The same for task_groups().
  [[nodiscard]] std::vector<task_group> task_groups() const { return reported(detail::task_groups_of); }
  /// The same for dump_tasks().
  [[nodiscard]] std::string dump_tasks() const { return reported(detail::task_dump); }

 private:
  friend class background_runtime;
  friend class dump_on_signal;
  friend class runtime_statistics_socket;
  friend runtime_handle this_runtime();

  explicit runtime_handle(detail::intrusive_ptr<detail::runtime_gate> gate) noexcept : gate_(std::move(gate)) {
    if (gate_) gate_->add_handle();
  }
  [[nodiscard]] detail::runtime_gate& checked() const {
    if (!gate_) detail::refuse_empty_handle();
    return *gate_;
  }
  template <class Report>
  Report reported(Report (*of)(const detail::scheduler&)) const {
    const detail::runtime_gate::guest inside(checked());
    if (!inside) detail::refuse_guest();
    return of(*inside);
  }
  /// For objects that are no handles themselves.
  [[nodiscard]] detail::intrusive_ptr<detail::runtime_gate> shared_gate() const {
    static_cast<void>(checked());
    return gate_;
  }
  static detail::scheduler& owner(const detail::runtime_gate::guest& inside) {
    if (!inside || !takes_tasks(*inside)) detail::refuse_guest();
    return *inside;
  }

  detail::intrusive_ptr<detail::runtime_gate> gate_;
};

/// A handle to the caller's runtime. Throws std::logic_error outside of a runtime.
[[nodiscard]] inline runtime_handle this_runtime() {
  return runtime_handle(detail::gate_of(detail::this_scheduler("this_runtime")));
}

}  // namespace foliot::runtime

namespace foliot {
using runtime::runtime_handle;
using runtime::this_runtime;
}  // namespace foliot
