// expect: use of deleted function 'foliot::service::watch::watch(const foliot::service::watch&)'
// expect with clang: call to implicitly-deleted copy constructor of 'const foliot::watch'
#include <foliot/service.hpp>

#include <utility>

void run(foliot::watch first) {
#ifdef CORRECT
  const foliot::watch second = std::move(first);
#else
  const foliot::watch second = first;
#endif
}
