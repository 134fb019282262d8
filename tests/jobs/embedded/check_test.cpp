// The check of an embedded store finds every kind of entry that is missing, or that belongs to no job.
#include <foliot/jobs/embedded_store.hpp>

#include <string>

#include <gtest/gtest.h>

#include <foliot/jobs/calls.hpp>

#include "jobs/embedded/disk.hpp"
#include "jobs/kit/temporary_folder.hpp"

namespace {

namespace jobs = foliot::jobs;
namespace detail = foliot::jobs::detail;
using detail::family;
using namespace std::chrono_literals;

class embedded_check : public testing::Test {
 protected:
  /// A store with two jobs in each state, all with keys and with bodies of their own.
  embedded_check() {
    jobs::embedded_store store({.folder = folder.path(), .disk_reserve = 0});
    const auto put = [&](std::string key, jobs::milliseconds delay) {
      const jobs::put what{
          .tube = "mail", .key = std::move(key), .body = std::string(2000, 'b'), .priority = 5, .due = delay};
      return jobs::execute_one(store, what).id;
    };
    for (const char* key : {"a", "b", "c", "d"}) put(key, 0ms);
    put("e", 24h);
    put("f", 24h);
    const auto mine = jobs::execute_one(store, jobs::claim{{"mail"}, 2}).jobs;
    for (const jobs::claimed_job& each : mine) jobs::execute_one(store, jobs::bury{each.token});
  }
  /// Removes the last entry of a family.
  void lose_last_of(family where) {
    detail::disk files(detail::locked_folder(folder.path()), nullptr);
    std::string last;
    for (detail::disk::scan all(files, where, "", ""); all.valid(); all.next()) last = all.key();
    files.erase(where, last);
    files.write(true);
  }
  /// Adds an entry that is as the last one, but for the last byte of its key.
  void invent_after_last_of(family where) {
    detail::disk files(detail::locked_folder(folder.path()), nullptr);
    std::string last;
    std::string value;
    for (detail::disk::scan all(files, where, "", ""); all.valid(); all.next()) {
      last = all.key();
      value = all.value();
    }
    ++last.back();
    files.put(where, last, value);
    files.write(true);
  }
  [[nodiscard]] std::string check() const {
    jobs::embedded_store store({.folder = folder.path(), .disk_reserve = 0});
    const auto right = store.check();
    return right ? "" : right.error();
  }

  foliot_test::temporary_folder folder;
};

TEST_F(embedded_check, a_good_store_passes) { EXPECT_EQ(check(), ""); }

TEST_F(embedded_check, a_lost_body_is_found) {
  lose_last_of(family::bodies);
  EXPECT_EQ(check(), "job 6: it has no body");
}

TEST_F(embedded_check, a_body_of_no_job_is_found) {
  invent_after_last_of(family::bodies);
  EXPECT_EQ(check(), "a body belongs to no job");
}

TEST_F(embedded_check, a_lost_key_is_found) {
  lose_last_of(family::keys);
  EXPECT_EQ(check(), "job 6: its key does not lead to it");
}

TEST_F(embedded_check, a_key_of_no_job_is_found) {
  invent_after_last_of(family::keys);
  EXPECT_EQ(check(), "a key leads to no job");
}

TEST_F(embedded_check, a_lost_burial_is_found) {
  lose_last_of(family::buried);
  EXPECT_EQ(check(), "job 2: it is not where the buried are");
}

TEST_F(embedded_check, a_burial_of_no_job_is_found) {
  invent_after_last_of(family::buried);
  EXPECT_EQ(check(), "a burial has no job");
}

TEST_F(embedded_check, a_lost_entry_of_the_ready_is_found) {
  lose_last_of(family::ready);
  EXPECT_EQ(check(), "job 4: it is not where the ready are");
}

TEST_F(embedded_check, an_entry_of_the_ready_without_a_job_is_found) {
  invent_after_last_of(family::ready);
  EXPECT_EQ(check(), "an entry of the ready has no job");
}

TEST_F(embedded_check, a_lost_entry_of_the_delayed_is_found) {
  lose_last_of(family::due);
  EXPECT_EQ(check(), "job 6: the window of the delayed misses it");
}

TEST_F(embedded_check, a_lost_record_is_found) {
  lose_last_of(family::jobs);
  EXPECT_EQ(check(), "a body belongs to no job");
}

}  // namespace
