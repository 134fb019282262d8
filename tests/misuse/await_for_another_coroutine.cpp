// expect: a task awaits foreign awaiters whose await_suspend takes a std::coroutine_handle<>
#include <foliot/runtime.hpp>

#include <coroutine>

struct promise_of_another_library {};
struct awaiter_of_another_library {
  bool await_ready() const noexcept { return false; }
#ifdef CORRECT
  void await_suspend(std::coroutine_handle<>) const noexcept {}
#else
  void await_suspend(std::coroutine_handle<promise_of_another_library>) const noexcept {}
#endif
  void await_resume() const noexcept {}
};

foliot::task<> waits() { co_await awaiter_of_another_library(); }
