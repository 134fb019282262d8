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

#include "jobs/embedded/core.hpp"
#include "jobs/embedded/synced_files.hpp"
#include "jobs/embedded/synced_mark.hpp"
#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/embedded_store.hpp>

#include "faulty_files.hpp"
#include "jobs/kit/temporary_folder.hpp"
#include "killed_store.hpp"

namespace {

namespace jobs = foliot::jobs;
namespace fs = std::filesystem;
using namespace std::chrono_literals;
using foliot_test::contents;
using foliot_test::copied_store;
using foliot_test::expect_refusal;
using foliot_test::expect_salvage;
using foliot_test::killed_store;
using foliot_test::last_file;
using foliot_test::temporary_folder;
using foliot_test::with_mark;
using foliot_test::write;
using jobs::detail::between_marks;

constexpr std::string_view mark_refusal = "had been synced up to byte ";

/// The length that a folder's mark gives a file; 0 if it does not name it.
std::uint64_t marked(const std::string& file) {
  const fs::path path = file;
  const auto mark = jobs::detail::read_mark(path.parent_path().string(), *rocksdb::FileSystem::Default());
  const auto it = std::ranges::find(mark, path.filename().string(), &jobs::detail::synced_length::file);
  return it == mark.end() ? 0 : it->length;
}

std::string manifest_of(const std::string& folder) { return last_file(folder, "MANIFEST-", ""); }

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
    expect_refusal(copy, copy.log, mark_refusal);
    expect_salvage(copy, "5");
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
      expect_refusal(copy, copy.log, mark_refusal);
      expect_salvage(copy, "5");
    }
  }
}

TEST(synced_mark, a_missing_log_is_refused) {
  const killed_store store(5, 10);
  copied_store copy(store, with_mark::yes);
  fs::remove(copy.log);
  expect_refusal(copy, copy.log + " is missing", mark_refusal);
  EXPECT_EQ(copy.open(true), "0");
  EXPECT_EQ(copy.open(), "0");
}

TEST(synced_mark, a_missing_log_with_another_one_behind_it_cannot_be_salvaged) {
  const killed_store store(5, 10);
  copied_store copy(store, with_mark::yes);
  const std::string whole = contents(copy.log);
  write(copy.path() + "/000900.log", std::string_view(whole).substr(store.before_last()));
  fs::remove(copy.log);
  expect_refusal(copy, copy.log + " is missing", mark_refusal);
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
  std::vector<std::string> damaged{whole.substr(0, whole.size() / 2) + std::string(whole.size() / 2, '\0')};
  // Up to some of these places the manifest has no families, as if it were that of another program.
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 16) damaged.push_back(whole.substr(0, size));
  for (const std::string& bytes : damaged) {
    copied_store copy(path, with_mark::yes);
    write(manifest_of(copy.path()), bytes);
    expect_refusal(copy, manifest_of(copy.path()), mark_refusal);
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
  time.advance(between_marks);
  put();
  const std::uint64_t first = fs::file_size(log);
  EXPECT_EQ(marked(log), first);
  time.advance(between_marks / 10);
  put();
  EXPECT_EQ(marked(log), first) << "too soon after it";
  EXPECT_EQ(store.next().expiry, time.now() + between_marks * 9 / 10);
  time.advance(between_marks * 9 / 10);
  store.execute({});
  EXPECT_GT(marked(log), first);
  EXPECT_EQ(marked(log), fs::file_size(log));
  EXPECT_TRUE(store.next().expiry.is_never());
}

TEST(synced_mark, covers_only_what_has_been_synced) {
  const temporary_folder folder;
  const std::string path = folder.path() + "/store";
  foliot::virtual_clock time;
  jobs::embedded_store store(
      {.folder = path, .sync_every = 5 * between_marks, .disk_reserve = 0, .clocks = {&time, &time}});
  const auto put = [&] { jobs::execute_one(store, jobs::put{.tube = "mail", .body = "b"}); };
  put();  // takes ids, which are synced at once
  time.advance(between_marks);
  store.execute({});
  const std::string log = last_file(path, "", ".log");
  const std::uint64_t synced = fs::file_size(log);
  EXPECT_EQ(marked(log), synced);
  put();
  time.advance(between_marks);
  store.execute({});
  EXPECT_EQ(marked(log), synced);
  time.advance(4 * between_marks);
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
    time.advance(between_marks);
    jobs::execute_one(store, jobs::put{.tube = "mail", .key = "1", .body = "b"});
    EXPECT_NE(marked(last_file(path, "", ".log")), 0u) << "the store's mark is still its own";
  }
  EXPECT_EQ(marked(manifest_of(backup)), fs::file_size(manifest_of(backup)));
  EXPECT_EQ(copied_store(backup, with_mark::yes).open(), "1");
  copied_store damaged(backup, with_mark::yes);
  fs::resize_file(manifest_of(damaged.path()), fs::file_size(manifest_of(damaged.path())) - 1);
  expect_refusal(damaged, manifest_of(damaged.path()), mark_refusal);
}

/// Puts a job in the middle of a backup: when RocksDB looks for the logs, which is behind its flush of the tables.
class put_while_logs_are_listed final : public rocksdb::FileSystemWrapper {
 public:
  put_while_logs_are_listed() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  static const char* kClassName() { return "put_while_logs_are_listed"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus GetChildren(const std::string& folder, const rocksdb::IOOptions& options,
                                std::vector<std::string>* names, rocksdb::IODebugContext* context) override {
    if (jobs::job_store* const into = std::exchange(store, nullptr)) {
      jobs::execute_one(*into, jobs::put{.tube = "mail", .key = "1", .body = "b"});
    }
    return FileSystemWrapper::GetChildren(folder, options, names, context);
  }

  jobs::job_store* store = nullptr;
};

TEST(synced_mark, a_backup_has_none_of_the_logs_that_are_written_meanwhile) {
  const temporary_folder folder;
  const std::string backup = folder.path() + "/backup";
  const auto files = std::make_shared<put_while_logs_are_listed>();
  const auto store =
      jobs::detail::embedded_core::open_on({.folder = folder.path() + "/store", .disk_reserve = 0}, files);
  jobs::execute_one(*store, jobs::put{.tube = "mail", .key = "0", .body = "b"});
  files->store = store.get();
  store->back_up(backup);
  ASSERT_EQ(files->store, nullptr);
  ASSERT_GT(fs::file_size(last_file(backup, "", ".log")), 0u) << "the job of the meantime";
  const auto mark = jobs::detail::read_mark(backup, *rocksdb::FileSystem::Default());
  ASSERT_EQ(mark.size(), 1u);
  EXPECT_EQ(mark.front().file, fs::path(manifest_of(backup)).filename().string());
  copied_store copy(backup, with_mark::yes);
  fs::resize_file(copy.log, fs::file_size(copy.log) - 1);  // as if it had been copied while the job was written
  EXPECT_EQ(copy.open(), "1");
}

/// Copies the files of one folder into another, as an operator may do who means to restore a backup.
void copy_over(const std::string& from, const std::string& to, const std::function<bool(const std::string&)>& chosen) {
  for (const auto& each : fs::directory_iterator(from)) {
    const std::string name = each.path().filename().string();
    if (chosen(name)) fs::copy(each.path(), to + "/" + name, fs::copy_options::overwrite_existing);
  }
}

TEST(synced_mark, a_backup_that_is_copied_into_the_folder_of_a_store_is_refused) {
  const temporary_folder folder;
  const std::string path = folder.path() + "/store", backup = folder.path() + "/backup";
  const auto put = [](jobs::job_store& store, const std::string& key) {
    jobs::execute_one(store, jobs::put{.tube = "mail", .key = key, .body = "b"});
  };
  {
    jobs::embedded_store store({.folder = path, .disk_reserve = 0});
    put(store, "0");
    store.back_up(backup);
    put(store, "1");
  }
  {
    const auto files = std::make_shared<foliot_test::faulty_files>();
    const auto store = jobs::detail::embedded_core::open_on({.folder = path, .disk_reserve = 0}, files);
    put(*store, "2");
    files->stop_at(0);  // killed
  }
  EXPECT_EQ(copied_store(path, with_mark::yes).open(), "3");
  EXPECT_EQ(copied_store(backup, with_mark::yes).open(), "1");

  copied_store all(path, with_mark::yes);
  copy_over(backup, all.path(), [](const std::string&) { return true; });
  expect_refusal(all, "changes are missing between its tables and its log " + all.log, "as if files of another time");
  EXPECT_NE(all.open(true).find("restore a backup"), std::string::npos);

  copied_store list(path, with_mark::yes);
  const std::string later = fs::path(manifest_of(list.path())).filename().string();
  copy_over(backup, list.path(),
            [](const std::string& name) { return name == "CURRENT" || name.starts_with("MANIFEST-"); });
  expect_refusal(list, "and the later one " + later + " had been synced", "its file CURRENT names the list of tables ");
  EXPECT_NE(list.open(true).find("restore a backup"), std::string::npos);
}

TEST(synced_mark, one_that_cannot_be_written_is_told_and_the_store_goes_on) {
  const temporary_folder folder;
  const std::string path = folder.path() + "/store";
  fs::create_directories(path);
  fs::permissions(path, fs::perms::owner_all);
  write(path + "/LOCK", "");
  foliot::virtual_clock time;
  const auto put = [](jobs::job_store& into) { jobs::execute_one(into, jobs::put{.tube = "mail", .body = "b"}); };
  for (int opening = 1; opening < 3; ++opening) {
    fs::remove(path + "/SYNCED");
    fs::create_directories(path + "/SYNCED");  // no file can have this name
    std::vector<std::string> warnings;
    jobs::embedded_store store(
        {.folder = path, .disk_reserve = 0, .clocks = {&time, &time}, .warn = [&](std::string_view sentence) {
           warnings.emplace_back(sentence);
         }});
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_TRUE(warnings[0].starts_with("cannot write the file SYNCED of the job store " + path)) << warnings[0];
    time.advance(9s);
    put(store);
    EXPECT_EQ(warnings.size(), 1u) << "within ten seconds";
    time.advance(1s);
    put(store);
    EXPECT_EQ(warnings.size(), 2u);
    time.advance(1min);
    store.execute({});
    EXPECT_EQ(warnings.size(), 2u) << "there was nothing to write";
    fs::remove(path + "/SYNCED");
    put(store);
    EXPECT_EQ(warnings.size(), 2u);
    EXPECT_NE(marked(last_file(path, "", ".log")), 0u);
    EXPECT_EQ(jobs::execute_one(store, jobs::count_all{}).counts.ready, static_cast<std::uint64_t>(3 * opening));
  }
}

/// Looks at the mark when the note of a salvage is deleted.
class watched_mark final : public rocksdb::FileSystemWrapper {
 public:
  watched_mark() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  static const char* kClassName() { return "watched_mark"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewRandomRWFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* result,
                                    rocksdb::IODebugContext* context) override {
    class file final : public rocksdb::FSRandomRWFileOwnerWrapper {
     public:
      file(std::unique_ptr<FSRandomRWFile> of, std::string& synced, std::string name)
          : FSRandomRWFileOwnerWrapper(std::move(of)), synced_(synced), name_(std::move(name)) {}
      rocksdb::IOStatus Sync(const rocksdb::IOOptions& options, rocksdb::IODebugContext* context) override {
        synced_ = contents(name_);
        return FSRandomRWFileOwnerWrapper::Sync(options, context);
      }

     private:
      std::string& synced_;
      const std::string name_;
    };
    rocksdb::IOStatus status = FileSystemWrapper::NewRandomRWFile(name, options, result, context);
    if (status.ok()) *result = std::make_unique<file>(std::move(*result), synced_, name);
    return status;
  }
  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override {
    if (name.ends_with("/SALVAGING")) when_salvaged = synced_;
    return FileSystemWrapper::DeleteFile(name, options, context);
  }

  std::string when_salvaged;  ///< what was durable of the mark

 private:
  std::string synced_;
};

TEST(synced_mark, is_durable_when_a_salvage_ends) {
  const killed_store store(5, 10);
  copied_store copy(store, with_mark::yes);
  fs::remove(copy.log);
  const auto files = std::make_shared<watched_mark>();
  {
    const auto salvaged = jobs::detail::embedded_core::open_on({.folder = copy.path(), .salvage = true}, files);
  }
  ASSERT_NE(files->when_salvaged, "");
  // As after a loss of power: an older one would name the missing log.
  write(copy.path() + "/SYNCED", files->when_salvaged);
  EXPECT_EQ(copy.open(), "0");
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
  make(first.path() + "/000002.dbtmp");
  ASSERT_TRUE(files.RenameFile(first.path() + "/000002.dbtmp", first.path() + "/CURRENT", {}, nullptr).ok());
  make(first.path() + "/MANIFEST-000002");
  make(first.path() + "/000003.sst");
  make(second.path() + "/000004.log");
  EXPECT_EQ(names_in(first), "") << "no name is durable yet";
  below->during = [&] { make(first.path() + "/000005.log"); };
  std::unique_ptr<rocksdb::FSDirectory> folder;
  ASSERT_TRUE(files.NewDirectory(first.path(), {}, &folder, nullptr).ok());
  ASSERT_TRUE(folder->Fsync({}, nullptr).ok());
  EXPECT_EQ(names_in(first), "000001.log 5;MANIFEST-000001 5;") << "CURRENT does not name the other manifest";
  EXPECT_EQ(names_in(second), "");
  below->during = [&] {
    make(first.path() + "/000006.dbtmp");
    ASSERT_TRUE(files.RenameFile(first.path() + "/000006.dbtmp", first.path() + "/CURRENT", {}, nullptr).ok());
  };
  ASSERT_TRUE(folder->Fsync({}, nullptr).ok());
  EXPECT_EQ(names_in(first), "000001.log 5;000005.log 5;MANIFEST-000001 5;");
  below->during = [] {};
  ASSERT_TRUE(folder->Fsync({}, nullptr).ok());
  EXPECT_EQ(names_in(first), "000001.log 5;000005.log 5;MANIFEST-000002 5;");
  ASSERT_TRUE(files.DeleteFile(first.path() + "/000001.log", {}, nullptr).ok());
  EXPECT_EQ(names_in(first), "000005.log 5;MANIFEST-000002 5;");
}

}  // namespace
