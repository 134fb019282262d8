// Schedules over a store in memory: what they make, whatever ends in between.
#include "server/schedules/schedule_runner.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobs/kit/two_nodes.hpp"
#include "schedule_lives.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

bool is_turn(const jobs::operation& each) {
  const auto* const all = std::get_if<jobs::put_all>(&each);
  return all != nullptr && all->puts.front().holder.has_value();
}
std::size_t turns_in(std::span<const jobs::operation> batch) {
  return static_cast<std::size_t>(std::ranges::count_if(batch, is_turn));
}

/// A week, in which clocks go forward: the jobs are those that the timetable says, each put when it is due.
TEST(ScheduleRunner, MakesEachOccurrenceOfAWeek) {
  const std::chrono::sys_seconds begin = utc(2026, 3, 26, 10, 30);
  schedule_world world(begin);
  const schedule_plan hourly = plan_by("5 * * * *", R"("zone": "Europe/Berlin")");
  const schedule_plan nightly = plan_by("30 2 * * *", R"("zone": "Europe/Berlin")");
  const schedule_plan every = plan_by("every 7h");
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    auto first = made(by, "hourly", hourly);
    static_cast<void>(co_await first);
    auto second = made(by, "nightly", nightly);
    static_cast<void>(co_await second);
    auto third = made(by, "every", every);
    static_cast<void>(co_await third);
    co_await runtime::sleep(168h);
    auto looking = found(by, "nightly");
    const known_schedule seen = co_await looking;
    EXPECT_EQ(seen.state.counters.of(occurrence_reason::regular), 7u);
    EXPECT_EQ(seen.state.recent.size(), 7u);
  });
  const auto all = occurrences_in(world.store);
  const std::chrono::sys_seconds end = begin + 168h;
  EXPECT_EQ(instants_of(all.at("hourly")), instants_of(hourly, begin, end));
  EXPECT_EQ(instants_of(all.at("nightly")), instants_of(nightly, begin, end));
  ASSERT_EQ(all.at("nightly").size(), 7u);
  EXPECT_TRUE(all.at("nightly")[2].note.is_shifted) << "02:30 was left out on the 29th";
  EXPECT_EQ(all.at("every").size(), 24u);
  for (const auto& [name, those] : all) {
    for (const made_occurrence& each : those) {
      EXPECT_GE(each.made, each.note.at) << name;
      EXPECT_LE(each.made, each.note.at + 10ms) << name;
      EXPECT_EQ(each.note.reason, occurrence_reason::regular);
    }
  }
}

/// The batch after which the process ends.
class ScheduleEndsBehindBatch : public testing::TestWithParam<std::size_t> {};

TEST_P(ScheduleEndsBehindBatch, AndEachOccurrenceIsMadeOnce) {
  const std::chrono::sys_seconds begin = utc(2026, 6, 1, 12, 0, 30);
  schedule_world world(begin);
  const schedule_plan plan = plan_by("* * * * *", R"("missed": "all")");
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    for (const char* const name : {"one", "two", "three"}) {
      auto making = made(by, name, plan);
      static_cast<void>(co_await making);
    }
    at.spy.fails_from = at.spy.sizes.size() + GetParam();
    co_await runtime::sleep(10min);
  });
  world.live([&](schedule_server&) -> task<> { co_await runtime::sleep(10min); });
  const auto all = occurrences_in(world.store);
  ASSERT_EQ(all.size(), 3u);
  for (const auto& [name, those] : all) EXPECT_EQ(instants_of(those), instants_of(plan, begin, begin + 20min)) << name;
}

INSTANTIATE_TEST_SUITE_P(ScheduleRunner, ScheduleEndsBehindBatch, testing::Range<std::size_t>(0, 40));

/// Of each turn the answer is lost, or the batch is, as the seed says.
TEST(ScheduleRunner, LostAnswersMakeNoOccurrenceTwice) {
  for (const bool executes : {false, true}) {
    foliot::test::in_node_worlds([&](foliot::test::two_nodes& world) -> task<> {
      zone_cache zones;
      schedule_runner here(world.here, zones);
      auto scheduling = runtime::spawn(here.keep_on(), "schedules");
      const schedule_plan plan = plan_by("every 10s", R"("missed": "all")");
      std::chrono::sys_seconds begin;
      {
        scheduling_client by(world.there, zones);
        auto making = made(by, "often", plan);
        const known_schedule often = co_await making;
        begin = std::chrono::floor<std::chrono::seconds>(often.state.made);
      }
      std::size_t lost = 0;
      std::size_t turns = 0;
      world.here_store.before = [&](std::span<jobs::operation> batch) {
        turns = turns_in(batch);
        if (turns == 0 || executes || ++lost % 2 == 0) return;
        throw jobs::store_unavailable(jobs::store_unavailable::kind::in_doubt, "the line is cut before");
      };
      world.here_store.after = [&](jobs::execution&) {
        if (turns == 0 || !executes || ++lost % 2 == 0) return;
        throw jobs::store_unavailable(jobs::store_unavailable::kind::in_doubt, "the line is cut behind");
      };
      co_await runtime::sleep(301s);
      world.accept();
      co_await runtime::sleep(60s);
      EXPECT_GT(lost, 20u);
      const auto all = occurrences_in(world.memory);
      const std::vector<std::chrono::sys_seconds> instants = instants_of(all.at("often"));
      EXPECT_EQ(std::set(instants.begin(), instants.end()).size(), instants.size()) << "one was made twice";
      EXPECT_GE(instants.size(), 35u);
      for (std::size_t i = 0; i < instants.size(); ++i) EXPECT_EQ(instants[i], begin + 10s * (i + 1));
      here.end();
      co_await scheduling.join();
    });
  }
}

/// Two nodes share the turns, and lose messages.
TEST(ScheduleRunner, TwoNodesMakeEachOccurrenceOnce) {
  foliot::test::in_node_worlds([](foliot::test::two_nodes& world) -> task<> {
    world.here_nodes.drops = true;
    zone_cache zones;
    schedule_runner here(world.here, zones);
    schedule_runner there(world.there, zones);
    auto scheduling_here = runtime::spawn(here.keep_on(), "schedules here");
    auto scheduling_there = runtime::spawn(there.keep_on(), "schedules there");
    constexpr std::size_t count = 20;
    {
      scheduling_client by(world.here, zones);
      for (std::size_t i = 0; i < count; ++i) {
        auto making = made(by, fmt::format("s{}", i), plan_by("every 30s"));
        static_cast<void>(co_await making);
      }
    }
    co_await runtime::sleep(601s);
    const auto all = occurrences_in(world.memory);
    EXPECT_EQ(all.size(), count);
    for (const auto& [name, those] : all) {
      EXPECT_EQ(those.size(), 20u) << name;
      for (std::size_t i = 1; i < those.size(); ++i) EXPECT_EQ(those[i].note.at, those[i - 1].note.at + 30s) << name;
      for (const made_occurrence& each : those) EXPECT_LE(each.made, each.note.at + 2s) << name;
    }
    here.end();
    there.end();
    co_await scheduling_here.join();
    co_await scheduling_there.join();
  });
}

jobs::put raw_record(std::string key, std::string body) {
  jobs::put record;
  record.tube = tube_of_schedules;
  record.key = std::move(key);
  record.body = std::move(body);
  return record;
}
std::optional<schedule_state> state_of_record(jobs::job_store& store, const std::string& key) {
  const jobs::peek_answer seen =
      jobs::execute_one(store, jobs::peek{jobs::job_key{std::string(tube_of_schedules), key}});
  EXPECT_TRUE(seen.job) << key;
  if (!seen.job) return std::nullopt;
  const auto state = schedule_state::in(seen.job->history);
  EXPECT_TRUE(state) << key;
  return state ? *state : std::nullopt;
}

/// What an application has stored by SQL: right or wrong, one stops no other, and none costs much.
TEST(ScheduleRunner, RecordsOfOtherHandsAreFollowedOrRefused) {
  const std::chrono::sys_seconds begin = utc(2026, 6, 1, 12, 0, 30);
  schedule_world world(begin);
  const std::string good = R"({"rules": ["* * * * *"], "job": {"body": 1}})";
  jobs::execute_one(world.store, raw_record("mail:good", good));
  jobs::execute_one(world.store, raw_record("mail:every", R"({"rules": ["every 60s"], "job": {"body": 1}})"));
  jobs::execute_one(world.store, raw_record("mail:rule", R"({"rules": ["61 * * * *"], "job": {"body": 1}})"));
  jobs::execute_one(world.store, raw_record("mail:zone", R"({"rules": ["* * * * *"], "zone": "Europe/Berln"})"));
  jobs::execute_one(world.store, raw_record("mail:text", "no JSON"));
  jobs::execute_one(world.store, raw_record("without a tube", good));
  jobs::execute_one(world.store, raw_record("mail:" + std::string(150, 'n'), good));
  world.live([&](schedule_server& at) -> task<> {
    co_await runtime::sleep(1s);
    const std::size_t batches = at.spy.sizes.size();
    co_await runtime::sleep(600s);
    EXPECT_LT(at.spy.sizes.size() - batches, 10u * 2 * 10) << "two are due each minute, and nothing else";
  });
  const auto all = occurrences_in(world.store);
  EXPECT_THAT(all.at("good"), SizeIs(10));
  EXPECT_THAT(all.at("every"), SizeIs(10));
  EXPECT_EQ(all.size(), 2u);
  EXPECT_THAT(state_of_record(world.store, "mail:rule").value().refused, HasSubstr("/rules/0"));
  EXPECT_THAT(state_of_record(world.store, "mail:zone").value().refused, HasSubstr("Europe/Berlin"));
  EXPECT_FALSE(state_of_record(world.store, "mail:text").value().refused.empty());
  EXPECT_THAT(state_of_record(world.store, "without a tube").value().refused, HasSubstr("TUBE:NAME"));
}

/// The state of a later version stays as it is, and is left to a node of that version.
TEST(ScheduleRunner, LeavesRecordsOfLaterVersions) {
  schedule_world world(utc(2026, 6, 1));
  jobs::put record = raw_record("mail:later", R"({"rules": ["* * * * *"], "job": {"body": 1}})");
  ASSERT_TRUE(record.history.set(tag_of_schedule_state, std::string(1, static_cast<char>(state_format + 1)) + "more"));
  const jobs::job_fields history = record.history;
  jobs::execute_one(world.store, std::move(record));
  world.live([&](schedule_server& at) -> task<> {
    co_await runtime::sleep(1h);
    EXPECT_LT(at.spy.sizes.size(), 3600u);
  });
  const jobs::peek_answer seen =
      jobs::execute_one(world.store, jobs::peek{jobs::job_key{std::string(tube_of_schedules), "mail:later"}});
  EXPECT_EQ(seen.job.value().history, history);
  EXPECT_THAT(occurrences_in(world.store), IsEmpty());
}

/// Nobody can tell what was made by a state that cannot be read: nothing is made, and the bytes stay.
TEST(ScheduleRunner, ADamagedStateIsRefusedAndKept) {
  schedule_world world(utc(2026, 6, 1, 12, 0, 30));
  jobs::put record = raw_record("mail:hurt", R"({"rules": ["* * * * *"], "job": {"body": 1}})");
  std::string bytes = schedule_state().encoding();
  bytes.pop_back();
  ASSERT_TRUE(record.history.set(tag_of_schedule_state, bytes));
  const jobs::job_fields history = record.history;
  jobs::execute_one(world.store, std::move(record));
  const auto seen_record = [&] {
    return jobs::execute_one(world.store, jobs::peek{jobs::job_key{std::string(tube_of_schedules), "mail:hurt"}});
  };
  world.live([&](schedule_server& at) -> task<> {
    co_await runtime::sleep(3h);
    EXPECT_LT(at.spy.sizes.size(), 100u) << "it is looked at now and then";
    EXPECT_EQ(seen_record().job.value().history, history);
    EXPECT_THAT(occurrences_in(world.store), IsEmpty());
    scheduling_client by(at.broker, at.zones);
    auto finding = by.records.find("mail", "hurt");
    const schedule_records::answer shown = co_await finding;
    EXPECT_THAT(shown.seen.value().fault, HasSubstr("damaged"));
    auto running = by.records.run("mail", "hurt", {});
    EXPECT_EQ((co_await running).what, schedule_records::result::unreadable);
    EXPECT_EQ(seen_record().job.value().history, history);
    auto putting = by.records.put("mail", "hurt", plan_by("* * * * *"), {});
    EXPECT_EQ((co_await putting).what, schedule_records::result::done) << "a put begins anew";
    co_await runtime::sleep(120s);
  });
  EXPECT_THAT(occurrences_in(world.store).at("hurt"), SizeIs(2));
}

/// Very many at one second: some hundreds of batches, and a tube beside them is served in each of them.
TEST(ScheduleRunner, ManyAtOneSecond) {
  constexpr std::size_t count = 20'000;
  schedule_world world(utc(2026, 6, 1, 11, 59));
  const std::string body = plan_by("0 12 * * *").text();
  world.live([&](schedule_server& at) -> task<> {
    {
      scheduling_client by(at.broker, at.zones);
      auto making = made(by, "first", plan_by("0 12 * * *"));
      static_cast<void>(co_await making);
    }
    const jobs::peek_answer first =
        jobs::execute_one(world.store, jobs::peek{jobs::job_key{std::string(tube_of_schedules), "mail:first"}});
    for (std::size_t i = 1; i < count; ++i) {
      jobs::put record = raw_record(fmt::format("mail:s{}", i), body);
      record.history = first.job.value().history;
      record.due = first.job->due;
      jobs::execute_one(world.store, std::move(record));
    }
    std::size_t turns = 0;
    std::size_t most = 0;
    std::size_t batches = 0;
    std::size_t beside = 0;
    at.spy.before = [&](std::span<jobs::operation> batch) {
      turns += turns_in(batch);
      most = std::max(most, turns_in(batch));
      if (turns_in(batch) > 0) ++batches;
      world.clock.stall(1ms);  // what a batch takes
    };
    auto working = runtime::spawn(
        [&at, &beside]() -> task<> {
          jobs::client worker(at.broker);
          worker.watch("beside");
          for (;;) {
            auto putting = worker.execute(jobs::put{.tube = "beside", .body = ""});
            static_cast<void>(co_await putting);
            const instant begin = runtime::now();
            auto reserving = worker.reserve();
            const jobs::reserve_answer got = co_await reserving;
            EXPECT_LT(runtime::now() - begin, duration(10ms)) << "it waits for some batches at the most";
            auto finishing = worker.finish(got.job.value().token.id);
            static_cast<void>(co_await finishing);
            ++beside;
            co_await runtime::sleep(5ms);
          }
        },
        "beside");
    co_await runtime::sleep(70s);
    working.request_stop();
    try {
      co_await working.join();
    } catch (const std::exception&) {
      // It was asked to.
    }
    EXPECT_EQ(turns, count);
    EXPECT_LE(most, schedule_runner::most_at_once * schedule_runner::lanes);
    EXPECT_LE(batches, count / schedule_runner::most_at_once + 10);
    EXPECT_GT(beside, 100u);
  });
  EXPECT_EQ(jobs::execute_one(world.store, jobs::count_tube{"mail"}).counts.all(), count);
}

/// Jobs that bring much more than the broker's queue takes, after an outage: all are made, and a schedule beside them
/// is not held up.
TEST(ScheduleRunner, LargeOnesAreMadeInPortions) {
  const std::chrono::sys_seconds begin = utc(2026, 6, 1, 12, 0, 30);
  constexpr std::size_t count = 30;
  schedule_world world(begin);
  jobs::broker_limits limits;
  limits.queued_bytes = 1'500'000;
  const schedule_plan large = plan_by(
      "* * * * *", R"("missed": "all", "missed_limit": 1000, "job": {"text": ")" + std::string(10'000, 'x') + "\"}");
  const schedule_plan small = plan_by("* * * * *");
  world.live(
      [&](schedule_server& at) -> task<> {
        scheduling_client by(at.broker, at.zones);
        for (std::size_t i = 0; i < count; ++i) {
          auto making = made(by, fmt::format("large{}", i), large);
          static_cast<void>(co_await making);
        }
        auto making = made(by, "small", small, "small");
        static_cast<void>(co_await making);
      },
      limits);
  world.clock.stall(2h);
  world.live(
      [&](schedule_server& at) -> task<> {
        co_await runtime::sleep(2s);
        EXPECT_THAT(occurrences_in(world.store, "small").at("small"), SizeIs(2));
        co_await runtime::sleep(18s);
        EXPECT_EQ(at.broker.counters().queued, 0u);
      },
      limits);
  const auto all = occurrences_in(world.store);
  ASSERT_EQ(all.size(), count);
  for (const auto& [name, those] : all) EXPECT_THAT(those, SizeIs(120)) << name;
}

/// The records have many living occurrences: they are looked at in portions that the broker has room for.
TEST(ScheduleRunner, ManyLivingOnesAreLookedAtInPortions) {
  const std::chrono::sys_seconds begin = utc(2026, 6, 1, 12, 0, 30);
  constexpr std::size_t count = 50;
  schedule_world world(begin);
  jobs::broker_limits limits;
  limits.operations = 2 * schedule_runner::most_looks + 200;
  const schedule_plan plan = plan_by("1 12 * * *", R"("busy": "skip")");
  world.live(
      [&](schedule_server& at) -> task<> {
        {
          scheduling_client by(at.broker, at.zones);
          auto making = made(by, "first", plan);
          static_cast<void>(co_await making);
        }
        const jobs::peek_answer first =
            jobs::execute_one(world.store, jobs::peek{jobs::job_key{std::string(tube_of_schedules), "mail:first"}});
        schedule_state state = schedule_state::in(first.job.value().history).value().value();
        for (std::size_t i = 0; i < schedule_state::most_living; ++i) {
          const occurrence_name old{begin - i * 24h, 0};
          state.living.push_back({old, old, occurrence_reason::regular});
        }
        for (std::size_t i = 1; i < count; ++i) {
          jobs::put record = raw_record(fmt::format("mail:s{}", i), first.job->body);
          record.history = state.history();
          record.due = first.job->due;
          jobs::execute_one(world.store, std::move(record));
        }
        co_await runtime::sleep(31s);
      },
      limits);
  EXPECT_EQ(occurrences_in(world.store).size(), count);
}

/// A planner whose turns take time for the plans with a note.
schedule_runner::planning planning_by(virtual_clock& clock, duration slow) {
  schedule_runner::planning how;
  how.plan = [&clock, slow](const schedule_plan& plan, const schedule_table& table, schedule_state state,
                            jobs::utc_time now, std::span<const living_fact> facts) {
    if (!plan.note.empty()) clock.stall(slow);
    return plan_turn(plan, table, std::move(state), now, facts);
  };
  return how;
}

/// What schedules made beside some whose turns take long: exactly what is due.
std::map<std::string, std::vector<made_occurrence>> made_beside_slow_ones(std::size_t slow_ones, duration slow) {
  const std::chrono::sys_seconds begin = utc(2026, 6, 1, 12, 0, 30);
  schedule_world world(begin);
  const schedule_plan quick = plan_by("* * * * *", R"("missed": "all")");
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    for (std::size_t i = 0; i < slow_ones; ++i) {
      auto making = made(by, fmt::format("slow{}", i), plan_by("* * * * *", R"("missed": "all", "note": "slow")"));
      static_cast<void>(co_await making);
    }
    for (std::size_t i = 0; i < 20; ++i) {
      auto making = made(by, fmt::format("quick{}", i), quick);
      static_cast<void>(co_await making);
    }
  });
  world.live([&](schedule_server&) -> task<> { co_await runtime::sleep(595s); }, {}, planning_by(world.clock, slow));
  auto all = occurrences_in(world.store);
  for (std::size_t i = 0; i < 20; ++i) {
    const std::string name = fmt::format("quick{}", i);
    const auto made_instants = instants_of(all[name]);
    EXPECT_GE(made_instants.size(), 9u) << name;
    if (made_instants.empty()) continue;
    // The last turn may have begun before the end of the sleep, and have taken its time.
    EXPECT_EQ(made_instants, instants_of(quick, begin, made_instants.back() + 1s)) << name;
  }
  return all;
}

/// Turns of which some together take longer than the reservations of a round.
TEST(ScheduleRunner, SlowTurnsHoldUpNoOthers) {
  const auto all = made_beside_slow_ones(3, 12s);
  for (const auto& [name, those] : all) {
    EXPECT_THAT(those, SizeIs(10)) << name;
    if (name.starts_with("slow")) continue;
    // They are known to be slow after the first minute.
    for (std::size_t i = 1; i < those.size(); ++i) EXPECT_LE(those[i].made, those[i].note.at + 1s) << name;
  }
  EXPECT_EQ(all.size(), 23u);
}

/// A turn that takes longer than a reservation cannot be committed: the others can.
TEST(ScheduleRunner, ATurnThatNeverEndsInTimeHoldsUpNoOthers) { static_cast<void>(made_beside_slow_ones(1, 40s)); }

/// A server that ends in the middle of turns ends in order, and the next one goes on.
TEST(ScheduleRunner, EndsInTheMiddleOfATurn) {
  for (int batch = 0; batch < 12; ++batch) {
    const std::chrono::sys_seconds begin = utc(2026, 6, 1, 12, 0, 30);
    schedule_world world(begin);
    const schedule_plan plan = plan_by("* * * * *", R"("missed": "all")");
    world.live([&](schedule_server& at) -> task<> {
      {
        scheduling_client by(at.broker, at.zones);
        for (int i = 0; i < 300; ++i) {
          auto making = made(by, fmt::format("s{}", i), plan);
          static_cast<void>(co_await making);
        }
      }
      int left = batch;
      at.spy.before = [&](std::span<jobs::operation>) {
        if (world.wall.now() > wall_clock::from_sys(begin + 30s) && left-- == 0) at.runner.end();
      };
      co_await runtime::sleep(40s);
    });
    world.live([&](schedule_server&) -> task<> { co_await runtime::sleep(60s); });
    const auto all = occurrences_in(world.store);
    EXPECT_EQ(all.size(), 300u);
    for (const auto& [name, those] : all) {
      EXPECT_EQ(instants_of(those), instants_of(plan, begin, begin + 100s)) << name;
    }
  }
}

/// A store without room for occurrences: none is lost, and there is no busy loop.
TEST(ScheduleRunner, WithoutRoomNoneIsLost) {
  const std::chrono::sys_seconds begin = utc(2026, 6, 1, 12, 0, 30);
  schedule_world world(begin);
  const schedule_plan plan = plan_by("* * * * *", R"("missed": "all")");
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    auto making = made(by, "minutely", plan);
    static_cast<void>(co_await making);
    std::vector<std::size_t> turns;
    at.spy.before = [&](std::span<jobs::operation> batch) {
      turns.clear();
      for (std::size_t i = 0; i < batch.size(); ++i) {
        if (!is_turn(batch[i])) continue;
        turns.push_back(i);
        batch[i] = jobs::put_all{{jobs::put{
            .tube = "none", .key = "none", .body = "", .existing = jobs::on_existing::replace, .expected = 1}}};
      }
    };
    at.spy.after = [&](jobs::execution& done) {
      for (const std::size_t each : turns) {
        auto& answer = std::get<jobs::put_all_answer>(done.answers[each]);
        EXPECT_EQ(answer.what, jobs::put_all_answer::kind::refused);
        answer.why = {jobs::put_answer::kind::no_space};
      }
    };
    const std::size_t batches = at.spy.sizes.size();
    co_await runtime::sleep(300s);
    EXPECT_LT(at.spy.sizes.size() - batches, 300u);
    EXPECT_THAT(occurrences_in(world.store), IsEmpty());
    at.spy.accept();
    co_await runtime::sleep(60s);
  });
  EXPECT_EQ(instants_of(occurrences_in(world.store).at("minutely")), instants_of(plan, begin, begin + 360s));
}

/// The state of a record is that of a node with newer data of its zone.
void plan_by_newer_data(jobs::job_store& store, const std::string& key) {
  const jobs::peek_answer seen =
      jobs::execute_one(store, jobs::peek{jobs::job_key{std::string(tube_of_schedules), key}, true});
  schedule_state state = schedule_state::in(seen.job.value().history).value().value();
  state.zone_data = "9999z";
  jobs::put newer = raw_record(key, seen.job->body);
  newer.due = seen.job->due;
  newer.existing = jobs::on_existing::replace;
  newer.history = state.history();
  jobs::execute_one(store, std::move(newer));
}

/// The only node has older data of the zone than those that have planned the record: it takes the turn soon, and a run
/// by hand at once.
TEST(ScheduleRunner, OlderZoneDataDelayButDoNotStop) {
  schedule_world world(utc(2026, 6, 1, 6, 59, 30));
  const schedule_plan plan = plan_by("0 9 * * *", R"("zone": "Europe/Berlin", "missed": "none", "deadline": "30s")");
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    auto making = made(by, "nine", plan);
    static_cast<void>(co_await making);
    plan_by_newer_data(world.store, "mail:nine");
  });
  world.live([&](schedule_server& at) -> task<> {
    co_await runtime::sleep(31s);
    EXPECT_THAT(occurrences_in(world.store), IsEmpty()) << "another node shall take it";
    const std::size_t batches = at.spy.sizes.size();
    co_await runtime::sleep(schedule_runner::newer_data_wait_for + 1s);
    EXPECT_LT(at.spy.sizes.size() - batches, 100u);
    EXPECT_EQ(instants_of(occurrences_in(world.store).at("nine")), std::vector{utc(2026, 6, 1, 7)});
    plan_by_newer_data(world.store, "mail:nine");
    scheduling_client by(at.broker, at.zones);
    auto running = by.records.run("mail", "nine", {});
    static_cast<void>(co_await running);
    co_await runtime::sleep(1s);
    EXPECT_THAT(occurrences_in(world.store).at("nine"), SizeIs(2));
  });
}

/// Each of several nodes leaves the record to the others: one of them takes the turn as soon as a single one would.
TEST(ScheduleRunner, SeveralNodesWithOlderZoneDataDoNotStopEither) {
  schedule_world world(utc(2026, 6, 1, 6, 59, 30));
  const schedule_plan plan = plan_by("0 9 * * *", R"("zone": "Europe/Berlin", "missed": "none", "deadline": "30s")");
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    auto making = made(by, "nine", plan);
    static_cast<void>(co_await making);
    plan_by_newer_data(world.store, "mail:nine");
  });
  world.live([&](schedule_server& at) -> task<> {
    schedule_runner::planning how;
    how.time = &world.clock;
    schedule_runner second(at.broker, at.zones, how);
    schedule_runner third(at.broker, at.zones, how);
    auto scheduling = runtime::spawn(second.keep_on(), "schedules of another node");
    auto scheduling_too = runtime::spawn(third.keep_on(), "schedules of a third one");
    co_await runtime::sleep(31s);
    EXPECT_THAT(occurrences_in(world.store), IsEmpty()) << "a node with newer data shall take it";
    co_await runtime::sleep(schedule_runner::newer_data_wait_for + 1s);
    EXPECT_EQ(instants_of(occurrences_in(world.store)["nine"]), std::vector{utc(2026, 6, 1, 7)});
    second.end();
    third.end();
    co_await scheduling.join();
    co_await scheduling_too.join();
  });
}

/// An error in a turn that is none of memory: it would come again each time. It is told, and the record waits.
TEST(ScheduleRunner, ATurnThatThrowsRefusesTheSchedule) {
  schedule_world world(utc(2026, 6, 1, 12, 0, 30));
  world.live([](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    auto making = made(by, "odd", plan_by("* * * * *"));
    static_cast<void>(co_await making);
  });
  std::size_t turns = 0;
  schedule_runner::planning how;
  how.plan = [&turns](const schedule_plan&, const schedule_table&, schedule_state, jobs::utc_time,
                      std::span<const living_fact>) -> schedule_turn {
    ++turns;
    throw std::logic_error("the times make no sense");
  };
  world.live([](schedule_server&) -> task<> { co_await runtime::sleep(50min); }, {}, how);
  EXPECT_EQ(turns, 1u);
  EXPECT_THAT(state_of_record(world.store, "mail:odd").value().refused, HasSubstr("the times make no sense"));
  // Another version of the program does better.
  world.live([](schedule_server&) -> task<> { co_await runtime::sleep(20min); });
  EXPECT_THAT(state_of_record(world.store, "mail:odd").value().refused, IsEmpty());
}

/// Memory that is missing in a turn is no fault of the schedule, and comes back.
TEST(ScheduleRunner, ATurnWithoutMemoryIsTakenLater) {
  const std::chrono::sys_seconds begin = utc(2026, 6, 1, 12, 0, 30);
  schedule_world world(begin);
  const schedule_plan plan = plan_by("* * * * *");
  std::size_t failures = 0;
  schedule_runner::planning how;
  how.plan = [&failures](const schedule_plan& of, const schedule_table& table, schedule_state state, jobs::utc_time now,
                         std::span<const living_fact> facts) {
    if (of.note == "large" && ++failures <= 3) throw std::bad_alloc();
    return plan_turn(of, table, std::move(state), now, facts);
  };
  world.live(
      [&](schedule_server& at) -> task<> {
        scheduling_client by(at.broker, at.zones);
        auto making = made(by, "large", plan_by("* * * * *", R"("note": "large")"));
        static_cast<void>(co_await making);
        auto making_other = made(by, "small", plan);
        static_cast<void>(co_await making_other);
        co_await runtime::sleep(5min);
      },
      {}, how);
  const auto all = occurrences_in(world.store);
  for (const char* const name : {"large", "small"})
    EXPECT_EQ(instants_of(all.at(name)), instants_of(plan, begin, begin + 5min)) << name;
  for (const made_occurrence& each : all.at("small")) EXPECT_LE(each.made, each.note.at + 1s);
}

// The policies, one by one.

/// Minutely, and a job takes 150 s.
task<known_schedule> with_slow_worker(schedule_server& at, std::string members) {
  scheduling_client by(at.broker, at.zones);
  auto making = made(by, "slow", plan_by("* * * * *", members));
  static_cast<void>(co_await making);
  auto working = runtime::spawn(work_on(at.broker, "mail", 150s), "works");
  co_await runtime::sleep(3605s);
  auto looking = found(by, "slow");
  known_schedule seen = co_await looking;
  working.request_stop();
  try {
    co_await working.join();
  } catch (const std::exception&) {
    // It was asked to.
  }
  co_return seen;
}

TEST(SchedulePolicies, BusySkip) {
  schedule_world world(utc(2026, 6, 1, 12, 0, 30));
  world.live([&](schedule_server& at) -> task<> {
    auto seeing = with_slow_worker(at, R"("busy": "skip", "job": {"body": 1, "ttr": "1h"})");
    const known_schedule seen = co_await seeing;
    // At 12:01 one is made, which ends at 12:03:30; at 12:04 the next one.
    EXPECT_EQ(seen.state.counters.of(occurrence_reason::regular), 20u);
    EXPECT_EQ(seen.state.counters.of(occurrence_outcome::skipped_busy), 40u);
  });
}

TEST(SchedulePolicies, BusyQueueMakesThemOneByOne) {
  schedule_world world(utc(2026, 6, 1, 12, 0, 30));
  world.live([&](schedule_server& at) -> task<> {
    std::size_t most = 0;
    at.spy.after = [&](jobs::execution&) {
      most = std::max<std::size_t>(most, jobs::execute_one(world.store, jobs::count_tube{"mail"}).counts.all());
    };
    auto seeing = with_slow_worker(at, R"("busy": "queue", "job": {"body": 1, "ttr": "1h"})");
    const known_schedule seen = co_await seeing;
    EXPECT_EQ(most, 1u);
    EXPECT_GE(seen.state.counters.of(occurrence_reason::regular), 17u) << "it looks within a minute";
    EXPECT_LE(seen.state.queue.size(), 1u);
    EXPECT_EQ(seen.state.counters.decided, 60u);
  });
}

TEST(SchedulePolicies, BusyReplaceKeepsTheLatest) {
  schedule_world world(utc(2026, 6, 1, 12, 0, 30));
  world.live([&](schedule_server& at) -> task<> {
    auto seeing = with_slow_worker(at, R"("busy": "replace", "job": {"body": 1, "ttr": "1h"})");
    const known_schedule seen = co_await seeing;
    EXPECT_EQ(seen.state.counters.decided, 60u);
    EXPECT_GT(seen.state.counters.of(occurrence_outcome::replaced), 20u);
    const jobs::job_counts left = jobs::execute_one(world.store, jobs::count_tube{"mail"}).counts;
    EXPECT_LE(left.ready, 1u);
    EXPECT_LE(left.reserved, 1u);
  });
}

/// Between the look at a job that waits and its replacement a worker has it: it is not replaced, and not told as such.
TEST(SchedulePolicies, BusyReplaceLeavesAJobThatAWorkerHadMeanwhile) {
  for (const bool buries : {false, true}) {
    schedule_world world(utc(2026, 6, 1, 12, 0, 30));
    world.live([&](schedule_server& at) -> task<> {
      scheduling_client by(at.broker, at.zones);
      auto making = made(by, "latest", plan_by("* * * * *", R"("busy": "replace")"));
      static_cast<void>(co_await making);
      bool is_done = false;
      at.spy.before = [&](std::span<jobs::operation> batch) {
        for (const jobs::operation& each : batch) {
          if (is_done || !is_turn(each)) continue;
          const jobs::put& last = std::get<jobs::put_all>(each).puts.back();
          if (last.tube != "mail" || last.existing != jobs::on_existing::replace) continue;
          is_done = true;
          const jobs::claim_answer got = jobs::execute_one(world.store, jobs::claim{{"mail"}});
          if (buries) {
            jobs::execute_one(world.store, jobs::bury{got.jobs.at(0).token});
          } else {
            jobs::execute_one(world.store, jobs::finish{got.jobs.at(0).token});
          }
        }
      };
      co_await runtime::sleep(100s);  // 12:01 is made, and 12:02 would replace it
      EXPECT_TRUE(is_done);
      auto looking = found(by, "latest");
      const known_schedule seen = co_await looking;
      EXPECT_EQ(seen.state.counters.of(occurrence_outcome::replaced), 0u);
      EXPECT_EQ(seen.state.counters.of(occurrence_outcome::failed), buries ? 1u : 0u);
      EXPECT_EQ(seen.state.counters.of(occurrence_outcome::ended), buries ? 0u : 1u);
    });
    const jobs::job_counts left = jobs::execute_one(world.store, jobs::count_tube{"mail"}).counts;
    EXPECT_EQ(left.ready, 1u);
    EXPECT_EQ(left.buried, buries ? 1u : 0u);
  }
}

/// How many a server makes that was off for three hours, in a minute.
std::vector<made_occurrence> after_an_outage(std::string_view members) {
  schedule_world world(utc(2026, 6, 1, 12, 0, 30));
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    auto making = made(by, "minutely", plan_by("* * * * *", members));
    static_cast<void>(co_await making);
  });
  world.clock.stall(3h);
  world.live([&](schedule_server&) -> task<> { co_await runtime::sleep(20s); });
  const auto all = occurrences_in(world.store);
  return all.contains("minutely") ? all.at("minutely") : std::vector<made_occurrence>();
}

TEST(SchedulePolicies, Missed) {
  const std::vector<made_occurrence> last = after_an_outage("\"missed\": \"last\"");
  ASSERT_THAT(last, SizeIs(2)) << "the last that was missed, and one that is not late";
  EXPECT_EQ(last[0].note.reason, occurrence_reason::late);
  EXPECT_EQ(last[1].note.reason, occurrence_reason::regular);
  EXPECT_EQ(last[1].note.at, utc(2026, 6, 1, 15, 0));
  EXPECT_THAT(after_an_outage("\"missed\": \"none\""), SizeIs(1));
  EXPECT_THAT(after_an_outage("\"missed\": \"all\", \"missed_limit\": 1000"), SizeIs(180));
  EXPECT_THAT(after_an_outage("\"missed\": \"all\", \"missed_limit\": 10"), SizeIs(11));
  EXPECT_THAT(after_an_outage("\"missed\": \"all\", \"deadline\": \"10m\""), SizeIs(10));
}

TEST(SchedulePolicies, AfterTheEndOfTheLast) {
  schedule_world world(utc(2026, 6, 1, 12, 0, 30));
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    auto making = made(by, "after", plan_by("after 10m"));
    static_cast<void>(co_await making);
    std::size_t most = 0;
    at.spy.after = [&](jobs::execution&) {
      most = std::max<std::size_t>(most, jobs::execute_one(world.store, jobs::count_tube{"mail"}).counts.all());
    };
    auto working = runtime::spawn(work_on(at.broker, "mail", 30s), "works");
    co_await runtime::sleep(2h);
    auto looking = found(by, "after");
    const known_schedule seen = co_await looking;
    EXPECT_EQ(most, 1u);
    EXPECT_GE(seen.state.counters.of(occurrence_reason::regular), 9u);
    EXPECT_LE(seen.state.counters.of(occurrence_reason::regular), 12u);
    working.request_stop();
    try {
      co_await working.join();
    } catch (const std::exception&) {
      // It was asked to.
    }
  });
}

/// A day in which the wall clock jumps forward and back: the cursor does not go back.
TEST(SchedulePolicies, ClockStepsMakeNoneTwice) {
  const std::chrono::sys_seconds begin = utc(2026, 6, 1, 12, 0, 30);
  schedule_world world(begin);
  const schedule_plan plan = plan_by("*/5 * * * *", R"("missed": "all")");
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    auto making = made(by, "five", plan);
    static_cast<void>(co_await making);
    co_await runtime::sleep(2h);
    world.clock.set_wall(begin + 30min);  // back by an hour and a half
    co_await runtime::sleep(3h);
    world.clock.set_wall(begin + 6h);  // forward by two and a half
    co_await runtime::sleep(2h);
    world.clock.set_wall(begin + 7h);
    co_await runtime::sleep(3h);
  });
  EXPECT_EQ(instants_of(occurrences_in(world.store).at("five")), instants_of(plan, begin, begin + 10h));
}

}  // namespace
}  // namespace foliot::program
