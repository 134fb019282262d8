// Schedules in a folder go on when the folder is opened again.
#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <foliot/jobs/embedded_store.hpp>

#include "jobs/kit/temporary_folder.hpp"
#include "schedule_lives.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

TEST(EmbeddedSchedules, GoOnWhenTheFolderIsOpenedAgain) {
  for (std::size_t batches = 0; batches < 30; ++batches) {
    SCOPED_TRACE(batches);
    const foliot_test::temporary_folder folder;
    virtual_clock clock;
    const std::chrono::sys_seconds begin = utc(2026, 3, 29, 0, 55, 30);
    begin_at(clock, begin);
    const jobs::virtual_wall_clock wall(clock);
    const auto options = [&] {
      jobs::embedded_options how;
      how.folder = folder.path() + "/jobs";
      how.disk_reserve = 0;
      how.clocks = {&wall, &clock};
      return how;
    };
    const schedule_plan plan = plan_by("* * * * *", R"("missed": "all", "zone": "Europe/Berlin")");
    {
      jobs::embedded_store store(options());
      live_by_schedules(store, clock, [&](schedule_server& at) -> task<> {
        scheduling_client by(at.broker, at.zones);
        for (int i = 0; i < 5; ++i) {
          auto making = made(by, fmt::format("s{}", i), plan);
          static_cast<void>(co_await making);
        }
        at.spy.fails_from = at.spy.sizes.size() + batches;
        co_await runtime::sleep(10min);
      });
    }
    jobs::embedded_store store(options());
    live_by_schedules(store, clock, [](schedule_server&) -> task<> { co_await runtime::sleep(10min); });
    const auto all = occurrences_in(store);
    ASSERT_EQ(all.size(), 5u);
    for (const auto& [name, those] : all) {
      EXPECT_EQ(instants_of(those), instants_of(plan, begin, begin + 20min)) << name;
    }
    const check_result found = store.check();
    EXPECT_TRUE(found) << found.error();
  }
}

/// Very many at one second, in few batches: each of these syncs once.
TEST(EmbeddedSchedules, ManyAtOneSecond) {
  constexpr std::size_t count = 10'000;
  const foliot_test::temporary_folder folder;
  virtual_clock clock;
  begin_at(clock, utc(2026, 6, 1, 11, 59));
  const jobs::virtual_wall_clock wall(clock);
  jobs::embedded_options how;
  how.folder = folder.path() + "/jobs";
  how.disk_reserve = 0;
  how.clocks = {&wall, &clock};
  jobs::embedded_store store(how);
  live_by_schedules(store, clock, [&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    auto making = made(by, "first", plan_by("0 12 * * *"));
    static_cast<void>(co_await making);
    auto looking = at.broker.execute(jobs::peek{jobs::job_key{std::string(tube_of_schedules), "mail:first"}});
    const jobs::peek_answer first = co_await looking;
    std::deque<jobs::in_flight<jobs::put>> putting;
    for (std::size_t i = 1; i < count; ++i) {
      jobs::put record;
      record.tube = tube_of_schedules;
      record.key = fmt::format("mail:s{}", i);
      record.body = first.job.value().body;
      record.history = first.job->history;
      record.due = first.job->due;
      putting.emplace_back(at.broker, std::move(record));
    }
    for (jobs::in_flight<jobs::put>& each : putting) {
      const jobs::put_answer done = co_await each;
      EXPECT_EQ(done.what, jobs::put_answer::kind::inserted);
    }
    const std::size_t batches = at.spy.sizes.size();
    co_await runtime::sleep(70s);
    EXPECT_LE(at.spy.sizes.size() - batches, 5 * (count / schedule_runner::most_at_once + 10));
    auto counting = at.broker.execute(jobs::count_tube{"mail"});
    EXPECT_EQ((co_await counting).counts.all(), count);
  });
}

}  // namespace
}  // namespace foliot::program
