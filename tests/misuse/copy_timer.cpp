// expect: use of deleted function 'foliot::service::timer::timer(const foliot::service::timer&)'
// expect with clang: call to implicitly-deleted copy constructor of 'const foliot::timer'
#include <foliot/service.hpp>

#include <utility>

void run(foliot::timer first) {
#ifdef CORRECT
  const foliot::timer second = std::move(first);
#else
  const foliot::timer second = first;
#endif
}
