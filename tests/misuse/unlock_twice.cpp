// expect with clang: releasing mutex 'guard' that was not held
#include <foliot/core/sync/mutex.hpp>

void run(foliot::mutex& guard) {
  guard.lock();
  guard.unlock();
#ifndef CORRECT
  guard.unlock();
#endif
}
