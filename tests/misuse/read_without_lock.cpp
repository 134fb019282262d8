// expect with clang: reading variable 'value_' requires holding mutex 'lock_'
#include <foliot/core/annotations.hpp>
#include <foliot/core/sync/mutex.hpp>

class counter {
 public:
  int value() {
#ifdef CORRECT
    const foliot::lock held(lock_);
#endif
    return value_;
  }

 private:
  foliot::mutex lock_{foliot::lock_rank::engine};
  int value_ FOLIOT_GUARDED_BY(lock_) = 0;
};
