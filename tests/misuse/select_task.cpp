// expect: foliot: the end of a task is not a case of a select: let the task send its result to a channel
#include <foliot/runtime.hpp>

foliot::task<int> answer(foliot::runtime::channel<int> to) {
  co_await to.send(42);
  co_return 42;
}

foliot::task<> run(foliot::runtime::channel<int> numbers) {
  auto answering = foliot::runtime::spawn(answer(numbers));
#ifdef CORRECT
  co_await foliot::runtime::select(numbers.receive());
#else
  co_await foliot::runtime::select(numbers.receive(), answering.join());
#endif
}
