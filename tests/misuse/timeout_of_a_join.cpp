// expect: foliot: a time limit is for a task: write one that waits for this
#include <foliot/runtime.hpp>

#include <chrono>

foliot::task<int> finished(foliot::runtime::join_handle<int> work) { co_return co_await work.join(); }

foliot::task<bool> run(foliot::runtime::join_handle<int> work) {
  using namespace std::chrono_literals;
#ifdef CORRECT
  const auto got = co_await foliot::runtime::with_timeout(finished(std::move(work)), 1s);
#else
  const auto got = co_await foliot::runtime::with_timeout(work.join(), 1s);
#endif
  co_return got.has_value();
}
