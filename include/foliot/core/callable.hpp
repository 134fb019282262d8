// A move-only callable with room for a small closure inside it.
//
// Unlike std::move_only_function it states how large a closure fits without an allocation, refuses null pointers at
// construction, destroys its closure at a defined time (`reset`), and also exists where libc++ 19 is used.
//
//   foliot::callable<void(int)> on_value = [buffer = std::move(buffer)](int value) mutable { … };
//
// Thread safety: a plain object's. Moving a callable relocates its closure: the closure is move-constructed and the old
// one destroyed; the moved-from callable is empty. A closure that is larger than Capacity, needs stricter alignment
// than a pointer, or has a move that may throw lives in one allocation of its own.
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

/// Throws std::invalid_argument for a null function pointer, an empty std::function, an empty callable and the like.
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

/// A move-only callable of the signature Result(Arguments...). Closures of up to Capacity bytes (by default three
/// pointers) are stored inside it; see fits. Thread safety: a plain object's.
template <class Result, class... Arguments, std::size_t Capacity>
class callable<Result(Arguments...), Capacity> {
 public:
  /// Empty. An empty callable must not be called.
  callable() noexcept = default;
  callable(std::nullptr_t) = delete;  // a null callback does not compile

  /// Stores a copy of `target`, or `target` moved. Throws std::invalid_argument when `target` is a null pointer or an
  /// empty std::function, std::bad_alloc, and the exceptions of the closure's own constructor, with nothing changed.
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

  /// Relocates the closure; `other` is empty afterwards.
  callable(callable&& other) noexcept { take(other); }
  callable& operator=(callable&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~callable() { reset(); }

  /// Whether it holds a closure.
  [[nodiscard]] explicit operator bool() const noexcept { return operations_ != nullptr; }

  /// Calls the closure. Precondition: not empty.
  Result operator()(Arguments... arguments) {
    FOLIOT_ASSERT(operations_ != nullptr, "an empty callable must not be called");
    return operations_->invoke(storage_, std::forward<Arguments>(arguments)...);
  }

  /// Destroys the closure, if there is one, and with it everything that it captured. The callable is empty afterwards.
  void reset() noexcept {
    if (operations_ == nullptr) return;
    // Emptied first: the closure's destructor may call reset() again, which then finds nothing to destroy.
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
