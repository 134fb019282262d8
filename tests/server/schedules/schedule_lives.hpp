// Servers that take the turns of schedules, from their start to their end, and what they have made. On virtual time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/jobs/store_clocks.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "jobs/kit/broker_world.hpp"
#include "server/access/authorized_client.hpp"
#include "server/access/server_tubes.hpp"
#include "server/schedules/occurrence_note.hpp"
#include "server/schedules/schedule_records.hpp"
#include "server/schedules/schedule_runner.hpp"

namespace foliot::program {

/// A client, by these rights, and the schedules that it sees.
struct scheduling_client {
  scheduling_client(jobs::broker& by, zone_cache& zones, std::shared_ptr<const rights> given = rights::everything())
      : holder(nullptr, std::move(given), [] {}), client(by, holder), records(client, zones, nullptr) {}

  rights_holder holder;
  authorized_client client;
  schedule_records records;
};

inline schedule_plan plan_in(std::string_view text) {
  std::expected<schedule_plan, plan_error> read = schedule_plan::read(text);
  EXPECT_TRUE(read) << sentence_of(read.error());
  return read ? std::move(*read) : schedule_plan();
}
/// A plan with one rule, and members besides: `"zone": "Europe/Berlin"`.
inline schedule_plan plan_by(std::string_view rule, std::string_view members = {}) {
  std::string text = R"({"rules": [")" + std::string(rule) + R"("])";
  if (!members.empty()) text += ", " + std::string(members);
  if (!members.contains("\"job\"")) text += R"(, "job": {"body": {"do": "it"}})";
  return plan_in(text + "}");
}

/// The time of a text such as 2026-03-29T01:00:00.
inline std::chrono::sys_seconds utc(int year, unsigned month, unsigned day, int hour = 0, int minute = 0,
                                    int second = 0) {
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}
/// Sets the wall clock before there is a store.
inline void begin_at(virtual_clock& clock, std::chrono::sys_seconds when) { clock.set_wall(when); }

/// A schedule that must be made.
inline task<known_schedule> made(scheduling_client& by, std::string name, schedule_plan plan,
                                 std::string tube = "mail") {
  auto putting = by.records.put(std::move(tube), std::move(name), std::move(plan), {});
  schedule_records::answer done = co_await putting;
  EXPECT_EQ(done.what, schedule_records::result::done) << done.why << " " << done.field;
  EXPECT_TRUE(done.seen.has_value());
  co_return done.seen ? std::move(*done.seen) : known_schedule();
}
/// A schedule that must be there.
inline task<known_schedule> found(scheduling_client& by, std::string name, std::string tube = "mail") {
  auto finding = by.records.find(std::move(tube), std::move(name));
  schedule_records::answer done = co_await finding;
  EXPECT_EQ(done.what, schedule_records::result::done);
  co_return done.seen ? std::move(*done.seen) : known_schedule();
}

/// The job of an occurrence.
struct made_occurrence {
  occurrence_note note;
  std::string key;
  jobs::job_state state = jobs::job_state::ready;
  jobs::utc_time made{};
  jobs::utc_time due{};
};
/// The occurrences whose jobs are in the tube, by schedule, the first put first.
inline std::map<std::string, std::vector<made_occurrence>> occurrences_in(jobs::job_store& store,
                                                                          std::string_view tube = "mail") {
  std::map<std::string, std::vector<made_occurrence>> all;
  jobs::list_jobs page;
  page.tube = tube;
  page.count = jobs::most_listed;
  for (bool has_more = true; has_more;) {
    const jobs::jobs_answer listed = jobs::execute_one(store, page);
    has_more = listed.next.has_value();
    if (has_more) page.after = *listed.next;
    for (const jobs::listed_job& each : listed.jobs) {
      const jobs::peek_answer seen = jobs::execute_one(store, jobs::peek{each.job.id});
      if (!seen.job) continue;
      const std::optional<occurrence_note> note = occurrence_note::in(seen.job->fields);
      EXPECT_TRUE(note) << seen.job->key;
      if (note) all[note->schedule].push_back({*note, seen.job->key, seen.job->state, seen.job->made, seen.job->due});
    }
  }
  return all;
}
inline std::vector<std::chrono::sys_seconds> instants_of(const std::vector<made_occurrence>& those) {
  std::vector<std::chrono::sys_seconds> all;
  for (const made_occurrence& each : those) all.push_back(each.note.at);
  return all;
}
/// What a timetable says: the instants after `from`, up to `to`.
inline std::vector<std::chrono::sys_seconds> instants_of(const schedule_plan& plan, std::chrono::sys_seconds from,
                                                         std::chrono::sys_seconds to) {
  const auto zone = schedule::zone_directory().find(plan.zone);
  EXPECT_TRUE(zone);
  const auto table = plan.table_in(zone.value(), "mail", "oracle");
  EXPECT_TRUE(table);
  std::vector<std::chrono::sys_seconds> all;
  for (auto next = table->all.next(from); next && next->at <= to; next = table->all.next(next->at)) {
    all.push_back(next->at);
  }
  return all;
}

/// A server on a store: what the test does, and sees of its batches.
struct schedule_server {
  jobs::broker& broker;
  foliot::test::spy_store& spy;
  zone_cache& zones;
  schedule_runner& runner;
  jobs::job_store& store;
};
using schedule_life = std::function<task<>(schedule_server&)>;

/// A server from its start to its end, or to the failure of its store.
inline void live_by_schedules(jobs::job_store& store, virtual_clock& clock, const schedule_life& body,
                              const schedule::zone_directory& zone_data = {}, const jobs::broker_limits& limits = {},
                              const schedule_runner::planning& how = {}) {
  foliot::test::spy_store spy(store);
  jobs::broker by(spy, limits);
  const auto whole = [&]() -> task<> {
    auto running = runtime::spawn(by.run(), "the broker");
    zone_cache zones(zone_data);
    schedule_runner runner(by, zones, {how.plan, &clock});
    auto scheduling = runtime::spawn(runner.keep_on(), "schedules");
    schedule_server all{by, spy, zones, runner, store};
    try {
      co_await body(all);
    } catch (const jobs::store_failure&) {
      // As the test wants it.
    }
    runner.end();
    co_await scheduling.join();
    by.close();
    try {
      co_await running.join();
    } catch (const jobs::store_failure&) {
      // The same.
    }
  };
  foliot::test::on_virtual_time(clock, whole);
}

/// A store in memory, at a time.
struct schedule_world {
  explicit schedule_world(std::chrono::sys_seconds begin) { begin_at(clock, begin); }

  void live(const schedule_life& body, const jobs::broker_limits& limits = {},
            const schedule_runner::planning& how = {}) {
    live_by_schedules(store, clock, body, {}, limits, how);
  }

  virtual_clock clock;
  jobs::virtual_wall_clock wall{clock};
  jobs::memory_store store{jobs::store_clocks{&wall, &clock}};
};

/// Does the jobs of a tube, each for so long, until it is asked to stop. Buries those of which it `fails`.
inline task<> work_on(jobs::broker& by, std::string tube, duration length,
                      std::function<bool(const jobs::job&)> fails = nullptr) {
  jobs::client worker(by);
  worker.watch(tube);
  for (;;) {
    auto reserving = worker.reserve();
    const jobs::reserve_answer got = co_await reserving;
    if (!got.job) continue;
    co_await runtime::sleep(length);
    if (fails && fails(got.job->job)) {
      auto burying = worker.bury(got.job->token.id);
      static_cast<void>(co_await burying);
    } else {
      auto finishing = worker.finish(got.job->token.id);
      static_cast<void>(co_await finishing);
    }
  }
}

}  // namespace foliot::program
