// expect with clang: calling function 'take' requires holding mutex 'lock_' exclusively
#include <foliot/core/sync/mutex.hpp>

#include "lineage/record_pool.hpp"

/// As a shard, whose lock guards the pool of its records.
class owner {
 public:
  void reserve() {
#ifdef CORRECT
    const foliot::lock held(lock_);
#endif
    records_.take(lock_, records_.room_for(lock_, 16));
  }

 private:
  foliot::mutex lock_{foliot::lock_rank::engine};
  foliot::detail::pooled_records records_{sizeof(int), 16};
};
