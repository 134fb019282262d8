// expect: no match for 'operator<'
// expect with clang: invalid operands to binary expression ('foliot::instant' and 'foliot::duration')
#include <foliot/core/instant.hpp>

bool over(foliot::instant start, foliot::instant now, foliot::duration limit) {
#ifdef CORRECT
  return start + limit < now;
#else
  static_cast<void>(start);
  return now < limit;
#endif
}
