// expect: callable<void()>::callable(const foliot::core::callable<void()>&)
// expect with clang: call to implicitly-deleted copy constructor of 'const foliot::callable<void ()>'
#include <foliot/core/callable.hpp>

#include <utility>

void run(foliot::callable<void()> first) {
#ifdef CORRECT
  const foliot::callable<void()> second = std::move(first);
#else
  const foliot::callable<void()> second = first;
#endif
}
