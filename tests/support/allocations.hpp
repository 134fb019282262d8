// Counting and failing allocations: replaces the global operator new of the test that links
// support/allocations.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>

namespace foliot::test {

/// How many allocations this thread has made since it was created.
class allocation_count {
 public:
  allocation_count() noexcept;
  [[nodiscard]] std::size_t so_far() const noexcept;

 private:
  std::size_t start_;
};

/// While one lives, this thread's allocations fail with std::bad_alloc, after the first `succeeding`: so many of
/// them, and then no more.
class failing_allocations {
 public:
  explicit failing_allocations(std::size_t succeeding = 0,
                               std::size_t failing = std::numeric_limits<std::size_t>::max()) noexcept;
  ~failing_allocations();
  failing_allocations(const failing_allocations&) = delete;
  failing_allocations& operator=(const failing_allocations&) = delete;
  /// Whether one has failed yet.
  [[nodiscard]] bool failed() const noexcept;
};

/// While one lives, calls a function, once, before this thread's allocation number `nth`, counted from 1. The
/// function's own allocations do not count.
class before_allocation {
 public:
  before_allocation(std::size_t nth, std::function<void()> act);
  ~before_allocation();
  before_allocation(const before_allocation&) = delete;
  before_allocation& operator=(const before_allocation&) = delete;
};

/// Bytes allocated and not yet freed, by all threads.
[[nodiscard]] std::size_t live_bytes() noexcept;

}  // namespace foliot::test
