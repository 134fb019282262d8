#include <foliot/queue/detail/window_sort.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include <foliot/core/seam/random.hpp>

namespace foliot::detail {
namespace {

/// Sorts `count` timers with deadlines in [start, start + spread), a window of 2^width ns, and compares.
void expect_sorted(std::size_t count, std::uint64_t spread, int width, random_stream& random) {
  const auto nodes = std::make_unique<timer_node[]>(count);
  const instant start = instant::from_nanoseconds(1'000'000);
  std::vector<deadline_entry> entries(count);
  for (std::size_t i = 0; i < count; ++i) {
    entries[i] = {start + duration::nanoseconds(static_cast<std::int64_t>(random.below(spread))), &nodes[i]};
    timer_node_access::deadline(nodes[i]) = entries[i].deadline;
    timer_node_access::sequence(nodes[i]) = random.below(UINT64_MAX);
  }
  std::vector<deadline_entry> sorted(count);
  sort_into(sorted, entries, start, width);
  std::ranges::sort(entries, fires_before);
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(sorted[i].node, entries[i].node) << "at " << i << " of " << count;
}

TEST(WindowSort, PutsAnyNumberInFiringOrder) {
  random_stream random(1);
  for (std::size_t count = 0; count < 300; ++count) expect_sorted(count, 1 << 18, 18, random);
  for (const std::size_t count : {100u, 1000u, 1024u, 1025u, 2048u, 5000u}) expect_sorted(count, 1 << 24, 24, random);
}

TEST(WindowSort, TiesAreInStartOrder) {
  random_stream random(2);
  for (const std::size_t count : {2u, 15u, 16u, 17u, 18u, 32u, 33u, 254u, 255u, 256u, 500u, 3000u}) {
    expect_sorted(count, 1, 24, random);
    expect_sorted(count, 3, 6, random);
  }
}

TEST(WindowSort, DeadlinesOutsideOfTheWindowAreSortedToo) {
  random_stream random(3);
  for (const std::size_t count : {10u, 100u, 2000u}) expect_sorted(count, std::uint64_t{1} << 40, 12, random);
}

TEST(WindowSort, ManyInANarrowPartOfTheWindow) {
  random_stream random(4);
  for (const std::size_t count : {20u, 200u, 2000u}) expect_sorted(count, 100, 24, random);
}

}  // namespace
}  // namespace foliot::detail
