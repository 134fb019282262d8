// expect: foliot: spawn() takes a task, or a function that returns one: write -> foliot::task<> and co_return
#include <foliot/runtime.hpp>

void run(int& count) {
#ifdef CORRECT
  foliot::runtime::spawn([&count]() -> foliot::task<> {
    ++count;
    co_return;
  });
#else
  foliot::runtime::spawn([&count] { ++count; });
#endif
}
