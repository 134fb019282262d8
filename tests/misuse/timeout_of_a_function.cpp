// expect: foliot: a time limit is for a task: call the function, with_deadline(ask(server), deadline)
#include <foliot/runtime.hpp>

#include <chrono>

foliot::task<int> ask();

foliot::task<bool> run(foliot::instant deadline) {
#ifdef CORRECT
  const auto got = co_await foliot::runtime::with_deadline(ask(), deadline);
#else
  const auto got = co_await foliot::runtime::with_deadline(ask, deadline);
#endif
  co_return got.has_value();
}
