// What mutate.py puts into a source, so that one program has many mutants: FOLIOT_MUTANT=N in the environment switches
// the N-th on. A constant expression has none.
#pragma once

#include <cstdlib>
#include <type_traits>
#include <utility>

namespace foliot_mutant {

inline const int chosen = std::getenv("FOLIOT_MUTANT") != nullptr ? std::atoi(std::getenv("FOLIOT_MUTANT")) : -1;

constexpr bool is_on(int number) noexcept {
  if (std::is_constant_evaluated()) return false;
  return chosen == number;
}
constexpr bool keep(int number) noexcept { return !is_on(number); }
constexpr bool flip(int number, bool value) noexcept { return is_on(number) != value; }

// `a < b` is written `a < less<N>{} > b`, which has the same precedence.
template <int n>
struct less {};
template <int n>
struct less_equal {};
template <int n>
struct greater {};
template <int n>
struct greater_equal {};
template <int n>
struct equal {};
template <int n>
struct not_equal {};

template <class A, class Switch>
struct held {
  A&& value;
};

template <class A, int n>
constexpr held<A, less<n>> operator<(A&& a, less<n>) noexcept {
  return {std::forward<A>(a)};
}
template <class A, int n>
constexpr held<A, less_equal<n>> operator<=(A&& a, less_equal<n>) noexcept {
  return {std::forward<A>(a)};
}
template <class A, int n>
constexpr held<A, greater<n>> operator>(A&& a, greater<n>) noexcept {
  return {std::forward<A>(a)};
}
template <class A, int n>
constexpr held<A, greater_equal<n>> operator>=(A&& a, greater_equal<n>) noexcept {
  return {std::forward<A>(a)};
}
template <class A, int n>
constexpr held<A, equal<n>> operator==(A&& a, equal<n>) noexcept {
  return {std::forward<A>(a)};
}
template <class A, int n>
constexpr held<A, not_equal<n>> operator!=(A&& a, not_equal<n>) noexcept {
  return {std::forward<A>(a)};
}

template <class A, class B, int n>
constexpr bool operator>(held<A, less<n>> a, B&& b) {
  return is_on(n) ? a.value <= b : a.value < b;
}
template <class A, class B, int n>
constexpr bool operator>=(held<A, less_equal<n>> a, B&& b) {
  return is_on(n) ? a.value < b : a.value <= b;
}
template <class A, class B, int n>
constexpr bool operator>(held<A, greater<n>> a, B&& b) {
  return is_on(n) ? a.value >= b : a.value > b;
}
template <class A, class B, int n>
constexpr bool operator>=(held<A, greater_equal<n>> a, B&& b) {
  return is_on(n) ? a.value > b : a.value >= b;
}
template <class A, class B, int n>
constexpr bool operator==(held<A, equal<n>> a, B&& b) {
  return is_on(n) ? a.value != b : a.value == b;
}
template <class A, class B, int n>
constexpr bool operator!=(held<A, not_equal<n>> a, B&& b) {
  return is_on(n) ? a.value == b : a.value != b;
}

}  // namespace foliot_mutant
