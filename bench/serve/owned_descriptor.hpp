// A descriptor of the system that is closed with its owner.
#pragma once

#include <utility>

#include <unistd.h>

namespace foliot::program::bench {

class owned_descriptor {
 public:
  owned_descriptor() noexcept = default;
  /// Owns the descriptor; none if it is negative.
  explicit owned_descriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  owned_descriptor(owned_descriptor&& from) noexcept : descriptor_(std::exchange(from.descriptor_, -1)) {}
  owned_descriptor& operator=(owned_descriptor&& from) noexcept {
    std::swap(descriptor_, from.descriptor_);
    return *this;
  }
  ~owned_descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  /// -1 if it owns none.
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_ = -1;
};

}  // namespace foliot::program::bench
