// expect: foliot: a case of a select is an operation of foliot/runtime, such as receive(), send(), c() and after()
#include <foliot/runtime.hpp>

foliot::task<> run(foliot::runtime::channel<int> numbers) {
#ifdef CORRECT
  co_await foliot::runtime::select(numbers.receive());
#else
  co_await foliot::runtime::select(numbers);
#endif
}
