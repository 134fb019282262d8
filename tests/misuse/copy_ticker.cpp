// expect: use of deleted function 'foliot::service::ticker::ticker(const foliot::service::ticker&)'
// expect with clang: call to implicitly-deleted copy constructor of 'const foliot::ticker'
#include <foliot/service.hpp>

#include <utility>

void run(foliot::ticker first) {
#ifdef CORRECT
  const foliot::ticker second = std::move(first);
#else
  const foliot::ticker second = first;
#endif
}
