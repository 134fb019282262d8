// expect with clang: writing variable 'value_' requires holding mutex 'lock_' exclusively
#include <foliot/core/annotations.hpp>
#include <foliot/core/sync/mutex.hpp>

class counter {
 public:
  void count() {
    foliot::lock held(lock_);
    held.leave();
#ifdef CORRECT
    held.enter();
#endif
    ++value_;
  }

 private:
  foliot::mutex lock_{foliot::lock_rank::engine};
  int value_ FOLIOT_GUARDED_BY(lock_) = 0;
};
