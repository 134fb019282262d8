// Which tubes live, while sessions use and watch them, and others only look at them.
#include "server/beanstalk/tube_records.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "support/allocations.hpp"

namespace foliot::program::beanstalk {
namespace {

using names = std::vector<std::string>;

TEST(TubeRecords, ATubeEndsAlsoWhileSomebodyLooksAtItsRecord) {
  tube_records all;
  held_tube used = all.hold("t");
  const shared_record looked_at = all.find("t");  // as for `stats-tube`, while the database counts the jobs
  const shared_record left = used.release();
  all.end(left, left->uses);
  EXPECT_EQ(all.names(), names{"default"});
}

TEST(TubeRecords, ATubeThatFindsNoMemoryLeavesNothing) {
  tube_records all;
  held_tube kept = all.hold("kept");
  bool is_made = false;
  for (std::size_t succeeding = 0; !is_made; ++succeeding) {
    try {
      const test::failing_allocations none(succeeding);
      const held_tube made = all.hold("made");
      is_made = true;
    } catch (const std::bad_alloc&) {
    }
    EXPECT_EQ(all.size(), is_made ? 3U : 2U);
  }
  EXPECT_EQ(all.names(), (names{"default", "kept", "made"}));
  const shared_record left = kept.release();
  all.end(left, left->uses);  // the last one takes its place
  EXPECT_EQ(all.names(), (names{"default", "made"}));
}

TEST(TubeRecords, ATubeEndsIfTwoSessionsLeaveItAtOnce) {
  tube_records all;
  held_tube first = all.hold("t");
  held_tube second = all.hold("t");
  const shared_record left_first = first.release();
  const shared_record left_second = second.release();
  all.end(left_first, left_first->uses);
  all.end(left_second, left_second->uses);
  EXPECT_EQ(all.names(), names{"default"});
}

TEST(TubeRecords, ATubeLivesWhileASessionHoldsIt) {
  tube_records all;
  held_tube used = all.hold("t");
  held_tube watched = all.hold("t");
  const shared_record left = used.release();
  all.end(left, left->uses);
  EXPECT_EQ(all.names(), (names{"default", "t"}));
  watched = held_tube();
  all.end(left, left->uses);
  EXPECT_EQ(all.names(), names{"default"});
}

TEST(TubeRecords, ATubeThatWasObtainedSinceLives) {
  tube_records all;
  const shared_record left = all.hold("t").release();
  const auto uses = left->uses.load();
  all.obtain("t");  // it has a job again
  all.end(left, uses);
  EXPECT_EQ(all.names(), (names{"default", "t"}));
}

TEST(TubeRecords, TheDefaultTubeDoesNotEnd) {
  tube_records all;
  const shared_record left = all.hold("default").release();
  all.end(left, left->uses);
  EXPECT_EQ(all.names(), names{"default"});
}

TEST(TubeRecords, NoMoreTubesThanAllowedAreHeld) {
  tube_records all;
  const held_tube one = all.hold("one", 2);
  EXPECT_TRUE(one);
  EXPECT_FALSE(all.hold("two", 2));
  EXPECT_TRUE(all.hold("one", 2));
  EXPECT_EQ(all.size(), 2U);
}

TEST(TubeRecords, AListOfNamesInQuotesIsNoLongerThanTheRoomForIt) {
  held_memory memory(std::size_t{1} << 20);
  tube_records all;
  for (char each = '0'; each <= '9'; ++each) all.obtain(std::string(199, '\x01') + each);
  const std::size_t room = all.bytes_of_list();
  std::size_t length = 0;
  const auto list = all.list(memory);
  for (const shared_piece& each : list->pieces()) length += each->text().size();
  EXPECT_GT(length, std::size_t{10} * 199 * 4);
  EXPECT_LE(length, room);
}

TEST(TubeRecords, AListQuotesNamesThatNoClientCanGive) {
  held_memory memory(std::size_t{1} << 20);
  const auto list = make_list(memory, names{"mail", "1e3", "a\n- b", "-1", "a: \"b\"", ""});
  ASSERT_EQ(list->pieces().size(), 1U);
  EXPECT_EQ(list->pieces()[0]->text(), "- mail\n- 1e3\n- \"a\\n- b\"\n- \"-1\"\n- \"a: \\\"b\\\"\"\n- \"\"\n");
}

}  // namespace
}  // namespace foliot::program::beanstalk
