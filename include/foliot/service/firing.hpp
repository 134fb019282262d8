// `firing`, the argument of callbacks, and the receiver of the exceptions that they throw.
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include <foliot/core/callable.hpp>
#include <foliot/core/export.h>
#include <foliot/core/firing.hpp>
#include <foliot/core/shared_callable.hpp>

namespace foliot::inline service {

/// What an exception_handler receives: an exception that left a user's function, and which timer's callback it was.
struct callback_failure {
  std::exception_ptr error;
  /// The call that made or armed the timer; for a ticker the call that began its grid. Line 0: not known, because the
  /// service does not store it, or because the exception is not that of a timer's callback.
  std::source_location armed_at{};
  /// The timer's name as set by timer_handle::name; empty if it has none. Valid during the call of the handler.
  std::string_view name{};
};

/// Receives the exceptions that callbacks throw, on the thread that ran the callback. Exceptions that leave the handler
/// itself are swallowed. Several threads may call it at the same time, as many as run callbacks. Copies share the
/// closure.
///
/// A service whose handler takes a `const callback_failure&` stores for every timer the source location that armed it,
/// in a record that is 88 bytes larger. One whose handler takes a `std::exception_ptr` does not.
class exception_handler {
  template <class Target>
  static constexpr bool takes_failure = std::invocable<std::decay_t<Target>&, const callback_failure&>;

 public:
  /// Empty: prints the exceptions to standard error.
  exception_handler() noexcept = default;
  exception_handler(std::nullptr_t) = delete;  // a null function does not compile

  /// A handler that takes a `const callback_failure&`, or else a `std::exception_ptr`. Throws std::invalid_argument for
  /// a null function, std::bad_alloc, and what copying `target` throws.
  template <class Target>
    requires(!std::same_as<std::remove_cvref_t<Target>, exception_handler>) &&
                (std::invocable<std::decay_t<Target>&, const callback_failure&> ||
                 std::invocable<std::decay_t<Target>&, std::exception_ptr>)
  exception_handler(Target&& target)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : wants_location_(takes_failure<Target>), call_(as_call(std::forward<Target>(target))) {}

  /// Whether it holds a function.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  /// Whether its function takes a `const callback_failure&`.
  [[nodiscard]] bool wants_location() const noexcept { return wants_location_; }

  /// Calls the function.
  void operator()(const callback_failure& failure) const { call_ ? call_(failure) : print(failure); }
  void operator()(std::exception_ptr error) const { operator()(callback_failure{.error = std::move(error)}); }

 private:
  using call = shared_callable<void(const callback_failure&)>;

  template <class Target>
  static call as_call(Target&& target) {
    using stored = std::decay_t<Target>;
    if constexpr (takes_failure<Target>) {
      return call(std::forward<Target>(target));
    } else {
      detail::refuse_null<stored>(target);
      return call([kept = stored(std::forward<Target>(target))](const callback_failure& failure) mutable {
        kept(failure.error);
      });
    }
  }

  FOLIOT_EXPORT static void print(const callback_failure& failure) noexcept;

  bool wants_location_ = false;
  call call_;
};

}  // namespace foliot::inline service
