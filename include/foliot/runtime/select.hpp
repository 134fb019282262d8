// Waits for several operations at once, of which exactly one completes.
//
//   auto chosen = co_await select(requests.receive(), answers.send(reply), otherwise());
//   switch (chosen.index()) {
//     case 0: co_await serve(chosen.get<0>()); break;
//     …
//   }
//   chosen.match([&](std::optional<request> r) { … },      // or, if nothing is awaited: one handler for each case,
//                [&] { … },                                // called with the result of that case
//                [&] { … });
//
// Cases are the operations of foliot/runtime: receives, sends, locks and others; of a timer or a ticker it is c(), and
// after() is a timer for one select. A case is written in place, or is an object with a name that lives until the
// select ends. If several cases can complete at once, one of them is chosen, each with the same probability, by the
// processor's random source; on virtual time the seed decides. The other cases have no effect: they send, receive and
// lock nothing. A value that was moved into a send is destroyed with it.
//
//   otherwise()             a case that is chosen if no other one can complete at once; then the select does not wait
//   when(condition, case)   a case that takes part only if the condition holds
//   select()                waits until the task is asked to stop; if all tasks do so, that is a deadlock
//   select_any(receives)    any number of receives of one type, which stay usable; it may be a case itself:
//
//     std::vector<receiving<int>> receives;
//     for (const auto& c : channels) receives.push_back(c.receive());
//     auto got = co_await select_any(receives);             // got.index, and got.value: the result of that receive()
//
// Thread safety: only the calling task uses a select and its cases. Complexity: O(number of cases); allocates nothing,
// except that select_any() allocates two bytes for each case.
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

/// The case that a select has chosen, and its result. `Results`: the result types of all cases.
template <class... Results>
class selected {
  template <std::size_t Case>
  using result = std::tuple_element_t<Case, std::tuple<Results...>>;

 public:
  /// The number of the chosen case, from 0, in the order of the cases.
  [[nodiscard]] std::size_t index() const noexcept { return kept_.index(); }

  /// The result of case `Case`, moved out. Precondition: that case was chosen.
  template <std::size_t Case>
  result<Case> get() {
    FOLIOT_ASSERT(index() == Case, "get<Case>() must name the chosen case");
    if constexpr (std::is_reference_v<result<Case>>) {
      return static_cast<result<Case>>(**std::get_if<Case>(&kept_));
    } else if constexpr (!std::is_void_v<result<Case>>) {
      return std::move(*std::get_if<Case>(&kept_));
    }
  }

  /// Calls the handler of the chosen case with the result of that case. There must be one handler for each case, in the
  /// order of the cases, and all must return the same type.
  template <class... Handlers>
  decltype(auto) match(Handlers&&... handlers) {
    static_assert(sizeof...(Handlers) == sizeof...(Results),
                  "foliot: match() takes one handler for each case of the select");
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

/// The case that is chosen if no other case can complete at once. At most one in a select.
[[nodiscard]] inline detail::otherwise_case otherwise() noexcept { return detail::otherwise_case(); }

/// The case `one`, which takes part only if `condition` holds.
template <detail::waits Case>
[[nodiscard]] detail::conditional_case<Case> when(bool condition, Case&& one) noexcept {
  return detail::conditional_case<Case>(condition, one);
}
/// The same for a case with a name.
template <detail::waits Case>
[[nodiscard]] detail::conditional_case<Case> when(bool condition, Case& one) noexcept {
  return detail::conditional_case<Case>(condition, one);
}
/// For an object that is not a case: does not compile, and the message says what to write instead.
template <class Case>
  requires(!detail::waits<std::remove_reference_t<Case>>)
detail::otherwise_case when(bool /*condition*/, Case&& /*one*/) {
  detail::check_case<std::remove_reference_t<Case>>();
  static_assert(!std::is_same_v<std::remove_cvref_t<Case>, detail::otherwise_case>,
                "foliot: otherwise() takes part in every select, and takes no condition");
  return detail::otherwise_case();
}

/// A task must await the result, which is a `selected`. Throws what the chosen case alone would throw (such as
/// channel_closed from a send). Throws `cancelled` in a task that is asked to stop, if the select has to wait or is the
/// last step of the task's turn (task.hpp); then no case has completed.
template <class... Cases>
  requires(sizeof...(Cases) > 0 && (detail::selectable<std::remove_reference_t<Cases>> && ...))
[[nodiscard("co_await it")]] auto select(Cases&&... cases) noexcept {
  using chosen = selected<typename detail::case_result<std::remove_reference_t<Cases>>::type...>;
  return detail::select_awaiter<chosen, std::remove_reference_t<Cases>...>(cases...);
}
/// For objects of which at least one is not a case: does not compile, and the message says what to write instead.
template <class... Cases>
  requires(sizeof...(Cases) > 0 && !(detail::selectable<std::remove_reference_t<Cases>> && ...))
auto select(Cases&&... /*cases*/) {
  (detail::check_case<std::remove_reference_t<Cases>>(), ...);
  return detail::forever_awaiter();
}
/// Waits until the task is asked to stop; then throws `cancelled`.
[[nodiscard("co_await it")]] inline detail::forever_awaiter select() noexcept { return detail::forever_awaiter(); }

/// One case of any number of operations of one type. Await the result, or make it a case of a select: it gives the
/// index of the completed operation and its result. The operations must live until then, and may be used again. Throws
/// std::length_error for more than 4,094 of them, std::bad_alloc.
template <class Operation>
[[nodiscard("co_await it")]] auto select_any(std::span<detail::operation_awaiter<Operation>> cases) {
  return detail::operation_awaiter<detail::any_operation<Operation>>(cases);
}
/// The same for a container.
template <class Container>
  requires requires(Container& all) { std::span(all).front().get_operation(); }
[[nodiscard("co_await it")]] auto select_any(Container& cases) {
  return select_any(std::span(cases));
}

}  // namespace foliot::runtime
