// expect: no match for 'operator+'
// expect with clang: invalid operands to binary expression ('foliot::instant' and 'foliot::instant')
#include <foliot/core/instant.hpp>

foliot::instant middle(foliot::instant a, foliot::instant b) {
#ifdef CORRECT
  return a + (b - a) / 2;
#else
  return a + b;
#endif
}
