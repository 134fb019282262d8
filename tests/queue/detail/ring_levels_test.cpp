#include <foliot/queue/detail/ring_levels.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <foliot/core/seam/random.hpp>

namespace foliot::detail {
namespace {

template <class Rings>
class RingLevels : public ::testing::Test {};
using geometries = ::testing::Types<ring_levels<6>, ring_levels<7>, ring_levels<8>>;
TYPED_TEST_SUITE(RingLevels, geometries);

constexpr std::int64_t earliest = instant::earliest().nanoseconds();
constexpr std::int64_t latest = instant::latest().nanoseconds();

/// A slot's beginning, and its end, which may be past all time.
template <class Rings>
void expect_in_its_slot(instant deadline, instant base) {
  const std::size_t slot = Rings::slot_for(deadline, base);
  ASSERT_LT(slot, Rings::slots);
  const instant start = Rings::start_of(slot, base);
  EXPECT_LE(start, deadline);
  EXPECT_EQ(Rings::floor(deadline, Rings::shift(Rings::level(slot))), start)
      << deadline.nanoseconds() << " from " << base.nanoseconds();
}

TYPED_TEST(RingLevels, ADeadlineLiesInItsSlotAtEveryDistance) {
  for (const std::int64_t from :
       {earliest, std::int64_t{-1'000'000'007}, std::int64_t{0}, std::int64_t{1'700'000'000'123'456'789}}) {
    const instant base = TypeParam::floor(instant::from_nanoseconds(from), TypeParam::shift(0));
    for (int bit = 0; bit < 64; ++bit) {
      for (const int beside : {-1, 0, 1}) {
        for (const std::uint64_t factor : {1u, 31u, 32u, 33u, 61u, 62u, 63u}) {
          const std::uint64_t ahead = (std::uint64_t{1} << bit) * factor + static_cast<std::uint64_t>(beside);
          const auto room = static_cast<std::uint64_t>(latest) - static_cast<std::uint64_t>(base.nanoseconds());
          if (ahead > room) continue;
          expect_in_its_slot<TypeParam>(instant::from_nanoseconds(static_cast<std::int64_t>(
                                            static_cast<std::uint64_t>(base.nanoseconds()) + ahead)),
                                        base);
        }
      }
    }
    expect_in_its_slot<TypeParam>(instant::latest(), base);
    expect_in_its_slot<TypeParam>(instant::never(), base);
  }
}

TYPED_TEST(RingLevels, ADeadlineLiesInItsSlotAtRandom) {
  random_stream random(11);
  for (int i = 0; i < 200'000; ++i) {
    const instant base = TypeParam::floor(
        instant::from_nanoseconds(static_cast<std::int64_t>(random.below(UINT64_MAX) >> random.below(64))),
        TypeParam::shift(0));
    const std::uint64_t ahead = random.below(UINT64_MAX) >> random.below(64);
    if (ahead > static_cast<std::uint64_t>(latest) - static_cast<std::uint64_t>(base.nanoseconds())) continue;
    expect_in_its_slot<TypeParam>(base + duration::nanoseconds(static_cast<std::int64_t>(ahead & INT64_MAX)), base);
  }
}

// Coarser slots for longer timeouts, and never coarser than an eighth of them by much.
TYPED_TEST(RingLevels, ASlotIsASmallPartOfTheDistance) {
  for (std::uint64_t ahead = 4096; ahead < std::uint64_t{1} << 60; ahead += ahead / 7) {
    const std::size_t slot =
        TypeParam::slot_for(instant::from_nanoseconds(static_cast<std::int64_t>(ahead)), instant{});
    const std::uint64_t width = std::uint64_t{1} << TypeParam::shift(TypeParam::level(slot));
    EXPECT_LE(width, ahead / 7) << ahead;
    EXPECT_GE(width, ahead / 64) << ahead;
  }
}

TYPED_TEST(RingLevels, FindsTheFirstOfTheOccupiedSlots) {
  random_stream random(12);
  for (int round = 0; round < 300; ++round) {
    TypeParam rings;
    const instant base = TypeParam::floor(instant::from_nanoseconds(static_cast<std::int64_t>(random.below(1 << 30))),
                                          TypeParam::shift(0));
    struct slot_at {
      instant start;
      std::size_t slot;
    };
    std::vector<slot_at> occupied;
    for (std::uint64_t i = random.below(30); i > 0; --i) {
      const instant deadline =
          base + duration::nanoseconds(static_cast<std::int64_t>(random.below(UINT64_MAX) >> (8 + random.below(50))));
      const std::size_t slot = TypeParam::slot_for(deadline, base);
      const instant start = TypeParam::start_of(slot, base);
      if (start < base) continue;  // base's own slot of a coarse level: the wheel never fills it
      rings.occupy(slot);
      if (std::ranges::find(occupied, slot, &slot_at::slot) == occupied.end()) occupied.push_back({start, slot});
    }
    instant earliest_start = instant::never();
    for (const slot_at& each : occupied) earliest_start = std::min(earliest_start, each.start);
    const auto first = rings.first(base);
    EXPECT_EQ(first.start, earliest_start);
    for (const slot_at& each : occupied) {
      EXPECT_TRUE(rings.is_occupied(each.slot));
      if (each.start == earliest_start) {
        EXPECT_GE(TypeParam::level(first.slot), TypeParam::level(each.slot));
      }
      std::vector<instant> of_level;
      for (const slot_at& other : occupied) {
        if (TypeParam::level(other.slot) == TypeParam::level(each.slot)) of_level.push_back(other.start);
      }
      std::ranges::sort(of_level);
      EXPECT_EQ(rings.first_of(TypeParam::level(each.slot), base).start, of_level[0]);
      std::vector<instant> visited;
      rings.for_each_slot_of(TypeParam::level(each.slot), base, [&](instant start, std::size_t slot) {
        EXPECT_TRUE(rings.is_occupied(slot));
        visited.push_back(start);
        return true;
      });
      EXPECT_EQ(visited, of_level);
    }
    if (!occupied.empty()) {
      const instant at = earliest_start;
      for (int width = TypeParam::shift(0); width < 40; width += 3) {
        std::vector<std::size_t> expected;
        for (const slot_at& each : occupied) {
          if (TypeParam::shift(TypeParam::level(each.slot)) <= width &&
              each.start < TypeParam::end_of_interval(at, width)) {
            expected.push_back(each.slot);
          }
        }
        std::vector<std::size_t> visited;
        rings.for_each_slot_within(at, width, [&](std::size_t slot) { visited.push_back(slot); });
        std::ranges::sort(expected);
        std::ranges::sort(visited);
        EXPECT_EQ(visited, expected) << "width " << width;
      }
    }
    std::size_t counted = 0;
    rings.for_each_occupied([&](std::size_t) { ++counted; });
    EXPECT_EQ(counted, occupied.size());
    rings.for_each_occupied([&](std::size_t slot) { rings.clear(slot); });  // a visitor may clear its slot
    EXPECT_TRUE(rings.first(base).start.is_never());
  }
}

}  // namespace
}  // namespace foliot::detail
