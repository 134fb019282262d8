// expect with clang: acquiring mutex 'guard' that is already held
#include <foliot/core/sync/mutex.hpp>

void run(foliot::mutex& guard) {
  const foliot::lock held(guard);
#ifndef CORRECT
  const foliot::lock again(guard);
#endif
}
