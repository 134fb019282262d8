#include <foliot/runtime/detail/task_state.hpp>

#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/detail/cancel_scope.hpp>

namespace foliot::runtime::detail {

void task_state::request_stop() noexcept {
  stop_.store(true, seam::release);  // pairs with stop_requested()
  if (wait_.interrupt()) make_ready(*this);
}

bool task_state::confirm_interrupt() noexcept {
  const auto has_reason = [this] {
    if (stop_requested()) return true;
    for (const cancel_scope* scope = scopes; scope != nullptr; scope = scope->outer()) {
      if (scope->expired()) return true;
    }
    return false;
  };
  if (has_reason()) return true;
  wait_.clear_interrupt();
  if (!has_reason()) return false;
  static_cast<void>(wait_.interrupt());  // a reason came in between
  return true;
}

void task_state::throw_interrupt() {
  // The outermost reason wins: the scopes inside of it end as well.
  if (stop_requested()) throw cancelled();
  cancel_scope* outermost = nullptr;
  for (cancel_scope* scope = scopes; scope != nullptr; scope = scope->outer()) {
    if (scope->expired()) outermost = scope;
  }
  if (outermost != nullptr) throw scope_expired(*outermost);
}

}  // namespace foliot::runtime::detail
