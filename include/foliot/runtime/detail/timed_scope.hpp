// A part of a task that ends at a deadline: the base of with_timeout(). It lies in the task's frame.
//
// On virtual time the scope expires once nothing else can happen at that instant: a result that is ready at the
// deadline is in time, regardless of the order in which the processors took their turns. Thread safety: the task's.
#pragma once

#include <foliot/core/export.h>
#include <foliot/core/instant.hpp>
#include <foliot/runtime/detail/cancel_scope.hpp>
#include <foliot/runtime/detail/task_list.hpp>
#include <foliot/runtime/detail/timer_entry.hpp>

namespace foliot::runtime::detail {

/// A cancel_scope with a timer.
class FOLIOT_EXPORT timed_scope final : private timer_entry {
 public:
  explicit timed_scope(task_state& task) noexcept : timer_entry(what_to_do), owner_(task.owner()), scope_(task) {}
  ~timed_scope();
  timed_scope(const timed_scope&) = delete;
  timed_scope& operator=(const timed_scope&) = delete;

  /// Must be called once. Throws std::bad_alloc.
  void start(instant deadline) { start_timer(owner_, *this, deadline, starter::goes_on); }
  [[nodiscard]] const cancel_scope& scope() const noexcept { return scope_; }

 private:
  friend class late_scopes;

  static then end_scope(timer_entry& self, ready_list& ready) noexcept;
  static constexpr actions what_to_do{end_scope, nullptr};

  scheduler& owner_;
  cancel_scope scope_;
  list_links<timed_scope> late_links_;  // in late_scopes, on virtual time
  bool late_ = false;                   // is in late_scopes
};

/// On virtual time: the scopes whose deadline has come, while other things happen at that instant. Used by the
/// runtime's one thread.
class late_scopes {
 public:
  void add(timed_scope& scope) noexcept {
    scopes_.push_front(scope);
    scope.late_ = true;
  }
  /// Precondition: the scope was added, and not removed since.
  void remove(timed_scope& scope) noexcept {
    scopes_.erase(scope);
    scope.late_ = false;
  }
  /// Expires all of them. Returns false if there was none.
  bool expire_all(ready_list& ready) noexcept {
    if (scopes_.empty()) return false;
    while (timed_scope* const scope = scopes_.pop_front()) {
      scope->late_ = false;
      scope->scope_.expire(ready);
    }
    return true;
  }

 private:
  intrusive_list<timed_scope, &timed_scope::late_links_> scopes_;
};

}  // namespace foliot::runtime::detail
