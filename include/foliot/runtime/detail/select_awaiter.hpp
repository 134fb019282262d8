// Waits for one of several cases. The awaiter first tries each case, in a random order. If none completes, it begins
// all with the same wait, each with its number as the source; the claim of the wait chooses the case, and all are
// ended. If a begin() spends the wait for nothing (operation.hpp), all are ended and begun again with a new wait.
// Thread safety: the waiting task's.
#pragma once

#include <foliot/core/language.hpp>

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/select_cases.hpp>
#include <foliot/runtime/detail/wait_point.hpp>
#include <foliot/runtime/wait_kind.hpp>

namespace foliot::runtime::detail {

/// The awaiter of a select with these cases, whose result is a `Selected`.
template <class Selected, selectable... Cases>
class select_awaiter : public task_awaiter {
  static constexpr std::size_t count = sizeof...(Cases);
  static constexpr std::size_t defaults = (std::size_t{0} + ... + (std::same_as<Cases, otherwise_case> ? 1 : 0));
  static_assert(defaults <= 1, "foliot: a select takes at most one otherwise()");
  static_assert(count <= wait_word::most_sources);

 public:
  explicit select_awaiter(Cases&... cases) noexcept : cases_(&cases...) {}
  ~select_awaiter() { end_all(); }  // the task is destroyed where it waits
  select_awaiter(const select_awaiter&) = delete;
  select_awaiter& operator=(const select_awaiter&) = delete;

  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::select; }
  [[nodiscard]] wait_kinds cases() const noexcept {
    wait_kinds kinds;
    std::apply([&kinds](auto*... each) { (add_kind(kinds, *each), ...); }, cases_);
    return kinds;
  }
  [[nodiscard]] bool await_ready() {
    shuffle(order_);
    for (const std::uint16_t i : order_) {
      if (!visit(i, [](auto& one) { return try_case(one); })) continue;
      chosen_ = i;
      return true;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (is_default[i]) chosen_ = i;
    }
    return defaults != 0;
  }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) {
    do {
      wait_.begin(who);
    } while (!begin_all());
    return wait_.park();
  }
  bool interrupt(frame& who) noexcept {
    chosen_ = none;
    wait_.begin_interrupted(who);
    return true;
  }
  Selected await_resume() {
    if (chosen_ == none) {
      end_all();
      wait_.throw_if_interrupted();
      chosen_ = wait_.ended_by();
    }
    return result_from<0>();
  }

 private:
  static constexpr std::size_t none = count;
  static constexpr std::array<bool, count> is_default{std::same_as<Cases, otherwise_case>...};

  template <class Case>
  static bool try_case(Case& one) {
    if constexpr (std::same_as<Case, otherwise_case>) {
      return false;
    } else if constexpr (defaults != 0) {
      return operation_of(one).try_complete();
    } else {
      return try_before_begin(operation_of(one));
    }
  }

  /// Returns false if the wait was spent for nothing; all cases are ended then.
  bool begin_all() {
    begun_ = true;
    for (const std::uint16_t i : order_) {
      const bool goes_on = visit(i, [&](auto& one) {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(one)>, otherwise_case>) {
          return true;
        } else {
          return begin_operation(operation_of(one), wait_, static_cast<wait_word::source>(i));
        }
      });
      if (goes_on) continue;
      end_all();
      return false;
    }
    return true;
  }
  void end_all() noexcept {
    if (!std::exchange(begun_, false)) return;
    const auto end = [](auto& one) {
      if constexpr (!std::same_as<std::remove_cvref_t<decltype(one)>, otherwise_case>) operation_of(one).end();
    };
    std::apply([&](auto*... each) { (end(*each), ...); }, cases_);
  }

  template <std::size_t Case>
  Selected result_from() {
    if constexpr (Case + 1 < count) {
      if (chosen_ != Case) return result_from<Case + 1>();
    }
    auto& one = *std::get<Case>(cases_);
    using type = std::remove_cvref_t<decltype(one)>;
    if constexpr (std::same_as<type, otherwise_case>) {
      return Selected(std::in_place_index<Case>);
    } else if constexpr (std::is_void_v<typename case_result<type>::type>) {
      operation_of(one).result();
      return Selected(std::in_place_index<Case>);
    } else if constexpr (std::is_reference_v<typename case_result<type>::type>) {
      return Selected(std::in_place_index<Case>, std::addressof(operation_of(one).result()));
    } else {
      return Selected(std::in_place_index<Case>, operation_of(one).result());
    }
  }

  template <class Function>
  bool visit(std::size_t which, Function function) {
    return [&]<std::size_t... Is>(std::index_sequence<Is...>) {
      bool result = false;
      static_cast<void>(((which == Is ? (result = function(*std::get<Is>(cases_)), true) : false) || ...));
      return result;
    }(std::index_sequence_for<Cases...>());
  }

  std::tuple<Cases*...> cases_;
  wait_point wait_;
  std::size_t chosen_ = none;
  std::array<std::uint16_t, count> order_;
  bool begun_ = false;
};

/// Waits until the task is interrupted.
class forever_awaiter : public task_awaiter {
 public:
  forever_awaiter() noexcept {}
  [[nodiscard]] static constexpr wait_kind kind() noexcept { return wait_kind::select; }
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> who) noexcept {
    wait_.begin(who);
    return wait_.park();
  }
  void await_resume() const { wait_.throw_if_interrupted(); }

 private:
  wait_point wait_;
};

}  // namespace foliot::runtime::detail
