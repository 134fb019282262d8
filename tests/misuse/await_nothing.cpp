// expect: a task awaits tasks, the operations of foliot/runtime, and awaiters
#include <foliot/runtime.hpp>

#include <coroutine>

struct number {
  int value = 0;
};

foliot::task<> waits() {
#ifdef CORRECT
  co_await std::suspend_never();
#else
  const number five{5};
  co_await five;
#endif
}
