// A backup of an embedded store that is made while another thread uses it.
#include <foliot/jobs/embedded_store.hpp>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <foliot/jobs/calls.hpp>

#include "jobs/kit/temporary_folder.hpp"

namespace {

namespace jobs = foliot::jobs;
using foliot_test::temporary_folder;

jobs::job_id put(jobs::embedded_store& to) {
  return jobs::execute_one(to, jobs::put{.tube = "mail", .body = std::string(2000, 'b')}).id;
}

TEST(embedded_backup, has_what_was_reported_before_it) {
  const temporary_folder folder;
  jobs::embedded_store store({.folder = folder.path() + "/store", .disk_reserve = 0});
  for (int backup = 0; backup < 3; ++backup) {
    const std::string name = folder.path() + "/backup" + std::to_string(backup);
    for (int each = 0; each < 20; ++each) put(store);
    const jobs::job_id last = put(store);
    std::atomic<bool> made{false};
    std::thread copies([&] {
      store.back_up(name);
      made = true;
    });
    jobs::job_id during = last;
    while (!made) during = put(store);
    copies.join();

    jobs::embedded_store copy({.folder = name, .disk_reserve = 0});
    const auto right = copy.check();
    EXPECT_TRUE(right) << right.error();
    const std::uint64_t count = jobs::execute_one(copy, jobs::count_all{}).counts.all();
    EXPECT_GE(count, last);
    EXPECT_LE(count, during);
    EXPECT_EQ(jobs::execute_one(copy, jobs::peek{count}).job->body, std::string(2000, 'b'));
    EXPECT_GT(put(copy), count);
  }
}

TEST(embedded_backup, where_there_is_a_folder_is_refused_and_the_store_goes_on) {
  const temporary_folder folder;
  jobs::embedded_store store({.folder = folder.path() + "/store", .disk_reserve = 0});
  store.back_up(folder.path() + "/backup");
  EXPECT_THROW(store.back_up(folder.path() + "/backup"), jobs::store_failure);
  EXPECT_THROW(store.back_up(folder.path() + "/no/such/folder"), jobs::store_failure);
  store.back_up(folder.path() + "/new/backup");
  EXPECT_EQ(std::filesystem::status(folder.path() + "/new").permissions(), std::filesystem::perms::owner_all);
  EXPECT_EQ(put(store), 1u);
}

TEST(embedded_backup, is_refused_on_a_disk_that_is_nearly_full) {
  const temporary_folder folder;
  jobs::embedded_store store({.folder = folder.path() + "/store", .disk_reserve = std::uint64_t{1} << 62});
  EXPECT_THROW(store.back_up(folder.path() + "/backup"), jobs::store_failure);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/backup"));
  EXPECT_EQ(jobs::execute_one(store, jobs::count_all{}).counts.all(), 0u);
}

}  // namespace
