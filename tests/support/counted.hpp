// A capture that counts its life, for tests of what becomes of functions that are passed on.
#pragma once

#include <utility>

namespace foliot::test {

/// The captures that it is moved to count as the same. `Tally` has the counters `made` and `destroyed`, atomic ones
/// where several threads use it.
template <class Tally>
class counted {
 public:
  explicit counted(Tally& in) noexcept : tally_(&in) { ++tally_->made; }
  counted(counted&& other) noexcept : tally_(std::exchange(other.tally_, nullptr)) {}
  counted& operator=(counted&&) = delete;
  ~counted() {
    if (tally_ != nullptr) ++tally_->destroyed;
  }
  [[nodiscard]] Tally& all() const noexcept { return *tally_; }

 private:
  Tally* tally_;
};

}  // namespace foliot::test
