// What a store makes is for its user alone, whatever the umask, and what was there stays as it is.
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/embedded_store.hpp>

#include "jobs/kit/temporary_folder.hpp"

namespace {

namespace jobs = foliot::jobs;
namespace fs = std::filesystem;

class umask_of_process {
 public:
  explicit umask_of_process(mode_t mask) : before_(::umask(mask)) {}
  umask_of_process(const umask_of_process&) = delete;
  umask_of_process& operator=(const umask_of_process&) = delete;
  ~umask_of_process() { ::umask(before_); }

 private:
  mode_t before_;
};

mode_t mode_of(const fs::path& name) {
  struct stat about{};
  EXPECT_EQ(::lstat(name.c_str(), &about), 0) << name;
  return about.st_mode & 07777;
}

/// Expects that all in a folder is private. Returns how many files are in it. A store that is open may remove files
/// meanwhile.
std::size_t expect_private_in(const fs::path& folder) {
  std::size_t files = 0;
  for (const auto& each : fs::recursive_directory_iterator(folder)) {
    struct stat about{};
    if (::lstat(each.path().c_str(), &about) != 0 && errno == ENOENT) continue;
    EXPECT_EQ(about.st_mode & 07777, S_ISDIR(about.st_mode) ? 0700u : 0600u) << each.path();
    if (!S_ISDIR(about.st_mode)) ++files;
  }
  return files;
}

/// The same for a folder and all in it.
std::size_t expect_private(const fs::path& folder) {
  EXPECT_EQ(mode_of(folder), 0700u) << folder;
  return expect_private_in(folder);
}

TEST(private_files, all_that_a_store_makes_is_private_whatever_the_umask) {
  for (const mode_t mask : {0000u, 0022u, 0777u}) {
    const foliot_test::temporary_folder folder;
    const std::string path = folder.path() + "/store";
    const umask_of_process with(mask);
    for (int opening = 0; opening < 2; ++opening) {
      jobs::embedded_store store({.folder = path, .disk_reserve = 0});
      jobs::execute_one(store, jobs::put{.tube = "mail", .body = "secret"});
      store.back_up(path + std::to_string(opening));
      EXPECT_GE(expect_private(path + std::to_string(opening)), 4u) << "CURRENT, a manifest, options and a table";
      EXPECT_GE(expect_private(path), 6u) << "LOCK and a log, too";
      store.close();
      expect_private(path);
    }
    // The user of a restored backup is alone with it, too.
    jobs::embedded_store restored({.folder = path + "1", .disk_reserve = 0});
    EXPECT_EQ(jobs::execute_one(restored, jobs::count_all{}).counts.ready, 2u);
    expect_private(path + "1");
  }
}

TEST(private_files, a_folder_that_others_can_enter_is_told_and_stays_as_it_is) {
  const foliot_test::temporary_folder folder;
  const umask_of_process with(0022);
  for (const mode_t mode : {0755u, 0710u, 0701u, 0700u, 0766u, 0740u, 0722u}) {
    ASSERT_EQ(::chmod(folder.path().c_str(), mode), 0);
    std::vector<std::string> warnings;
    jobs::embedded_store store({.folder = folder.path(), .disk_reserve = 0, .warn = [&](std::string_view sentence) {
                                  warnings.emplace_back(sentence);
                                }});
    jobs::execute_one(store, jobs::put{.tube = "mail", .body = "secret"});
    EXPECT_EQ(mode_of(folder.path()), mode);
    EXPECT_GE(expect_private_in(folder.path()), 6u);
    if ((mode & 0055) == 0) {
      EXPECT_TRUE(warnings.empty());
      continue;
    }
    const bool can_be_entered = (mode & 0011) != 0;
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_EQ(warnings[0], "other users can " + std::string(can_be_entered ? "enter" : "read") + " the folder " +
                               folder.path() + (can_be_entered ? ", read the jobs in it," : ",") +
                               " and keep the store from being opened again: make it private (chmod 700)");
  }
}

TEST(private_files, the_mode_of_a_file_that_was_there_stays) {
  const foliot_test::temporary_folder folder;
  jobs::embedded_store({.folder = folder.path(), .disk_reserve = 0}).close();
  ASSERT_EQ(::chmod((folder.path() + "/LOCK").c_str(), 0644), 0);
  const jobs::embedded_store store({.folder = folder.path(), .disk_reserve = 0});
  EXPECT_EQ(mode_of(folder.path() + "/LOCK"), 0644u);
}

}  // namespace
