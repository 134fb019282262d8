// What a function returned or threw that another thread has called for a task.
//
// Thread safety: none; what ends the task's wait publishes it to the task.
#pragma once

#include <foliot/core/language.hpp>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace foliot::runtime::detail {

/// Empty until call() or fail(). `Result` is a value or void.
template <class Result>
class function_result {
  static constexpr bool has_value = !std::is_void_v<Result>;

 public:
  /// Calls the function, and keeps its result or its exception.
  template <class Function>
  void call(Function& function) noexcept {
    try {
      if constexpr (has_value) {
        value_.emplace(function());
      } else {
        function();
      }
    } catch (...) {
      fail(std::current_exception());
    }
  }
  /// Keeps an exception, as if the function had thrown it.
  void fail(std::exception_ptr failure) noexcept { failure_ = std::move(failure); }

  /// The result; throws what the function threw. Once.
  Result take() {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    if constexpr (has_value) return std::move(*value_);
  }

 private:
  std::exception_ptr failure_;
  std::optional<std::conditional_t<has_value, Result, char>> value_;
};

}  // namespace foliot::runtime::detail
