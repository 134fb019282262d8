// The mark of what has been synced: a store that has lost the end of its log or of its manifest, or a whole log, is
// refused, and what looks like it and is no loss is not.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../../src/jobs/embedded/engine.hpp"
#include "../../src/jobs/embedded/synced_files.hpp"
#include "../../src/jobs/embedded/synced_mark.hpp"
#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/embedded_store.hpp>

#include "faulty_files.hpp"
#include "killed_store.hpp"
#include "temporary_folder.hpp"

namespace {

namespace jobs = foliot::jobs;
namespace fs = std::filesystem;
using namespace std::chrono_literals;
using foliot_test::contents;
using foliot_test::copied_store;
using foliot_test::killed_store;
using foliot_test::last_file;
using foliot_test::temporary_folder;
using foliot_test::with_mark;
using foliot_test::write;

constexpr std::string_view mark_refusal = "had been synced up to byte ";

/// The length that a folder's mark gives a file; 0 if it does not name it.
std::uint64_t marked(const std::string& file) {
  const fs::path path = file;
  const auto mark = jobs::detail::read_mark(path.parent_path().string(), *rocksdb::FileSystem::Default());
  const auto it = std::ranges::find(mark, path.filename().string(), &jobs::detail::synced_length::file);
  return it == mark.end() ? 0 : it->length;
}

std::string manifest_of(const std::string& folder) { return last_file(folder, "MANIFEST-", ""); }

/// Expects that a store is refused, again and again, and nothing in it changes.
void expect_refusal(copied_store& store, std::string_view file, std::string_view sentence = mark_refusal) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::string why = store.open();
    EXPECT_NE(why.find(sentence), std::string::npos) << why;
    EXPECT_NE(why.find(file), std::string::npos) << why;
    EXPECT_NE(why.find("restore a backup"), std::string::npos) << why;
  }
}

TEST(synced_mark, says_how_long_the_log_and_the_manifest_are) {
  const killed_store store(5, 10);
  EXPECT_EQ(marked(store.log()), fs::file_size(store.log()));
  EXPECT_EQ(marked(manifest_of(store.path())), fs::file_size(manifest_of(store.path())));
  EXPECT_EQ(copied_store(store, with_mark::yes).open(), "5");
}

TEST(synced_mark, a_log_that_ends_too_soon_is_refused_until_it_is_salvaged) {
  const killed_store store(5, 10);
  const std::size_t size = fs::file_size(store.log());
  for (const std::size_t kept : {std::size_t{0}, store.before_last() / 2, store.before_last(), size - 1}) {
    copied_store copy(store, with_mark::yes);
    fs::resize_file(copy.log, kept);
    expect_refusal(copy, copy.log);
    const std::string left = copy.open(true);
    EXPECT_EQ(left.size(), 1u) << left;
    EXPECT_LT(left, "5");
    EXPECT_NE(copy.warning.find("was salvaged"), std::string::npos) << copy.warning;
    EXPECT_EQ(copy.open(), left) << "the salvaged store is whole";
    EXPECT_EQ(copy.warning, "");
  }
}

TEST(synced_mark, an_end_that_is_zeroed_or_overwritten_is_refused) {
  const killed_store store(5, 10);
  const std::string whole = contents(store.log());
  std::mt19937_64 random(1);
  for (const std::size_t from : {whole.size() / 2, store.before_last()}) {
    std::string zeroed = whole.substr(0, from) + std::string(whole.size() - from, '\0');
    std::string overwritten = whole;
    for (std::size_t at = from; at < whole.size(); ++at) {
      overwritten[at] = static_cast<char>(static_cast<std::uint64_t>(whole[at]) + 1 + random() % 255);
    }
    for (const std::string& bytes : {zeroed, overwritten}) {
      copied_store copy(store, with_mark::yes);
      write(copy.log, bytes);
      expect_refusal(copy, copy.log);
      EXPECT_EQ(copy.open(true).size(), 1u);
      EXPECT_NE(copy.warning.find("was salvaged"), std::string::npos) << copy.warning;
    }
  }
}

TEST(synced_mark, a_missing_log_is_refused) {
  const killed_store store(5, 10);
  copied_store copy(store, with_mark::yes);
  fs::remove(copy.log);
  expect_refusal(copy, copy.log + " is missing");
  EXPECT_EQ(copy.open(true), "0");
  EXPECT_EQ(copy.open(), "0");
}

TEST(synced_mark, a_missing_log_with_another_one_behind_it_cannot_be_salvaged) {
  const killed_store store(5, 10);
  copied_store copy(store, with_mark::yes);
  const std::string whole = contents(copy.log);
  write(copy.path() + "/000900.log", std::string_view(whole).substr(store.before_last()));
  fs::remove(copy.log);
  expect_refusal(copy, copy.log + " is missing");
  EXPECT_EQ(copy.open().find("--salvage"), std::string::npos);
  EXPECT_NE(copy.open(true).find("restore a backup"), std::string::npos);
}

TEST(synced_mark, what_was_written_behind_it_may_be_torn) {
  const killed_store store(5, 10);
  copied_store copy(store, with_mark::yes);
  const std::string whole = contents(copy.log);
  write(copy.log, whole + whole.substr(0, 20));
  EXPECT_EQ(copy.open(), "5");
  EXPECT_EQ(copy.warning, "");
}

TEST(synced_mark, a_manifest_that_ends_too_soon_is_refused) {
  const temporary_folder folder;
  const std::string path = folder.path() + "/store";
  {
    jobs::embedded_store store({.folder = path, .disk_reserve = 0});
    jobs::execute_one(store, jobs::put{.tube = "mail", .key = "0", .body = "b"});
  }
  const std::string whole = contents(manifest_of(path));
  ASSERT_EQ(marked(manifest_of(path)), whole.size());
  for (const std::string& bytes :
       {whole.substr(0, whole.size() / 2), whole.substr(0, whole.size() / 2) + std::string(whole.size() / 2, '\0'),
        whole.substr(0, whole.size() - 1), std::string()}) {
    copied_store copy(path, with_mark::yes);
    write(manifest_of(copy.path()), bytes);
    expect_refusal(copy, manifest_of(copy.path()), bytes.empty() ? "it is damaged" : mark_refusal);  // RocksDB's word
    EXPECT_NE(copy.open(true).find("restore a backup"), std::string::npos);
    write(manifest_of(copy.path()), whole);
    EXPECT_EQ(copy.open(), "1") << "the refusals have deleted nothing";
  }
}

TEST(synced_mark, logs_that_are_needed_no_more_are_no_loss) {
  const killed_store store(5, 10);
  const std::string mark = contents(store.path() + "/SYNCED");
  // The opening moves the log into tables, and the store ends in order.
  copied_store copy(store, with_mark::yes);
  ASSERT_EQ(copy.open(), "5");
  ASSERT_FALSE(fs::exists(copy.log));
  write(copy.path() + "/SYNCED", mark);
  EXPECT_EQ(copy.open(), "5");
}

TEST(synced_mark, a_folder_without_one_is_whole_and_gets_one) {
  const killed_store store(5, 10);
  const std::string mark = contents(store.path() + "/SYNCED");
  std::string wrong = mark;
  ++wrong[wrong.find(".log ") + 5];
  for (const std::string& torn : {std::string(), mark.substr(0, 30), wrong, std::string(512, '\0')}) {
    copied_store copy(store, with_mark::yes);
    write(copy.path() + "/SYNCED", torn);
    fs::resize_file(copy.log, store.before_last());
    EXPECT_EQ(copy.open(), "4");
    EXPECT_NE(marked(manifest_of(copy.path())), 0u);
  }
  copied_store old(store, with_mark::no);
  EXPECT_EQ(old.open(), "5");
  EXPECT_EQ(marked(manifest_of(old.path())), fs::file_size(manifest_of(old.path())));
}

TEST(synced_mark, follows_the_last_batch_before_an_idle_time) {
  const temporary_folder folder;
  const std::string path = folder.path() + "/store";
  foliot::virtual_clock time;
  jobs::embedded_store store({.folder = path, .disk_reserve = 0, .clocks = {&time, &time}});
  const auto put = [&] { jobs::execute_one(store, jobs::put{.tube = "mail", .body = "b"}); };
  const std::string log = last_file(path, "", ".log");
  EXPECT_TRUE(store.next().expiry.is_never()) << "the mark covers the opening";
  EXPECT_EQ(marked(log), fs::file_size(log));
  time.advance(1ms);
  put();
  const std::uint64_t first = fs::file_size(log);
  EXPECT_EQ(marked(log), first);
  time.advance(100us);
  put();
  EXPECT_EQ(marked(log), first) << "within the millisecond";
  EXPECT_EQ(store.next().expiry, time.now() + 900us);
  time.advance(900us);
  store.execute({});
  EXPECT_GT(marked(log), first);
  EXPECT_EQ(marked(log), fs::file_size(log));
  EXPECT_TRUE(store.next().expiry.is_never());
}

TEST(synced_mark, covers_only_what_has_been_synced) {
  const temporary_folder folder;
  const std::string path = folder.path() + "/store";
  foliot::virtual_clock time;
  jobs::embedded_store store({.folder = path, .sync_every = 50ms, .disk_reserve = 0, .clocks = {&time, &time}});
  const auto put = [&] { jobs::execute_one(store, jobs::put{.tube = "mail", .body = "b"}); };
  put();  // takes ids, which are synced at once
  time.advance(1ms);
  store.execute({});
  const std::string log = last_file(path, "", ".log");
  const std::uint64_t synced = fs::file_size(log);
  EXPECT_EQ(marked(log), synced);
  put();
  time.advance(10ms);
  store.execute({});
  EXPECT_EQ(marked(log), synced);
  time.advance(40ms);
  store.execute({});
  EXPECT_GT(marked(log), synced);
}

TEST(synced_mark, a_backup_has_one_that_fits_it) {
  const temporary_folder folder;
  const std::string path = folder.path() + "/store", backup = folder.path() + "/backup";
  {
    foliot::virtual_clock time;
    jobs::embedded_store store({.folder = path, .disk_reserve = 0, .clocks = {&time, &time}});
    jobs::execute_one(store, jobs::put{.tube = "mail", .key = "0", .body = "b"});
    store.back_up(backup);
    time.advance(1ms);
    jobs::execute_one(store, jobs::put{.tube = "mail", .key = "1", .body = "b"});
    EXPECT_NE(marked(last_file(path, "", ".log")), 0u) << "the store's mark is still its own";
  }
  EXPECT_EQ(marked(manifest_of(backup)), fs::file_size(manifest_of(backup)));
  EXPECT_EQ(copied_store(backup, with_mark::yes).open(), "1");
  copied_store damaged(backup, with_mark::yes);
  fs::resize_file(manifest_of(damaged.path()), fs::file_size(manifest_of(damaged.path())) - 1);
  expect_refusal(damaged, manifest_of(damaged.path()));
}

TEST(synced_mark, a_store_whose_mark_cannot_be_written_goes_on) {
  const temporary_folder folder;
  const std::string path = folder.path() + "/store";
  fs::create_directories(path + "/SYNCED");  // no file can have this name
  write(path + "/LOCK", "");
  for (int opening = 1; opening < 3; ++opening) {
    jobs::embedded_store store({.folder = path, .disk_reserve = 0});
    jobs::execute_one(store, jobs::put{.tube = "mail", .body = "b"});
    EXPECT_EQ(jobs::execute_one(store, jobs::count_all{}).counts.ready, static_cast<std::uint64_t>(opening));
  }
}

/// Calls a function in the middle of each sync of a folder.
class interrupted_folders final : public rocksdb::FileSystemWrapper {
 public:
  interrupted_folders() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  static const char* kClassName() { return "interrupted_folders"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* context) override {
    class folder final : public rocksdb::FSDirectoryWrapper {
     public:
      folder(std::unique_ptr<FSDirectory> of, const std::function<void()>& call)
          : FSDirectoryWrapper(std::move(of)), call_(call) {}
      rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* context) override {
        call_();
        return FSDirectoryWrapper::Fsync(options, context);
      }

     private:
      const std::function<void()>& call_;
    };
    rocksdb::IOStatus status = FileSystemWrapper::NewDirectory(name, options, result, context);
    if (status.ok()) *result = std::make_unique<folder>(std::move(*result), during);
    return status;
  }

  std::function<void()> during = [] {};
};

TEST(synced_files, a_sync_of_a_folder_covers_the_names_that_were_made_in_it_before) {
  const temporary_folder first, second;
  const auto below = std::make_shared<interrupted_folders>();
  jobs::detail::synced_files files(below);
  std::vector<std::unique_ptr<rocksdb::FSWritableFile>> open;
  const auto make = [&](const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> made;
    ASSERT_TRUE(files.NewWritableFile(name, {}, &made, nullptr).ok());
    ASSERT_TRUE(made->Append("bytes", {}, nullptr).ok());
    ASSERT_TRUE(made->Sync({}, nullptr).ok());
    ASSERT_TRUE(made->Append("more", {}, nullptr).ok());
    open.push_back(std::move(made));
  };
  const auto names_in = [&](const temporary_folder& folder) {
    std::string names;
    for (const auto& each : files.in(folder.path() + "/")) names += each.file + " " + std::to_string(each.length) + ";";
    return names;
  };
  make(first.path() + "/000001.log");
  make(first.path() + "/MANIFEST-000001");
  make(first.path() + "/MANIFEST-000002");
  make(first.path() + "/000003.sst");
  make(second.path() + "/000004.log");
  EXPECT_EQ(names_in(first), "") << "no name is durable yet";
  below->during = [&] { make(first.path() + "/000005.log"); };
  std::unique_ptr<rocksdb::FSDirectory> folder;
  ASSERT_TRUE(files.NewDirectory(first.path(), {}, &folder, nullptr).ok());
  ASSERT_TRUE(folder->Fsync({}, nullptr).ok());
  EXPECT_EQ(names_in(first), "000001.log 5;MANIFEST-000002 5;");
  EXPECT_EQ(names_in(second), "");
  below->during = [] {};
  ASSERT_TRUE(folder->Fsync({}, nullptr).ok());
  EXPECT_EQ(names_in(first), "000001.log 5;000005.log 5;MANIFEST-000002 5;");
  ASSERT_TRUE(files.DeleteFile(first.path() + "/000001.log", {}, nullptr).ok());
  EXPECT_EQ(names_in(first), "000005.log 5;MANIFEST-000002 5;");
}

}  // namespace
