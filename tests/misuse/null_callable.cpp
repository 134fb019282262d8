// expect: Capacity>::callable(std::nullptr_t)
// expect with clang: invokes a deleted function
#include <foliot/core/callable.hpp>

void run() {
#ifdef CORRECT
  const foliot::callable<void()> c = [] {};
#else
  const foliot::callable<void()> c = nullptr;
#endif
}
