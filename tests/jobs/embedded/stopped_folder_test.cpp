// A folder that is looked at while no store has it: what it has, that nothing in it changes, and what is refused.
#include <foliot/jobs/stopped_folder.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/embedded_store.hpp>

#include "jobs/kit/temporary_folder.hpp"

namespace {

namespace jobs = foliot::jobs;
using foliot_test::temporary_folder;
using namespace std::chrono_literals;

class stopped : public testing::Test {
 protected:
  stopped() { time.set_wall(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1)); }

  void open() {
    store = std::make_unique<jobs::embedded_store>(
        jobs::embedded_options{.folder = folder.path(), .disk_reserve = 0, .clocks = {&wall, &time}});
  }
  template <class Operation>
  auto run(Operation what) {
    return jobs::execute_one(*store, std::move(what));
  }
  /// The files of the folder with their bytes.
  [[nodiscard]] std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> all;
    for (const auto& each : std::filesystem::directory_iterator(folder.path())) {
      std::ifstream opened(each.path(), std::ios::binary);
      all[each.path().filename()] = std::string(std::istreambuf_iterator<char>(opened), {});
    }
    return all;
  }
  [[nodiscard]] jobs::utc_time now() const {
    return std::chrono::floor<jobs::milliseconds>(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1));
  }
  /// Four jobs: delayed with a key, ready with a long body, reserved, and buried.
  void fill() {
    open();
    run(jobs::put{.tube = "mail", .key = "k", .body = "soon", .priority = 7, .due = 1h, .ttr = 5min});
    run(jobs::put{.tube = "icons", .body = std::string(5000, 'x')});
    run(jobs::put{.tube = "held", .body = "held"});
    run(jobs::put{.tube = "bad", .body = "bad"});
    run(jobs::claim{.tubes = {"held"}, .count = 1});
    const auto bad = run(jobs::claim{.tubes = {"bad"}, .count = 1}).jobs;
    run(jobs::bury{.token = bad.at(0).token});
  }

  temporary_folder folder;
  foliot::virtual_clock time;
  jobs::virtual_wall_clock wall{time};
  std::unique_ptr<jobs::embedded_store> store;
};

TEST_F(stopped, a_folder_shows_its_jobs_and_does_not_change) {
  fill();
  store.reset();
  const auto before = files();
  {
    const jobs::stopped_folder look(folder.path());
    const auto delayed = look.find("mail", "k", now());
    ASSERT_TRUE(delayed);
    EXPECT_EQ(delayed->id, 1u);
    EXPECT_EQ(delayed->tube, "mail");
    EXPECT_EQ(delayed->key, "k");
    EXPECT_EQ(delayed->body, "soon");
    EXPECT_EQ(delayed->priority, 7u);
    EXPECT_EQ(delayed->state, jobs::job_state::delayed);
    EXPECT_EQ(delayed->due, now() + 1h);
    EXPECT_EQ(delayed->ttr, 5min);
    EXPECT_EQ(look.find(1, now() + 1h)->state, jobs::job_state::ready);
    EXPECT_EQ(look.find(2, now())->body, std::string(5000, 'x'));
    EXPECT_EQ(look.find(3, now())->state, jobs::job_state::ready) << "as an opening makes it";
    EXPECT_EQ(look.find(4, now())->state, jobs::job_state::buried);
    EXPECT_FALSE(look.find(5, now()));
    EXPECT_FALSE(look.find("mail", "other", now()));
    EXPECT_FALSE(look.find("nowhere", "k", now()));
    std::vector<jobs::job_id> ids;
    look.walk(now(), [&ids](const jobs::job& each) {
      EXPECT_EQ(each.body, "");
      ids.push_back(each.id);
      return ids.size() < 3;
    });
    EXPECT_EQ(ids, (std::vector<jobs::job_id>{1, 2, 3}));
    const auto tubes = look.tubes();
    ASSERT_EQ(tubes.size(), 4u);
    EXPECT_EQ(tubes[0].first, "bad");
    EXPECT_EQ(tubes[0].second.buried, 1u);
    EXPECT_EQ(tubes[3].first, "mail");
    EXPECT_EQ(tubes[3].second.delayed, 1u);
  }
  EXPECT_EQ(files(), before);
}

TEST_F(stopped, what_was_due_next_comes_from_all_tubes_in_order) {
  open();
  for (int i = 1; i <= 30; ++i)
    run(jobs::put{.tube = "tube" + std::to_string(i % 3), .body = "", .due = std::chrono::minutes(31 - i)});
  store.reset();
  const jobs::stopped_folder look(folder.path());
  const auto all = look.due_next([](std::string_view) { return true; }, 5);
  ASSERT_EQ(all.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(all[i].id, 30 - i);
    EXPECT_EQ(all[i].tube, "tube" + std::to_string((30 - i) % 3));
    EXPECT_EQ(all[i].due, now() + std::chrono::minutes(i + 1));
  }
  const auto one = look.due_next([](std::string_view tube) { return tube == "tube1"; }, 100);
  ASSERT_EQ(one.size(), 10u);
  EXPECT_EQ(one.front().id, 28u);
}

TEST_F(stopped, a_folder_that_was_not_closed_shows_what_was_reported) {
  fill();
  temporary_folder copy;
  std::filesystem::copy(folder.path(), copy.path() + "/crashed");
  store.reset();
  const jobs::stopped_folder look(copy.path() + "/crashed");
  EXPECT_EQ(look.find(1, now())->body, "soon");
  EXPECT_EQ(look.find(4, now())->state, jobs::job_state::buried);
}

TEST_F(stopped, a_folder_in_use_is_refused_and_keeps_a_store_out) {
  fill();
  EXPECT_THROW(jobs::stopped_folder{folder.path()}, jobs::store_failure);
  store.reset();
  {
    const jobs::stopped_folder look(folder.path());
    EXPECT_THROW(open(), jobs::store_failure);
  }
  open();
}

TEST_F(stopped, what_is_no_store_is_refused_and_not_made_one) {
  EXPECT_THROW(jobs::stopped_folder{folder.path()}, jobs::store_failure);
  EXPECT_TRUE(files().empty());
  EXPECT_THROW(jobs::stopped_folder{folder.path() + "/missing"}, jobs::store_failure);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + "/missing"));
  EXPECT_THROW(jobs::stopped_folder{""}, jobs::store_failure);
}

TEST_F(stopped, a_damaged_folder_is_refused) {
  fill();
  store.reset();
  for (const auto& each : std::filesystem::directory_iterator(folder.path())) {
    if (each.path().extension() == ".sst") std::filesystem::resize_file(each.path(), 10);
  }
  EXPECT_THROW(
      {
        const jobs::stopped_folder look(folder.path());
        static_cast<void>(look.find(1, now()));
      },
      jobs::store_failure);
}

}  // namespace
