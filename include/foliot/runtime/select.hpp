// Waits for several things at once, of which exactly one happens.
//
//   auto chosen = co_await select(requests.receive(), answers.send(reply), otherwise());
//   switch (chosen.index()) {
//     case 0: co_await serve(chosen.get<0>()); break;
//     …
//   }
//   chosen.match([&](std::optional<request> r) { … },      // or so, where nothing is awaited: a handler for each case,
//                [&] { … },                                // with what the case gave
//                [&] { … });
//
// Cases: whatever in foliot/runtime is an operation: receives, sends, timers, locks. A case is made in place, or has a
// name, and lives until then. If several can complete at once, one of them does, each as likely as any other, by the
// processor's random source: on virtual time the seed decides. The others leave no trace: nothing was sent, taken or
// locked by them.
//
//   otherwise()             a case: is chosen if no other can complete at once. A select with it does not wait
//   when(condition, case)   a case that takes part if the condition holds
//   select()                waits until the task is stopped; if all do, that is a deadlock
//   select_any(receives)    any number of receives of one type, which are kept and may be used again. It is a case,
//   too:
//
//     std::vector<receiving<int>> receives;
//     for (const auto& c : channels) receives.push_back(c.receive());
//     auto got = co_await select_any(receives);             // got.index and got.value, which is what receive() gives
//
// Throws what the chosen case throws alone (channel_closed from a send); `cancelled` in a task that is to stop, if it
// has to wait or the task's turn has come to its end (task.hpp). In tasks only. O(number of cases); allocates nothing,
// but select_any two bytes for each, and throws std::length_error if there are more than 4,094.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include <foliot/core/contract.hpp>
#include <foliot/runtime/detail/operation.hpp>
#include <foliot/runtime/detail/select_awaiter.hpp>
#include <foliot/runtime/detail/select_cases.hpp>

namespace foliot::runtime {

/// Which case of a select has completed, and what it gave. `Results`: what each gives.
template <class... Results>
class selected {
  template <std::size_t Case>
  using result = std::tuple_element_t<Case, std::tuple<Results...>>;

 public:
  /// From 0, in the order of the cases.
  [[nodiscard]] std::size_t index() const noexcept { return kept_.index(); }

  /// What that case gave, moved out. Precondition: it was chosen.
  template <std::size_t Case>
  result<Case> get() {
    FOLIOT_ASSERT(index() == Case, "get() is for the case that was chosen");
    if constexpr (std::is_reference_v<result<Case>>) {
      return static_cast<result<Case>>(**std::get_if<Case>(&kept_));
    } else if constexpr (!std::is_void_v<result<Case>>) {
      return std::move(*std::get_if<Case>(&kept_));
    }
  }

  /// Calls one of the handlers, the one of the case that was chosen. There is one for each, and all return the same.
  template <class... Handlers>
  decltype(auto) match(Handlers&&... handlers) {
    static_assert(sizeof...(Handlers) == sizeof...(Results), "foliot: a select has one handler for each case");
    return call<0>(std::forward<Handlers>(handlers)...);
  }

 private:
  template <class Selected, detail::selectable... Cases>
  friend class detail::select_awaiter;

  template <std::size_t Case, class... Value>
  explicit selected(std::in_place_index_t<Case> which, Value&&... value)
      : kept_(which, std::forward<Value>(value)...) {}

  template <std::size_t Case, class First, class... Rest>
  decltype(auto) call(First&& first, Rest&&... rest) {
    if constexpr (sizeof...(Rest) > 0) {
      if (index() != Case) return call<Case + 1>(std::forward<Rest>(rest)...);
    }
    if constexpr (std::is_void_v<result<Case>>) {
      return std::invoke(std::forward<First>(first));
    } else {
      return std::invoke(std::forward<First>(first), get<Case>());
    }
  }

  std::variant<detail::kept_result<Results>...> kept_;
};

[[nodiscard]] inline detail::otherwise_case otherwise() noexcept { return detail::otherwise_case(); }

template <detail::waits Case>
[[nodiscard]] detail::conditional_case<Case> when(bool condition, Case&& one) noexcept {
  return detail::conditional_case<Case>(condition, one);
}
template <detail::waits Case>
[[nodiscard]] detail::conditional_case<Case> when(bool condition, Case& one) noexcept {
  return detail::conditional_case<Case>(condition, one);
}

template <class... Cases>
  requires(sizeof...(Cases) > 0 && (detail::selectable<std::remove_reference_t<Cases>> && ...))
[[nodiscard("co_await it")]] auto select(Cases&&... cases) noexcept {
  using chosen = selected<typename detail::case_result<std::remove_reference_t<Cases>>::type...>;
  return detail::select_awaiter<chosen, std::remove_reference_t<Cases>...>(cases...);
}
[[nodiscard("co_await it")]] inline detail::forever_awaiter select() noexcept { return detail::forever_awaiter(); }

template <class Operation>
[[nodiscard("co_await it")]] auto select_any(std::span<detail::operation_awaiter<Operation>> cases) {
  return detail::operation_awaiter<detail::any_operation<Operation>>(cases);
}
template <class Container>
  requires requires(Container& all) { std::span(all).front().get_operation(); }
[[nodiscard("co_await it")]] auto select_any(Container& cases) {
  return select_any(std::span(cases));
}

}  // namespace foliot::runtime
