// What g++ 12 destroys twice beside a co_await, and what it does not: the evidence for tools/tidy_coroutines.py, which
// must report each line with TWICE and no line with ONCE (test_coroutines.py). Other compilers destroy everything once.
#include <array>
#include <coroutine>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

int alive = 0;
int fewest = 0;  // below zero: something was destroyed that did not live

/// Counts its objects.
struct part {
  part() { ++alive; }
  explicit part(int) { ++alive; }
  part(const part&) { ++alive; }
  part(part&&) noexcept { ++alive; }
  ~part() {
    if (--alive < fewest) fewest = alive;
  }
  int number = 1;
};

struct task {
  struct promise_type {
    task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

class awaiter {
 public:
  explicit awaiter(int result) : result_(result) {}
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<>) {}
  int await_resume() { return result_; }

 private:
  int result_;
};

struct aggregate {
  part first;
  part second;
};
struct plain {
  int first;
  int second = 0;
};
struct constructed {
  explicit constructed(part p) : only(std::move(p)) {}
  part only;
};
struct implicit {
  implicit(part a, part b) : first(std::move(a)), second(std::move(b)) {}
  part first;
  part second;
};
struct receiver {
  part own;
  awaiter go() { return awaiter(1); }
};
struct aggregate_awaiter {
  part own;
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<>) {}
  int await_resume() { return 1; }
};

awaiter by_value(aggregate) { return awaiter(1); }
awaiter by_reference(const aggregate&) { return awaiter(1); }
awaiter by_rvalue(aggregate&&) { return awaiter(1); }
awaiter by_option(std::optional<aggregate>) { return awaiter(1); }
template <class Value>
awaiter any(Value&&) {
  return awaiter(1);
}
template <class... Arguments>
awaiter emplace(Arguments&&... arguments) {
  const aggregate made(std::forward<Arguments>(arguments)...);
  return awaiter(1);
}
int two(const aggregate&, int result) { return result; }
aggregate make() { return {}; }

/// A coroutine, and whether g++ 12 destroys something of it twice.
struct form {
  form(const char* title, bool is_faulty, task (*start)()) : name(title), twice(is_faulty), call(start) {
    all().push_back(*this);
  }
  static std::vector<form>& all() {
    static std::vector<form> forms;
    return forms;
  }
  const char* name;
  bool twice;
  task (*call)();
};

#define ONCE(name, ...) const form form_##name(#name, false, []() -> task { __VA_ARGS__ })
#define TWICE(name, ...) const form form_##name(#name, true, []() -> task { __VA_ARGS__ })

// clang-format off
ONCE(a_name, aggregate x{part(), part()}; co_await by_value(std::move(x)););
TWICE(value, co_await by_value(aggregate{part(), part()}););
TWICE(reference, co_await by_reference(aggregate{part(), part()}););
TWICE(rvalue, co_await by_rvalue(aggregate{part(), part()}););
TWICE(copies, part p; co_await by_value(aggregate{p, p}););
TWICE(nothing_in_the_braces, co_await by_value(aggregate{}););
TWICE(parentheses, co_await by_value(aggregate(part(), part())););
TWICE(moved_at_once, co_await by_value(std::move(aggregate{part(), part()})););
TWICE(no_name, co_await by_value({part(), part()}););
TWICE(designated, co_await by_value({.first = part(), .second = part()}););
TWICE(no_name_by_reference, co_await by_reference({}););
TWICE(in_an_option, co_await by_option(aggregate{part(), part()}););
TWICE(in_a_named_option, co_await by_option(std::optional<aggregate>(aggregate{part(), part()})););
TWICE(in_a_function, co_await any(std::make_shared<aggregate>(aggregate{part(), part()})););
TWICE(array, co_await any(std::array<part, 2>{part(), part()}););
TWICE(beside, static_cast<void>(two(aggregate{part(), part()}, co_await awaiter(1))););
TWICE(called_on, static_cast<void>(co_await receiver{part()}.go()););
TWICE(awaited, co_await aggregate_awaiter{part()};);
ONCE(returned, co_await by_value(make()););
ONCE(of_its_parts, part p; co_await emplace(p, p););
ONCE(constructed_with_braces, co_await any(constructed{part()}););
ONCE(constructed_with_parentheses, co_await any(implicit(part(), part())););
ONCE(standard_class, co_await any(std::string{"a string that is too long to be inside of the object"}););
ONCE(numbers, co_await any(plain{1, 2}););
ONCE(option_in_place, co_await by_option(std::optional<aggregate>(std::in_place)););
TWICE(closure, part p; co_await any([p] { return p.number; }););
TWICE(closure_with_all, part p; co_await any([=] { return p.number; }););
TWICE(closure_with_its_own, co_await any([p = part()] { return p.number; }););
TWICE(closure_in_a_function, part p; co_await any(std::function<int()>([p] { return p.number; })););
ONCE(closure_with_a_name, part p; auto f = [p] { return p.number; }; co_await any(std::move(f)););
ONCE(closure_with_references, part p; co_await any([&] { return p.number; }););
ONCE(closure_with_a_reference, part p; co_await any([&p, &q = p] { return p.number + q.number; }););
ONCE(closure_with_nothing, co_await any([] { return 1; }););
// clang-format on

}  // namespace

int main() {
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ == 12
  const bool has_the_fault = true;
#else
  const bool has_the_fault = false;
#endif
  int wrong = 0;
  for (const form& each : form::all()) {
    alive = fewest = 0;
    const task run = each.call();
    run.handle.resume();
    run.handle.resume();
    run.handle.destroy();
    const bool twice = alive != 0 || fewest != 0;
    if (twice == (each.twice && has_the_fault)) continue;
    std::printf("%s: %s\n", each.name, twice ? "something is destroyed twice" : "everything is destroyed once");
    ++wrong;
  }
  return wrong == 0 ? 0 : 1;
}
