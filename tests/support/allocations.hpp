// Counting and failing allocations: replaces the global operator new of the test that links
// support/allocations.cpp.
#pragma once

#include <cstddef>
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

/// Bytes allocated and not yet freed, by all threads.
[[nodiscard]] std::size_t live_bytes() noexcept;

}  // namespace foliot::test
