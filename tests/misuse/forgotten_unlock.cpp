// expect with clang: mutex 'guard' is still held at the end of function
#include <foliot/core/sync/mutex.hpp>

void run(foliot::mutex& guard) {
  guard.lock();
#ifdef CORRECT
  guard.unlock();
#endif
}
