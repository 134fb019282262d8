// A queue with a fixed capacity, of values whose moves do not throw. O(1); allocates once. Thread safety: a plain
// object.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include <foliot/core/contract.hpp>

namespace foliot::runtime::detail {

/// A first-in, first-out ring buffer.
template <class Value>
class ring {
  static_assert(std::is_nothrow_move_constructible_v<Value>);

 public:
  /// Throws std::bad_alloc.
  explicit ring(std::size_t capacity)
      : slots_(capacity == 0 ? nullptr : std::allocator<Value>().allocate(capacity)), capacity_(capacity) {}
  ~ring() {
    while (size_ != 0) static_cast<void>(pop());
    if (slots_ != nullptr) std::allocator<Value>().deallocate(slots_, capacity_);
  }
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] bool full() const noexcept { return size_ == capacity_; }

  /// Precondition: not full.
  void push(Value&& value) noexcept {
    FOLIOT_ASSERT(!full(), "push() must not be called on a full ring");
    const std::size_t end = first_ + size_ < capacity_ ? first_ + size_ : first_ + size_ - capacity_;
    std::construct_at(slots_ + end, std::move(value));
    ++size_;
  }
  /// Returns the oldest value. Precondition: not empty.
  [[nodiscard]] Value pop() noexcept {
    FOLIOT_ASSERT(!empty(), "pop() must not be called on an empty ring");
    Value oldest(std::move(slots_[first_]));
    std::destroy_at(slots_ + first_);
    first_ = first_ + 1 == capacity_ ? 0 : first_ + 1;
    --size_;
    return oldest;
  }

 private:
  Value* const slots_;
  const std::size_t capacity_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace foliot::runtime::detail
