// New data of time zones while schedules wait.
#include "server/schedules/zone_review.hpp"

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <variant>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "jobs/kit/two_nodes.hpp"
#include "schedule_lives.hpp"
#include "zone_folder.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

constexpr const char* berlin = "Europe/Berlin";

struct reviewing_server {
  schedule_server& at;
  zone_review& review;
};

void live_with_review(schedule_world& world, const zone_folder& data,
                      const std::function<task<>(reviewing_server&)>& body) {
  live_by_schedules(
      world.store, world.clock,
      [&](schedule_server& at) -> task<> {
        zone_review review(at.broker, at.zones);
        auto reviewing = runtime::spawn(review.keep_on(), "zones");
        reviewing_server both{at, review};
        co_await body(both);
        review.end();
        co_await reviewing.join();
      },
      data.directory());
}

std::size_t bodies_looked_at(std::span<const jobs::operation> batch) {
  std::size_t looks = 0;
  for (const jobs::operation& each : batch) {
    const auto* const one = std::get_if<jobs::peek>(&each);
    if (one != nullptr && one->with_body && std::holds_alternative<jobs::job_id>(one->name)) ++looks;
  }
  return looks;
}

/// By the new data 09:00 comes earlier: a schedule that waits for the old time is planned again.
TEST(ZoneReview, NewDataMoveWhatWaits) {
  zone_folder data("2026a", {{berlin, "America/New_York"}});
  schedule_world world(utc(2026, 1, 15, 0, 0, 30));
  live_with_review(world, data, [&](reviewing_server& with) -> task<> {
    scheduling_client by(with.at.broker, with.at.zones);
    auto making = made(by, "nine", plan_by("0 9 * * *", R"("zone": "Europe/Berlin")"));
    const known_schedule nine = co_await making;
    EXPECT_EQ(nine.state.next.value().at, utc(2026, 1, 15, 14));
    auto making_other = made(by, "utc", plan_by("0 9 * * *"));
    static_cast<void>(co_await making_other);
    co_await runtime::sleep(10min);
    data.replace("2026b", {{berlin, berlin}});
    co_await runtime::sleep(3min);
    auto looking = found(by, "nine");
    const known_schedule moved = co_await looking;
    EXPECT_EQ(moved.state.next.value().at, utc(2026, 1, 15, 8));
    EXPECT_EQ(moved.state.zone_data, "2026b");
    EXPECT_EQ(with.review.moved(), 1u);
    co_await runtime::sleep(24h);
  });
  const auto all = occurrences_in(world.store);
  ASSERT_EQ(all.at("nine").size(), 1u);
  EXPECT_EQ(all.at("nine")[0].note.at, utc(2026, 1, 15, 8));
  EXPECT_LE(all.at("nine")[0].made, utc(2026, 1, 15, 8) + 10ms);
  EXPECT_EQ(all.at("nine")[0].note.zone_data, "2026b");
}

/// A fixed time that has been done is not done again when it comes a second time by the new data.
TEST(ZoneReview, WhatIsDoneIsNotDoneAgain) {
  zone_folder data("2026a", {{berlin, berlin}});
  schedule_world world(utc(2026, 1, 15, 0, 0, 30));
  live_with_review(world, data, [&](reviewing_server& with) -> task<> {
    scheduling_client by(with.at.broker, with.at.zones);
    auto making = made(by, "nine", plan_by("0 9 * * *", R"("zone": "Europe/Berlin")"));
    static_cast<void>(co_await making);
    co_await runtime::sleep(9h);
    data.replace("2026b", {{berlin, "America/New_York"}});
    co_await runtime::sleep(10h);
  });
  EXPECT_EQ(occurrences_in(world.store).at("nine").size(), 1u);
}

/// The data were replaced while no server ran. The next start looks once, and the one after it not at all.
TEST(ZoneReview, AStartLooksOnlyIfTheDataHaveChanged) {
  zone_folder data("2026a", {{berlin, "America/New_York"}});
  schedule_world world(utc(2026, 1, 15, 0, 0, 30));
  constexpr std::size_t count = 250;
  std::size_t looks = 0;
  const auto starts = [&](const std::function<task<>(reviewing_server&)>& body) {
    looks = 0;
    live_with_review(world, data, [&](reviewing_server& with) -> task<> {
      with.at.spy.before = [&](std::span<jobs::operation> batch) {
        EXPECT_LE(bodies_looked_at(batch), 1u) << "bodies may be large";
        looks += bodies_looked_at(batch);
      };
      co_await body(with);
    });
  };
  starts([&](reviewing_server& with) -> task<> {
    co_await runtime::sleep(1s);  // it has looked
    scheduling_client by(with.at.broker, with.at.zones);
    for (std::size_t i = 0; i < count; ++i) {
      auto making = made(by, fmt::format("s{}", i), plan_by("0 9 * * *", R"("zone": "Europe/Berlin")"));
      static_cast<void>(co_await making);
    }
    co_await runtime::sleep(5min);
  });
  const auto rests = [](reviewing_server&) -> task<> { co_await runtime::sleep(5min); };
  starts(rests);
  EXPECT_EQ(looks, count) << "nothing was kept by the first start, which had no schedules when it looked";
  starts(rests);
  EXPECT_EQ(looks, 0u);
  data.replace("2026b", {{berlin, berlin}});
  starts([&](reviewing_server& with) -> task<> {
    co_await runtime::sleep(5min);
    EXPECT_EQ(with.review.moved(), count);
  });
  EXPECT_EQ(looks, count);
  starts(rests);
  EXPECT_EQ(looks, 0u);
  // A node that still has the old data leaves all as it is.
  data.replace("2026a", {{berlin, "America/New_York"}});
  starts(rests);
  EXPECT_EQ(looks, 0u);
}

/// A node with older data leaves a record to the one whose data have planned it.
TEST(ZoneReview, TheNewestDataWin) {
  zone_folder older("2026a", {{berlin, berlin}});
  zone_folder newer("2026b", {{berlin, berlin}});
  foliot::test::in_node_worlds([&](foliot::test::two_nodes& world) -> task<> {
    zone_cache old_zones(older.directory());
    zone_cache new_zones(newer.directory());
    schedule_runner here(world.here, old_zones);
    schedule_runner there(world.there, new_zones);
    {
      scheduling_client by(world.there, new_zones);
      auto making = made(by, "minutely", plan_by("* * * * *", R"("zone": "Europe/Berlin")"));
      static_cast<void>(co_await making);
    }
    auto scheduling_here = runtime::spawn(here.keep_on(), "schedules here");
    auto scheduling_there = runtime::spawn(there.keep_on(), "schedules there");
    co_await runtime::sleep(10min);
    there.end();
    co_await scheduling_there.join();
    const auto by_both = occurrences_in(world.memory);
    EXPECT_GE(by_both.at("minutely").size(), 9u);
    for (const made_occurrence& each : by_both.at("minutely")) EXPECT_EQ(each.note.zone_data, "2026b");
    co_await runtime::sleep(10min);
    const auto by_one = occurrences_in(world.memory);
    EXPECT_GE(by_one.at("minutely").size(), 18u) << "where nobody has the newer data any more, it goes on";
    here.end();
    co_await scheduling_here.join();
  });
}

/// A schedule of a zone that there was not is followed when the zone comes.
TEST(ZoneReview, ANewZoneIsFollowed) {
  zone_folder data("2026a", {{berlin, berlin}});
  schedule_world world(utc(2026, 1, 15, 0, 0, 30));
  jobs::put record;
  record.tube = tube_of_schedules;
  record.key = "mail:moon";
  record.body = R"({"rules": ["*/10 * * * *"], "zone": "Moon/Base", "job": {"body": 1}})";
  jobs::execute_one(world.store, std::move(record));
  live_with_review(world, data, [&](reviewing_server&) -> task<> {
    co_await runtime::sleep(10min);
    EXPECT_TRUE(occurrences_in(world.store).empty());
    data.replace("2026b", {{berlin, berlin}, {"Moon/Base", berlin}});
    co_await runtime::sleep(30min);
  });
  EXPECT_EQ(occurrences_in(world.store).at("moon").size(), 3u);
}

}  // namespace
}  // namespace foliot::program
