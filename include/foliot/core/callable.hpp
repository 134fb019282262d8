// A move-only callable with room for a small closure inside it.
//
// Why not the standard one: std::move_only_function is missing from libc++ 19, does not say how much
// fits without an allocation, and may be empty. This one states its capacity, is refused at
// construction if it is made from a null pointer, and tells exactly when its closure dies (`reset`).
//
//   foliot::callable<void(int)> on_value = [buffer = std::move(buffer)](int value) mutable { … };
//
// Thread safety: as a plain object's. Moving it moves (relocates) the closure; a moved-from callable
// is empty. Closures larger than Capacity, or more strictly aligned than a pointer, or with a move
// that may throw, live in one allocation of their own.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <foliot/core/contract.hpp>

namespace foliot::inline core {
template <class Signature, std::size_t Capacity = 3 * sizeof(void*)>
class callable;
}  // namespace foliot::inline core

namespace foliot::detail {
template <class Target>
inline constexpr bool is_callable = false;
template <class Signature, std::size_t Capacity>
inline constexpr bool is_callable<callable<Signature, Capacity>> = true;

/// Throws std::invalid_argument for a null function pointer, an empty std::function or callable and
/// their like.
template <class Target>
constexpr void refuse_null(const Target& target) {
  bool null = false;
  if constexpr (is_callable<Target>) {
    null = !target;
  } else if constexpr (!std::is_function_v<Target> && requires { target == nullptr; }) {
    null = target == nullptr;
  }
  if (null) throw std::invalid_argument("foliot: a callback must not be null: pass a function or a closure");
}
}  // namespace foliot::detail

namespace foliot::inline core {

template <class Result, class... Arguments, std::size_t Capacity>
class callable<Result(Arguments...), Capacity> {
 public:
  /// Empty: calling it is a contract breach until something is assigned.
  callable() noexcept = default;
  callable(std::nullptr_t) = delete;  // a null callback does not compile

  /// Throws std::invalid_argument when `target` is a null pointer or an empty std::function, and
  /// std::bad_alloc (or what the closure's own constructor throws) with nothing changed.
  template <class Target>
    requires(!std::same_as<std::remove_cvref_t<Target>, callable>) &&
            std::is_invocable_r_v<Result, std::decay_t<Target>&, Arguments...> &&
            std::constructible_from<std::decay_t<Target>, Target>
  callable(Target&& target) {  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
    using stored = std::decay_t<Target>;
    detail::refuse_null(target);
    if constexpr (fits<stored>) {
      std::construct_at(reinterpret_cast<stored*>(storage_), std::forward<Target>(target));
      operations_ = &operations_inside<stored>;
    } else {
      std::construct_at(reinterpret_cast<stored**>(storage_), new stored(std::forward<Target>(target)));
      operations_ = &operations_outside<stored>;
    }
  }

  callable(callable&& other) noexcept { take(other); }
  callable& operator=(callable&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~callable() { reset(); }

  [[nodiscard]] explicit operator bool() const noexcept { return operations_ != nullptr; }

  Result operator()(Arguments... arguments) {
    FOLIOT_ASSERT(operations_ != nullptr, "an empty callable must not be called");
    return operations_->invoke(storage_, std::forward<Arguments>(arguments)...);
  }

  /// Destroys the closure, if there is one: afterwards everything it captured is gone.
  void reset() noexcept {
    if (operations_ == nullptr) return;
    // Emptied first, so that a closure whose destructor looks back here finds nothing to destroy again.
    std::exchange(operations_, nullptr)->destroy(storage_);
  }

  /// Whether a closure of this type is stored without an allocation.
  template <class Target>
  static constexpr bool fits =
      sizeof(Target) <= Capacity && alignof(Target) <= alignof(void*) && std::is_nothrow_move_constructible_v<Target>;

 private:
  static_assert(Capacity >= sizeof(void*), "foliot: a callable needs room for at least one pointer");

  struct operations {
    Result (*invoke)(void* storage, Arguments&&... arguments);
    void (*relocate)(void* from, void* to) noexcept;
    void (*destroy)(void* storage) noexcept;
  };

  template <class Target>
  static constexpr operations operations_inside{
      [](void* storage, Arguments&&... arguments) -> Result {
        return std::invoke_r<Result>(*std::launder(static_cast<Target*>(storage)),
                                     std::forward<Arguments>(arguments)...);
      },
      [](void* from, void* to) noexcept {
        Target* source = std::launder(static_cast<Target*>(from));
        std::construct_at(static_cast<Target*>(to), std::move(*source));
        std::destroy_at(source);
      },
      [](void* storage) noexcept { std::destroy_at(std::launder(static_cast<Target*>(storage))); }};

  template <class Target>
  static constexpr operations operations_outside{
      [](void* storage, Arguments&&... arguments) -> Result {
        return std::invoke_r<Result>(**std::launder(static_cast<Target**>(storage)),
                                     std::forward<Arguments>(arguments)...);
      },
      [](void* from, void* to) noexcept {
        std::construct_at(static_cast<Target**>(to), *std::launder(static_cast<Target**>(from)));
      },
      [](void* storage) noexcept { delete *std::launder(static_cast<Target**>(storage)); }};

  void take(callable& other) noexcept {
    operations_ = std::exchange(other.operations_, nullptr);
    if (operations_ != nullptr) operations_->relocate(other.storage_, storage_);
  }

  const operations* operations_ = nullptr;
  alignas(void*) std::byte storage_[Capacity];
};

}  // namespace foliot::inline core
