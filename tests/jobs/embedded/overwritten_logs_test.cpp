// Logs that are written over zeros: when there are zeros, and where a log ends of which a loss of power has left some
// sectors and not others. crash_test.cpp loses sectors at random.
#include "jobs/embedded/overwritten_logs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "jobs/embedded/log_scan.hpp"
#include "jobs/embedded/synced_mark.hpp"
#include <foliot/jobs/stopped_folder.hpp>

#include "jobs/kit/temporary_folder.hpp"
#include "killed_store.hpp"

namespace {

namespace jobs = foliot::jobs;
namespace fs = std::filesystem;

using foliot_test::contents;
using foliot_test::copied_store;
using foliot_test::killed_store;
using foliot_test::with_mark;
using jobs::detail::log_block;
using jobs::detail::overwritten_logs;

/// A file system whose files can be filled with zeros, or fail to be.
class refusing_files final : public rocksdb::FileSystemWrapper {
 public:
  refusing_files() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  static const char* kClassName() { return "refusing_files"; }
  const char* Name() const override { return kClassName(); }
  rocksdb::IOStatus NewRandomRWFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                    rocksdb::IODebugContext* context) override {
    rocksdb::IOStatus opened = FileSystemWrapper::NewRandomRWFile(name, options, result, context);
    *result = std::make_unique<refusing_file>(std::move(*result), write_status);
    return opened;
  }

  rocksdb::IOStatus write_status = rocksdb::IOStatus::OK();

 private:
  class refusing_file final : public rocksdb::FSRandomRWFileOwnerWrapper {
   public:
    refusing_file(std::unique_ptr<FSRandomRWFile> file, const rocksdb::IOStatus& status)
        : FSRandomRWFileOwnerWrapper(std::move(file)), status_(status) {}
    rocksdb::IOStatus Write(std::uint64_t offset, const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                            rocksdb::IODebugContext* context) override {
      return status_.ok() ? FSRandomRWFileOwnerWrapper::Write(offset, data, options, context) : status_;
    }

   private:
    const rocksdb::IOStatus& status_;
  };
};

class zeros_of_logs : public testing::Test {
 protected:
  void make(const std::string& name) {
    path = folder.path() + "/" + name;
    ASSERT_TRUE(files.NewWritableFile(path, {}, &file, nullptr).ok());
  }
  rocksdb::IOStatus append(std::size_t size) { return file->Append(std::string(size, 'x'), {}, nullptr); }
  void append_and_sync(std::size_t size, std::size_t times) {
    for (std::size_t each = 0; each < times; ++each) {
      ASSERT_TRUE(append(size).ok());
      ASSERT_TRUE(file->Sync({}, nullptr).ok());
    }
  }

  foliot_test::temporary_folder folder;
  std::shared_ptr<refusing_files> below = std::make_shared<refusing_files>();
  overwritten_logs files{below};
  std::string path;
  std::unique_ptr<rocksdb::FSWritableFile> file;
};

TEST_F(zeros_of_logs, come_after_some_small_syncs_and_go_when_it_is_closed) {
  make("000007.log");
  append_and_sync(100, overwritten_logs::syncs_before);
  EXPECT_EQ(fs::file_size(path), 1600u);
  append_and_sync(100, 1);
  EXPECT_EQ(contents(path), std::string(1700, 'x') + std::string(overwritten_logs::zeros_at_a_time, '\0'));
  const std::uintmax_t filled = fs::file_size(path);
  append_and_sync(10'000, 26);
  EXPECT_EQ(fs::file_size(path), filled) << "the zeros were overwritten";
  append_and_sync(10'000, 1);
  EXPECT_EQ(contents(path), std::string(271'700, 'x') + std::string(overwritten_logs::zeros_at_a_time, '\0'));
  ASSERT_TRUE(file->Close({}, nullptr).ok());
  EXPECT_EQ(contents(path), std::string(271'700, 'x'));
}

TEST_F(zeros_of_logs, are_not_written_where_much_is_synced_at_a_time) {
  make("000007.log");
  append_and_sync(100, overwritten_logs::syncs_before - 1);
  append_and_sync(overwritten_logs::small_sync + 1, 1);
  append_and_sync(100, overwritten_logs::syncs_before);
  const std::uintmax_t before = fs::file_size(path);
  ASSERT_TRUE(append(overwritten_logs::small_sync + 1).ok());
  EXPECT_EQ(fs::file_size(path), before + overwritten_logs::small_sync + 1);
}

TEST_F(zeros_of_logs, are_written_to_logs_alone) {
  for (const char* name : {"000007.sst", "MANIFEST-000007", "CURRENT", "7.log.bak"}) {
    make(name);
    append_and_sync(100, 2 * overwritten_logs::syncs_before);
    EXPECT_EQ(fs::file_size(path), 200 * overwritten_logs::syncs_before) << name;
  }
}

TEST_F(zeros_of_logs, a_log_is_appended_to_where_they_cannot_be_written) {
  for (const rocksdb::IOStatus& why : {rocksdb::IOStatus::NoSpace("full"), rocksdb::IOStatus::IOError("a quota")}) {
    make("000007.log");
    below->write_status = rocksdb::IOStatus::OK();
    append_and_sync(100, overwritten_logs::syncs_before);
    below->write_status = why;
    append_and_sync(100, 2);
    EXPECT_EQ(contents(path), std::string(1800, 'x'));
    file.reset();
  }
}

TEST_F(zeros_of_logs, are_not_in_the_size_of_a_log_that_is_written) {
  make("000007.log");
  append_and_sync(100, overwritten_logs::syncs_before + 1);
  ASSERT_GT(fs::file_size(path), 1700u);
  std::uint64_t size = 0;
  ASSERT_TRUE(files.GetFileSize(path, {}, &size, nullptr).ok());
  EXPECT_EQ(size, 1700u);
  ASSERT_TRUE(file->Close({}, nullptr).ok());
  ASSERT_TRUE(files.GetFileSize(path, {}, &size, nullptr).ok());
  EXPECT_EQ(size, 1700u);
}

TEST_F(zeros_of_logs, a_file_is_read_up_to_the_end_that_was_told) {
  make("000007.log");
  append_and_sync(100, 1);
  files.end_at(path, 60);
  std::unique_ptr<rocksdb::FSSequentialFile> reader;
  ASSERT_TRUE(files.NewSequentialFile(path, {}, &reader, nullptr).ok());
  char scratch[100];
  rocksdb::Slice part;
  ASSERT_TRUE(reader->Skip(10).ok());
  ASSERT_TRUE(reader->Read(40, {}, &part, scratch, nullptr).ok());
  EXPECT_EQ(part.size(), 40u);
  ASSERT_TRUE(reader->Read(40, {}, &part, scratch, nullptr).ok());
  EXPECT_EQ(part.size(), 10u);
  ASSERT_TRUE(reader->Read(40, {}, &part, scratch, nullptr).ok());
  EXPECT_EQ(part.size(), 0u);
}

/// Where the batches of a log begin, and where the last one ends. Each is one fragment.
std::vector<std::size_t> batches_of(std::string_view log) {
  std::vector<std::size_t> begins;
  std::size_t at = 0;
  while (at + jobs::detail::fragment_head <= log.size() && log[at + 6] != '\0') {
    begins.push_back(at);
    at += jobs::detail::fragment_head + static_cast<unsigned char>(log[at + 4]) +
          256U * static_cast<unsigned char>(log[at + 5]);
  }
  begins.push_back(at);
  return begins;
}

void write_mark(const copied_store& store, std::uint64_t length) {
  jobs::detail::synced_mark mark(store.path(), *rocksdb::FileSystem::Default());
  ASSERT_TRUE(mark.write({{fs::path(store.log).filename().string(), length}}).ok());
}

/// How many jobs a reader of the stopped folder finds.
std::uint64_t seen_in(const copied_store& store) {
  std::uint64_t all = 0;
  for (const auto& [name, counts] : jobs::stopped_folder(store.path()).tubes()) all += counts.all();
  return all;
}

TEST(log_over_zeros, ends_before_the_first_sector_that_was_not_written) {
  constexpr int count = 40;
  const killed_store store(count, 10);
  // The store has cut them off as it was destroyed.
  const std::string log = contents(store.log()) + std::string(overwritten_logs::zeros_at_a_time, '\0');
  const std::vector<std::size_t> batches = batches_of(log);
  ASSERT_GT(batches.size(), std::size_t{count});
  const std::size_t first = batches.size() - 1 - count;
  for (const std::size_t lost : {39U, 38U, 33U, 20U}) {
    const std::size_t begin = batches[first + lost], end = batches[first + lost + 1];
    ASSERT_LT(end, log_block);
    // The sector with its head, and the last one that it has to itself.
    for (const std::size_t at : {begin, (end - 1) / 512 * 512}) {
      if (at < begin) continue;
      std::string bytes = log;
      const std::size_t until = std::min(end, (at / 512 + 1) * 512);
      bytes.replace(at, until - at, until - at, '\0');
      const std::string expected = std::to_string(lost);

      copied_store copy(store);
      foliot_test::write(copy.log, bytes);
      const std::string refused = copy.open();
      if (lost != count - 1) {
        EXPECT_NE(refused.find("is damaged at byte "), std::string::npos) << "without a mark: " << refused;
      }

      copied_store behind(store, with_mark::no);
      foliot_test::write(behind.log, bytes);
      write_mark(behind, begin + 1);
      EXPECT_NE(behind.open().find("restore a backup"), std::string::npos) << "it was synced: " << lost << " " << at;

      copied_store before(store, with_mark::no);
      foliot_test::write(before.log, bytes);
      write_mark(before, begin);
      EXPECT_EQ(seen_in(before), lost) << at;
      EXPECT_EQ(before.open_for_check(), expected) << at;
      EXPECT_EQ(before.open(), expected) << at;
      EXPECT_EQ(before.open(), expected) << at;
    }
  }
}

/// The mark of the first log, and of a second one if something of that was synced.
void write_marks(const copied_store& store, std::uint64_t length, std::uint64_t second) {
  std::vector<jobs::detail::synced_length> lengths{{fs::path(store.log).filename().string(), length}};
  if (second != 0) lengths.push_back({"000900.log", second});
  jobs::detail::synced_mark mark(store.path(), *rocksdb::FileSystem::Default());
  ASSERT_TRUE(mark.write(lengths).ok());
}

TEST(log_over_zeros, that_was_cut_ends_the_logs_behind_it) {
  const killed_store store(40, 10);
  const std::string log = contents(store.log());
  const std::vector<std::size_t> batches = batches_of(log);
  const std::size_t lost = batches[batches.size() - 11], next = batches[batches.size() - 10];
  const auto in_two = [&](copied_store& copy, std::uint64_t second) {
    foliot_test::write(copy.log, log.substr(0, lost) + std::string(overwritten_logs::zeros_at_a_time, '\0'));
    foliot_test::write(copy.path() + "/000900.log", log.substr(next));
    write_marks(copy, lost, second);
  };
  copied_store cut(store, with_mark::no);
  in_two(cut, 0);
  EXPECT_EQ(cut.open(), "30") << "nothing in the second log was acknowledged";
  EXPECT_EQ(cut.open(), "30");
  copied_store synced(store, with_mark::no);
  in_two(synced, 100);
  EXPECT_NE(synced.open().find("restore a backup"), std::string::npos) << "the second log was synced";
}

TEST(log_over_zeros, is_not_replayed_behind_a_block_that_was_not_written_to_its_end) {
  const killed_store store(40, 10);
  const std::string log = contents(store.log());
  const std::vector<std::size_t> batches = batches_of(log);
  const std::size_t lost = batches[batches.size() - 11], next = batches[batches.size() - 10];
  ASSERT_LT(lost, log_block);
  // RocksDB skips zeros up to the next block, and goes on with the whole batch that begins there.
  const std::string bytes = log.substr(0, lost) + std::string(log_block - lost, '\0') + log.substr(next);
  copied_store cut(store, with_mark::no);
  foliot_test::write(cut.log, bytes);
  write_mark(cut, lost);
  EXPECT_EQ(seen_in(cut), 30u);
  EXPECT_EQ(cut.open(), "30");
  copied_store synced(store, with_mark::no);
  foliot_test::write(synced.log, bytes);
  write_mark(synced, lost + 1);
  EXPECT_NE(synced.open().find("restore a backup"), std::string::npos);
  copied_store unmarked(store);
  foliot_test::write(unmarked.log, bytes);
  EXPECT_NE(unmarked.open().find("is damaged at byte "), std::string::npos);
}

TEST(log_over_zeros, other_damage_behind_the_mark_is_found) {
  const killed_store store(40, 10);
  const std::vector<std::size_t> batches = batches_of(contents(store.log()));
  const std::size_t begin = batches[batches.size() - 11];
  for (std::size_t at = begin; at < batches[batches.size() - 10]; ++at) {
    copied_store copy(store, with_mark::no);
    write_mark(copy, begin);
    foliot_test::flip(copy.log, at, 1);
    const auto found = jobs::detail::scan_logs(copy.path(), *rocksdb::FileSystem::Default(), 0, ~std::uint64_t{}, 0,
                                               jobs::detail::read_mark(copy.path(), *rocksdb::FileSystem::Default()));
    EXPECT_TRUE(found.damaged) << at;
  }
}

}  // namespace
