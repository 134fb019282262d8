// Counts the references to an object that ends with the last of them: a member of an object that an intrusive_ptr
// points to.
//
// Thread safety: retain() and release() from any thread that holds a reference, and retain() from the thread that alone
// has an object without references; try_retain() from any thread for which
// the object still exists. At most 2^32 - 1 references. Complexity: O(1).
#pragma once

#include <foliot/core/language.hpp>

#include <cstdint>

#include <foliot/core/seam/sync.hpp>

namespace foliot::runtime::detail {

class reference_count {
 public:
  explicit reference_count(std::uint32_t first) noexcept : references_(first) {}

  // relaxed: a new reference publishes nothing.
  void retain() noexcept { references_.fetch_add(1, seam::relaxed); }
  /// Drops one reference. Returns true if it was the last one: the caller must end the object.
  // acq_rel: what all other threads did through their references happens before the end of the object.
  [[nodiscard]] bool release() noexcept { return references_.fetch_sub(1, seam::acq_rel) == 1; }
  /// Retains, unless the last reference has been dropped: then returns false.
  [[nodiscard]] bool try_retain() noexcept {
    std::uint32_t seen = references_.load(seam::relaxed);
    while (seen != 0) {
      // relaxed: as in retain().
      if (references_.compare_exchange_weak(seen, seen + 1, seam::relaxed, seam::relaxed)) return true;
    }
    return false;
  }
  /// Whether there is exactly one reference. The answer is final only if no other thread can retain.
  // acquire: pairs with release(), as its own acquire does.
  [[nodiscard]] bool is_unique() const noexcept { return references_.load(seam::acquire) == 1; }

 private:
  seam::atomic<std::uint32_t> references_;
};

}  // namespace foliot::runtime::detail
