// A part of a task that can be ended before the task: the base of timeouts and of run_in().
//
// While a scope exists it is the innermost scope of its task. Once it has expired, every wait inside of it throws
// scope_expired, which only the code that made the scope catches. Thread safety: any thread may call expire(); the
// caller must make sure that the scope still exists.
#pragma once

#include <foliot/core/export.h>
#include <foliot/core/seam/sync.hpp>
#include <foliot/runtime/detail/task_list.hpp>
#include <foliot/runtime/detail/task_state.hpp>

namespace foliot::runtime::detail {

/// A scope of a task, in the frame of a coroutine. The scopes of a task end in the reverse order of their beginning.
class cancel_scope {
 public:
  explicit cancel_scope(task_state& task) noexcept : task_(task), outer_(task.scopes) { task.scopes = this; }
  ~cancel_scope() { task_.scopes = outer_; }
  cancel_scope(const cancel_scope&) = delete;
  cancel_scope& operator=(const cancel_scope&) = delete;

  /// Ends the current wait of the task, or else its next one. If the task was parked, it is appended to the list.
  void expire(ready_list& ready) noexcept {
    expired_.store(true, seam::release);  // pairs with expired(); set before the interrupt
    if (task_.wait().interrupt()) ready.push_back(task_);
  }
  /// Whether expire() was called.
  [[nodiscard]] bool expired() const noexcept { return expired_.load(seam::acquire); }
  /// The next outer scope of the task, or null.
  [[nodiscard]] cancel_scope* outer() const noexcept { return outer_; }

 private:
  task_state& task_;
  cancel_scope* const outer_;
  seam::atomic<bool> expired_{false};
};

/// The exception that ends the waits inside of a scope. It is not derived from std::exception, so that only the maker
/// of the scope catches it; user code lets it pass.
class FOLIOT_EXPORT scope_expired {
 public:
  explicit scope_expired(const cancel_scope& which) noexcept : which_(&which) {}
  /// Whether that scope has expired.
  [[nodiscard]] bool is(const cancel_scope& scope) const noexcept { return which_ == &scope; }

 private:
  const cancel_scope* which_;
};

}  // namespace foliot::runtime::detail
