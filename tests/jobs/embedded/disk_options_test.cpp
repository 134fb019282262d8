// What the options of the RocksDB database are to do.
#include "jobs/embedded/disk_options.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/write_batch.h>

#include "jobs/embedded/keys.hpp"
#include "jobs/kit/temporary_folder.hpp"

namespace foliot::jobs::detail {
namespace {

/// A delayed job that is due after the one before.
due_entry due_of(job_id id) { return {static_cast<std::int64_t>(1'764'394'800'000 + id), id, 0}; }

/// A database with the families of the store.
class opened_database {
 public:
  opened_database() {
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status =
        rocksdb::DB::Open(database_options(), folder_.path() + "/db", family_options(), &handles_, &opened);
    EXPECT_TRUE(status.ok()) << status.ToString();
    database_.reset(opened);
  }
  opened_database(const opened_database&) = delete;
  opened_database& operator=(const opened_database&) = delete;
  ~opened_database() {
    for (rocksdb::ColumnFamilyHandle* each : handles_)
      database_->DestroyColumnFamilyHandle(each).PermitUncheckedError();
  }

  /// The entries of a delayed job.
  void put(job_id id) {
    gather(true, family::jobs, view(number_key(id)));
    gather(true, family::due, view(due_of(id).key(tube_number{1})));
  }
  void erase(job_id id) {
    gather(false, family::jobs, view(number_key(id)));
    gather(false, family::due, view(due_of(id).key(tube_number{1})));
  }
  /// Returns how many keys were compared.
  std::uint64_t write() {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    rocksdb::get_perf_context()->Reset();
    EXPECT_TRUE(database_->Write(rocksdb::WriteOptions(), &gathered_).ok());
    const std::uint64_t compared = rocksdb::get_perf_context()->user_key_comparison_count;
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
    gathered_.Clear();
    return compared;
  }

 private:
  void gather(bool is_put, family where, std::string_view key) {
    const rocksdb::Slice name(key.data(), key.size());
    rocksdb::ColumnFamilyHandle* const into = handles_[static_cast<std::size_t>(where)];
    EXPECT_TRUE((is_put ? gathered_.Put(into, name, "value") : gathered_.Delete(into, name)).ok());
  }

  foliot_test::temporary_folder folder_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  std::unique_ptr<rocksdb::DB> database_;
  rocksdb::WriteBatch gathered_;
};

TEST(DiskOptions, JobsThatAreReplacedInTheirOrderAreNotLookedForFromTheBeginning) {
  constexpr job_id jobs = 100'000;
  constexpr job_id replaced = 2'000;
  opened_database database;
  for (job_id id = 1; id <= jobs; ++id) {
    database.put(id);
    if (id % 1'000 == 0) database.write();
  }
  for (job_id id = 1; id <= replaced; ++id) {
    database.erase(id);
    database.put(jobs + id);
  }
  const std::uint64_t compared = database.write();
  // Four entries for each. From the beginning each takes some 100, from the last one of its chunk of ids some 35.
  EXPECT_LT(compared, 4 * replaced * 60);
}

}  // namespace
}  // namespace foliot::jobs::detail
