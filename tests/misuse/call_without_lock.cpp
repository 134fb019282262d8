// expect with clang: calling function 'count_locked' requires holding mutex 'lock_' exclusively
#include <foliot/core/annotations.hpp>
#include <foliot/core/sync/mutex.hpp>

class counter {
 public:
  void count() {
#ifdef CORRECT
    const foliot::lock held(lock_);
#endif
    count_locked();
  }

 private:
  void count_locked() FOLIOT_REQUIRES(lock_) { ++value_; }

  foliot::mutex lock_{foliot::lock_rank::engine};
  int value_ FOLIOT_GUARDED_BY(lock_) = 0;
};
