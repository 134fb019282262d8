// A callable whose copies share one closure: for options, which are copied, and handlers, which several threads call.
//
//   foliot::shared_callable<void(int)> tell = [log = std::move(log)](int value) { … };
//   auto same = tell;                             // calls the same closure
//
// Unlike std::function it takes closures that only move, copies no closure, and refuses null pointers at construction.
//
// Thread safety: as std::shared_ptr's; a call is a call of the shared closure, and as safe as that is. The closure is
// destroyed with the last copy. Complexity: O(1); making one from a closure allocates.
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <foliot/core/callable.hpp>
#include <foliot/core/contract.hpp>

namespace foliot::inline core {
template <class Signature>
class shared_callable;

/// A copyable callable of the signature Result(Arguments...).
template <class Result, class... Arguments>
class shared_callable<Result(Arguments...)> {
  using kept = callable<Result(Arguments...)>;

 public:
  /// Empty. An empty callable must not be called.
  shared_callable() noexcept = default;
  shared_callable(std::nullptr_t) = delete;  // a null callback does not compile

  /// Stores a copy of `target`, or `target` moved. Throws as callable's constructor does, and std::bad_alloc.
  template <class Target>
    requires(!std::same_as<std::remove_cvref_t<Target>, shared_callable>) && std::constructible_from<kept, Target>
  shared_callable(Target&& target)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : kept_(std::make_shared<kept>(std::forward<Target>(target))) {}

  /// Whether it holds a closure.
  [[nodiscard]] explicit operator bool() const noexcept { return kept_ != nullptr; }

  /// Calls the closure. Precondition: not empty.
  Result operator()(Arguments... arguments) const {
    FOLIOT_ASSERT(kept_ != nullptr, "an empty callable must not be called");
    return (*kept_)(std::forward<Arguments>(arguments)...);
  }

 private:
  std::shared_ptr<kept> kept_;
};

}  // namespace foliot::inline core

namespace foliot::detail {
template <class Signature>
inline constexpr bool is_callable<shared_callable<Signature>> = true;
}  // namespace foliot::detail
