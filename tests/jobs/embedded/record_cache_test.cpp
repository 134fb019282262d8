// The records that the embedded store keeps in memory.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "jobs/embedded/record_cache.hpp"

namespace foliot::jobs::detail {
namespace {

const std::string body(1000, 'b');

TEST(RecordCache, HasTheRecordsOfTheBatch) {
  record_cache records;
  EXPECT_EQ(records.find(1), nullptr);
  records.save(1, "one", false);
  ASSERT_NE(records.find(1), nullptr);
  EXPECT_EQ(*records.find(1), "one");
  EXPECT_TRUE(records.is_of_batch(1));
  records.end_batch();
  EXPECT_EQ(records.find(1), nullptr);
}

TEST(RecordCache, KeepsARecordThatIsLikelyRead) {
  record_cache records;
  records.save(1, "one", true);
  records.end_batch();
  ASSERT_NE(records.find(1), nullptr);
  EXPECT_EQ(*records.find(1), "one");
  EXPECT_FALSE(records.is_of_batch(1));
}

TEST(RecordCache, AnErasedRecordIsEmptyUntilTheBatchEnds) {
  record_cache records;
  records.save(1, "one", true);
  records.end_batch();
  records.erase(1);
  ASSERT_NE(records.find(1), nullptr);
  EXPECT_TRUE(records.find(1)->empty());
  EXPECT_TRUE(records.is_of_batch(1));
  records.end_batch();
  EXPECT_EQ(records.find(1), nullptr);
}

TEST(RecordCache, ALaterRecordTakesThePlaceOfAnEarlierOne) {
  record_cache records;
  records.save(1, "one", true);
  records.save(1, "uno", true);
  records.end_batch();
  records.save(1, "eins", false);
  EXPECT_EQ(*records.find(1), "eins");
  records.end_batch();
  EXPECT_EQ(records.find(1), nullptr);
}

TEST(RecordCache, ForgetsARecordOfAnEarlierBatchAtOnce) {
  record_cache records;
  records.save(1, "one", true);
  records.end_batch();
  records.forget(1);
  records.forget(2);
  EXPECT_EQ(records.find(1), nullptr);
}

TEST(RecordCache, ForgetsARecordOfTheBatchAtItsEnd) {
  record_cache records;
  records.save(1, "one", true);
  records.forget(1);
  EXPECT_EQ(*records.find(1), "one") << "the disk does not show it yet";
  records.end_batch();
  EXPECT_EQ(records.find(1), nullptr);
}

TEST(RecordCache, TheOldestLeaveFirstWhenThereAreTooMany) {
  record_cache records(5 * body.size());
  for (job_id id = 1; id <= 20; ++id) {
    records.save(id, body, true);
    EXPECT_NE(records.find(id), nullptr);
    if (id % 2 == 0) records.end_batch();
  }
  std::size_t kept = 0;
  for (job_id id = 1; id <= 20; ++id) {
    if (records.find(id) != nullptr) ++kept;
  }
  EXPECT_GT(kept, 1u);
  EXPECT_LE(kept, 5u);
  EXPECT_NE(records.find(20), nullptr);
  EXPECT_EQ(records.find(1), nullptr);
}

}  // namespace
}  // namespace foliot::jobs::detail
