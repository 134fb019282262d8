// A number that many threads count up, each in a cache line of its own.
//
// Complexity: add, a load and a store for the first 63 threads of a process that are alive; one more
// atomic instruction for the others. Memory: 4 KiB.
// Thread safety: every member from any thread. The sum is exact once those who add have been heard of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <foliot/core/seam/sync.hpp>

namespace foliot::detail {

class thread_counts {
 public:
  void add_one() noexcept {
    const std::size_t mine = seam::this_thread_number();
    seam::atomic<std::uint64_t>& count = counts_[mine].value;
    // relaxed: a count publishes nothing. Only this thread writes a number of its own.
    if (mine != seam::shared_thread_number) [[likely]] {
      count.store(count.load(seam::relaxed) + 1, seam::relaxed);
    } else {
      count.fetch_add(1, seam::relaxed);
    }
  }

  [[nodiscard]] std::uint64_t sum() const noexcept {
    std::uint64_t total = 0;
    for (const line& each : counts_) total += each.value.load(seam::relaxed);
    return total;
  }

 private:
  struct alignas(64) line {
    seam::atomic<std::uint64_t> value{0};
  };
  std::array<line, seam::thread_numbers> counts_;
};

}  // namespace foliot::detail
