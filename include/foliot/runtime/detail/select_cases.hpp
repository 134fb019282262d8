// The cases of a select, and the order in which they are tried. Thread safety: the waiting task's.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/scheduler_calls.hpp>
#include <foliot/runtime/detail/wait_reason_of.hpp>
#include <foliot/runtime/task.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

/// Stands for "no other case can complete now".
class otherwise_case {};

/// The operation of a case: its own, or the case itself.
template <class Case>
auto& operation_of(Case& one) noexcept {
  if constexpr (requires { one.get_operation(); }) {
    return one.get_operation();
  } else {
    return one;
  }
}

/// An operation, or an awaiter that has one.
template <class Case>
concept waits = requires(Case& one) {
  { one.get_operation() } -> operation;
} || operation<Case>;
template <class Case>
concept selectable = waits<Case> || std::same_as<Case, otherwise_case>;

// Types that are not cases of a select, but are often given to one.
class timer_channel_handle;
class sleep_awaiter;
template <class Result>
class join_awaiter;
template <class Case>
inline constexpr bool is_join = false;
template <class Result>
inline constexpr bool is_join<join_awaiter<Result>> = true;

/// Does not compile unless `Case` is a case of a select, and says what to write instead.
template <class Case>
consteval void check_case() {
  using type = std::remove_cv_t<Case>;
  constexpr bool is_timer = std::is_class_v<type> && std::is_base_of_v<timer_channel_handle, type>;
  constexpr bool is_sleep = std::is_same_v<type, sleep_awaiter>;
  static_assert(!is_timer,
                "foliot: a case of a select waits for the next instant of a timer or a ticker: write select(beat.c(), "
                "...) instead of select(beat, ...)");
  static_assert(!is_sleep,
                "foliot: a sleep is not a case of a select: write after(length), or c() of a timer that was made with "
                "the deadline");
  static_assert(!is_task<type> && !is_join<type>,
                "foliot: the end of a task is not a case of a select: let the task send its result to a channel, and "
                "write select(results.receive(), ...)");
  static_assert(is_timer || is_sleep || is_task<type> || is_join<type> || selectable<Case>,
                "foliot: a case of a select is an operation of foliot/runtime, such as receive(), send(), c() and "
                "after(), or when() or otherwise()");
}

/// The type of the result of a case.
template <class Case>
struct case_result {
  using type = decltype(operation_of(std::declval<Case&>()).result());
};
template <>
struct case_result<otherwise_case> {
  using type = void;
};
/// The type in which a result is stored: std::monostate for void, a pointer for a reference.
template <class Result>
using kept_result = std::conditional_t<
    std::is_void_v<Result>, std::monostate,
    std::conditional_t<std::is_reference_v<Result>, std::remove_reference_t<Result>*, std::remove_cv_t<Result>>>;

/// Fills `order` with the numbers below its size, in an order that the processor's random source decides.
inline void shuffle(std::span<std::uint16_t> order) noexcept {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t j = i == 0 ? 0 : random_below(i + 1);
    order[i] = order[j];
    order[j] = static_cast<std::uint16_t>(i);
  }
}

/// An operation that takes part in a select only if a condition holds.
template <waits Case>
class conditional_case {
 public:
  conditional_case(bool takes_part, Case& one) noexcept : case_(one), takes_part_(takes_part) {}

  [[nodiscard]] wait_kind kind() const noexcept { return wait_kind_of(operation_of(case_)); }
  [[nodiscard]] bool takes_part() const noexcept { return takes_part_; }
  [[nodiscard]] bool try_complete() { return takes_part_ && operation_of(case_).try_complete(); }
  [[nodiscard]] bool begin(wait_point& wait, wait_word::source by) {
    return !takes_part_ || begin_operation(operation_of(case_), wait, by);
  }
  void end() noexcept { operation_of(case_).end(); }
  decltype(auto) result() { return operation_of(case_).result(); }

 private:
  Case& case_;
  bool takes_part_;
};

/// Adds the kind of a case that a select may wait for.
template <class Case>
void add_kind(wait_kinds& to, Case& one) noexcept {
  if constexpr (requires { one.takes_part(); }) {
    if (one.takes_part()) to.add(one.kind());
  } else if constexpr (!std::same_as<Case, otherwise_case>) {
    to.add(wait_kind_of(operation_of(one)));
  }
}

/// The index and the result of the operation that completed.
template <class Result>
class any_result {
 public:
  any_result(std::size_t which, Result what) : index(which), value(std::move(what)) {}

  std::size_t index;
  Result value;
};

/// An operation that completes when any one of several operations of the same type does. The caller must keep them
/// until the wait ends.
template <class Operation>
class any_operation {
 public:
  using result_type = any_result<decltype(std::declval<Operation&>().result())>;

  /// Throws std::length_error for more than 4,094 operations, std::bad_alloc.
  explicit any_operation(std::span<operation_awaiter<Operation>> all) : all_(all), order_(checked(all.size())) {}
  any_operation(const any_operation&) = delete;
  any_operation& operator=(const any_operation&) = delete;
  ~any_operation() { end(); }

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::select; }
  [[nodiscard]] wait_kinds cases() const noexcept {
    wait_kinds kinds;
    if (!all_.empty()) kinds.add(wait_kind_of(at(0)));
    return kinds;
  }
  [[nodiscard]] bool try_complete() {
    shuffle(order_);
    chosen_.reset();
    for (const std::uint16_t i : order_) {
      if (!at(i).try_complete()) continue;
      chosen_ = i;
      return true;
    }
    return false;
  }
  [[nodiscard]] bool begin(wait_point& wait, wait_word::source by) {
    begun_ = true;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!begin_operation(at(i), wait, by)) return false;
    }
    return true;
  }
  void end() noexcept {
    if (!std::exchange(begun_, false)) return;
    for (std::size_t i = 0; i < all_.size(); ++i) at(i).end();
  }
  [[nodiscard]] result_type result() {
    std::size_t i = 0;
    if (chosen_.has_value()) {
      i = *chosen_;
    } else {
      while (!at(i).completed()) ++i;
    }
    return result_type(i, at(i).result());
  }

 private:
  static std::size_t checked(std::size_t size) {
    if (size > wait_word::most_sources) [[unlikely]] {
      throw std::length_error("foliot: select_any() takes at most 4,094 operations, not " + std::to_string(size));
    }
    return size;
  }
  [[nodiscard]] Operation& at(std::size_t i) const noexcept { return all_[i].get_operation(); }

  std::span<operation_awaiter<Operation>> all_;
  std::vector<std::uint16_t> order_;
  std::optional<std::size_t> chosen_;
  bool begun_ = false;
};

}  // namespace foliot::runtime::detail
