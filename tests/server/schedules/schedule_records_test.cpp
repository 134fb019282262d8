// What clients may do with schedules, and what they are told.
#include "server/schedules/schedule_records.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule_lives.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;
using result = schedule_records::result;
using fate = schedule_records::fate;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr schedule_records::condition always{};

void with_records(const std::function<task<>(schedule_server&, scheduling_client&)>& body,
                  std::chrono::sys_seconds begin = utc(2026, 6, 1, 12, 0, 30)) {
  schedule_world world(begin);
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    co_await body(at, by);
  });
}

TEST(ScheduleRecords, MakeChangeAndRemoveByConditions) {
  with_records([](schedule_server&, scheduling_client& by) -> task<> {
    const schedule_plan plan = plan_by("0 9 * * *");
    auto missing = by.records.put("mail", "nine", plan, {.must_exist = true});
    EXPECT_EQ((co_await missing).what, result::other_version);
    auto making = by.records.put("mail", "nine", plan, {.must_be_new = true});
    const schedule_records::answer made_one = co_await making;
    EXPECT_EQ(made_one.what, result::done);
    EXPECT_TRUE(made_one.is_new);
    EXPECT_EQ(made_one.version.version, 1u);
    EXPECT_NE(made_one.version.incarnation, 0u);
    EXPECT_EQ(made_one.seen.value().state.next.value().at, utc(2026, 6, 2, 9));
    auto again = by.records.put("mail", "nine", plan, {.must_be_new = true});
    const schedule_records::answer exists = co_await again;
    EXPECT_EQ(exists.what, result::exists);
    EXPECT_EQ(exists.version, made_one.version);
    auto same = by.records.put("mail", "nine", plan, always);
    const schedule_records::answer unchanged = co_await same;
    EXPECT_EQ(unchanged.what, result::done);
    EXPECT_TRUE(unchanged.is_same);
    EXPECT_FALSE(unchanged.is_new);
    EXPECT_EQ(unchanged.version, made_one.version);
    auto changing = by.records.put("mail", "nine", plan_by("0 10 * * *"), {.expected = made_one.version});
    const schedule_records::answer changed = co_await changing;
    EXPECT_EQ(changed.what, result::done);
    EXPECT_EQ(changed.version.incarnation, made_one.version.incarnation);
    EXPECT_EQ(changed.version.version, 2u);
    EXPECT_EQ(changed.seen.value().state.next.value().at, utc(2026, 6, 2, 10));
    auto stale = by.records.put("mail", "nine", plan, {.expected = made_one.version});
    const schedule_records::answer refused = co_await stale;
    EXPECT_EQ(refused.what, result::other_version);
    EXPECT_EQ(refused.version, changed.version);
    auto removing_stale = by.records.remove("mail", "nine", false, {.expected = made_one.version});
    EXPECT_EQ((co_await removing_stale).what, result::other_version);
    auto removing = by.records.remove("mail", "nine", false, {.expected = changed.version});
    EXPECT_EQ((co_await removing).what, result::done);
    auto gone = by.records.find("mail", "nine");
    EXPECT_EQ((co_await gone).what, result::none);
    auto removing_again = by.records.remove("mail", "nine", false, always);
    EXPECT_EQ((co_await removing_again).what, result::none);
    auto anew = by.records.put("mail", "nine", plan, always);
    const schedule_records::answer made_anew = co_await anew;
    EXPECT_TRUE(made_anew.is_new);
    EXPECT_NE(made_anew.version.incarnation, made_one.version.incarnation);
  });
}

TEST(ScheduleRecords, WrongPlansAreRefusedWithTheirPlace) {
  with_records([](schedule_server&, scheduling_client& by) -> task<> {
    auto zone = by.records.put("mail", "a", plan_by("0 9 * * *", R"("zone": "Europe/Berln")"), always);
    const schedule_records::answer no_zone = co_await zone;
    EXPECT_EQ(no_zone.what, result::refused);
    EXPECT_EQ(no_zone.field, "/zone");
    EXPECT_THAT(no_zone.why, HasSubstr("Europe/Berlin"));
    auto never = by.records.put("mail", "a", plan_by("0 0 30 2 *"), always);
    const schedule_records::answer no_time = co_await never;
    EXPECT_EQ(no_time.what, result::refused);
    EXPECT_EQ(no_time.field, "/rules");
    auto naming = by.records.put(std::string(150, 't'), std::string(60, 'n'), plan_by("0 9 * * *"), always);
    EXPECT_EQ((co_await naming).what, result::too_long);
    auto large = by.records.put(
        "mail", "a", plan_by("0 9 * * *", R"("job": {"text": ")" + std::string(70'000, 'x') + "\"}"), always);
    const schedule_records::answer too_large = co_await large;
    EXPECT_EQ(too_large.what, result::too_long);
    EXPECT_EQ(too_large.field, "/job");
    EXPECT_THAT(too_large.why, HasSubstr("at most 65535 bytes"));
    schedule_plan dated = plan_by("0 9 * * *");
    const auto first_day = std::chrono::sys_days(std::chrono::year(2030) / 1 / 1);
    for (int i = 0; i < 6000; ++i) dated.excluded_dates.emplace_back(first_day + std::chrono::days(i));
    auto dates = by.records.put("mail", "a", dated, always);
    const schedule_records::answer too_many = co_await dates;
    EXPECT_EQ(too_many.what, result::too_long);
    EXPECT_EQ(too_many.field, "/exclude/dates");
    const schedule_plan nothing = plan_by("every 1s", R"("exclude": {"rules": ["every 1s"]})");
    auto excluding = by.records.put("mail", "a", nothing, always);
    const schedule_records::answer all_excluded = co_await excluding;
    EXPECT_EQ(all_excluded.what, result::refused);
    EXPECT_EQ(all_excluded.field, "/exclude");
    auto looking = by.records.find("mail", "a");
    EXPECT_EQ((co_await looking).what, result::none) << "nothing is left behind";
    auto making = made(by, "a", plan_by("0 9 * * *"));
    const known_schedule before = co_await making;
    auto changing = by.records.put("mail", "a", plan_by("0 0 30 2 *"), always);
    EXPECT_EQ((co_await changing).what, result::refused);
    auto again = found(by, "a");
    const known_schedule after = co_await again;
    EXPECT_EQ(after.state, before.state);
    EXPECT_EQ(after.plan, before.plan);
  });
}

std::shared_ptr<const rights> rights_to(std::vector<scope> scopes, std::vector<std::string> prefixes) {
  scope_set all;
  for (const scope each : scopes) all.add(each);
  return std::make_shared<const rights>("id", "somebody", all, std::move(prefixes), instant::never());
}

TEST(ScheduleRecords, RightsDecideWhatExists) {
  with_records([](schedule_server& at, scheduling_client& by) -> task<> {
    auto making = made(by, "nine", plan_by("0 9 * * *"));
    static_cast<void>(co_await making);
    auto in_other = made(by, "ten", plan_by("0 10 * * *"), "other");
    static_cast<void>(co_await in_other);
    scheduling_client looks(at.broker, at.zones, rights_to({scope::look}, {"mail"}));
    auto seen = looks.records.find("mail", "nine");
    EXPECT_EQ((co_await seen).what, result::done);
    auto out = looks.records.find("other", "ten");
    EXPECT_EQ((co_await out).what, result::none);
    bool was_refused = false;
    try {
      auto running = looks.records.run("mail", "nine", always);
      static_cast<void>(co_await running);
    } catch (const access_refused&) {
      was_refused = true;
    }
    EXPECT_TRUE(was_refused);
    scheduling_client puts(at.broker, at.zones, rights_to({scope::put}, {"mail"}));
    auto putting = puts.records.put("mail", "nine", plan_by("0 11 * * *"), always);
    const schedule_records::answer changed = co_await putting;
    EXPECT_EQ(changed.what, result::done);
    EXPECT_EQ(changed.version.version, 2u);
    EXPECT_FALSE(changed.seen) << "it may not look";
    auto removing_out = puts.records.remove("other", "ten", false, always);
    EXPECT_EQ((co_await removing_out).what, result::none);
    was_refused = false;
    try {
      auto removing = puts.records.remove("mail", "nine", true, always);
      static_cast<void>(co_await removing);
    } catch (const access_refused&) {
      was_refused = true;
    }
    EXPECT_TRUE(was_refused) << "to cancel jobs it needs `change`";
    auto listing = looks.records.list({}, "", 100);
    const std::optional<schedule_records::page> page = co_await listing;
    EXPECT_THAT(page.value().schedules, SizeIs(1));
  });
}

/// No client reaches a record by other ways.
TEST(ScheduleRecords, AreOutOfReach) {
  with_records([](schedule_server& at, scheduling_client& by) -> task<> {
    auto making = made(by, "nine", plan_by("0 9 * * *"));
    static_cast<void>(co_await making);
    auto putting = by.client.execute(jobs::put{.tube = "mail", .body = "", .due = jobs::milliseconds(24h)});
    const jobs::put_answer beside = co_await putting;
    auto counting = by.client.execute(jobs::count_all{});
    EXPECT_EQ((co_await counting).counts.all(), 1u);
    auto tubes = by.client.execute(jobs::list_tubes{.count = 100});
    EXPECT_THAT((co_await tubes).tubes, ElementsAre("mail"));
    auto due = by.client.execute(jobs::list_due{});
    EXPECT_THAT((co_await due).jobs, SizeIs(1));
    auto listing = by.client.execute(jobs::list_jobs{});
    EXPECT_THAT((co_await listing).jobs, SizeIs(1));
    for (jobs::job_id id = 1; id < 20; ++id) {
      auto looking = by.client.execute(jobs::peek{id});
      const jobs::peek_answer seen = co_await looking;
      EXPECT_EQ(seen.job.has_value(), id == beside.id);
    }
    static_cast<void>(at);
  });
}

/// Very many records are due before the only job of a client.
TEST(ScheduleRecords, AMillionCostAListOfWhatIsDueLittle) {
  schedule_world world(utc(2026, 6, 1, 12));
  for (int i = 0; i < 20'000; ++i) {
    jobs::put record;
    record.tube = tube_of_schedules;
    record.key = fmt::format("mail:s{}", i);
    record.due = 1h;
    jobs::execute_one(world.store, std::move(record));
  }
  for (const char* const tube : {"mail", "-mine", "(", "zebra"}) {
    jobs::execute_one(world.store, jobs::put{.tube = tube, .body = "", .due = jobs::milliseconds(2h)});
  }
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    std::size_t operations = 0;
    at.spy.before = [&](std::span<jobs::operation> batch) { operations += batch.size(); };
    auto listing = by.client.execute(jobs::list_due{.count = 3});
    const jobs::due_answer first = co_await listing;
    EXPECT_LT(operations, 300u);
    EXPECT_THAT(first.jobs, SizeIs(3));
    auto rest_of =
        by.client.execute(jobs::list_due{.from = first.jobs.back().due, .after = first.jobs.back().id, .count = 3});
    const jobs::due_answer rest = co_await rest_of;
    EXPECT_THAT(rest.jobs, SizeIs(1));
    std::set<std::string> tubes;
    for (const jobs::due_job& each : first.jobs) tubes.insert(each.tube);
    for (const jobs::due_job& each : rest.jobs) tubes.insert(each.tube);
    EXPECT_THAT(tubes, ElementsAre("(", "-mine", "mail", "zebra"));
    auto hyphens = by.client.execute(jobs::list_due{.prefix = "-", .count = 3});
    EXPECT_THAT((co_await hyphens).jobs, SizeIs(1));
    auto none = by.client.execute(jobs::list_due{.prefix = "-foliot.sch", .count = 3});
    EXPECT_THAT((co_await none).jobs, SizeIs(0));
  });
}

std::size_t looks_with_body(std::span<const jobs::operation> batch) {
  return static_cast<std::size_t>(std::ranges::count_if(batch, [](const jobs::operation& each) {
    const auto* const one = std::get_if<jobs::peek>(&each);
    return one != nullptr && one->with_body;
  }));
}

/// The jobs of schedules may be large: a page has none of them in memory but those that are read at once.
TEST(ScheduleRecords, APageReadsAFewRecordsAtOnce) {
  with_records([](schedule_server& at, scheduling_client& by) -> task<> {
    for (int i = 0; i < 20; ++i) {
      const std::string members =
          R"("exclude": {"dates": ["2026-12-24"]}, "job": {"text": ")" + std::string(10'000, 'x') + "\"}";
      auto making = made(by, fmt::format("s{}", i), plan_by("0 9 * * *", members));
      static_cast<void>(co_await making);
    }
    for (const std::size_t together : {1U, 3U}) {
      std::size_t most = 0;
      at.spy.before = [&most](std::span<jobs::operation> batch) { most = std::max(most, looks_with_body(batch)); };
      auto listing = by.records.list({}, "", 100, together);
      const std::optional<schedule_records::page> page = co_await listing;
      at.spy.before = nullptr;
      EXPECT_EQ(most, together);
      EXPECT_THAT(page.value().schedules, SizeIs(20));
      for (const known_schedule& each : page->schedules) {
        EXPECT_TRUE(each.plan.job.body.empty());
        EXPECT_TRUE(each.plan.excluded_dates.empty());
      }
    }
  });
}

/// Page by page each schedule is there, once, whatever tubes there are; and a page costs what it has.
TEST(ScheduleRecords, ListsInPages) {
  with_records([](schedule_server& at, scheduling_client& by) -> task<> {
    constexpr int count = 137;
    for (int i = 0; i < count; ++i) {
      const std::string tube = i % 3 == 0 ? "mail" : i % 3 == 1 ? "mail/out" : "other";
      auto making = made(by, fmt::format("s{}", i), plan_by(fmt::format("{} {} * * *", i % 60, i % 24)), tube);
      static_cast<void>(co_await making);
    }
    const auto names = [&](schedule_records::filter which, std::size_t of_page) -> task<std::vector<std::string>> {
      std::vector<std::string> all;
      std::string after;
      do {
        std::size_t operations = 0;
        at.spy.before = [&operations](std::span<jobs::operation> batch) { operations += batch.size(); };
        auto listing = by.records.list(which, after, of_page);
        std::optional<schedule_records::page> page = co_await listing;
        at.spy.before = nullptr;
        EXPECT_LE(operations, of_page + 10);
        if (!page) break;
        EXPECT_LE(page->schedules.size(), of_page);
        for (const known_schedule& each : page->schedules) {
          EXPECT_TRUE(each.fault.empty());
          EXPECT_FALSE(each.plan.rules.empty());
          all.push_back(each.tube + ":" + each.name);
        }
        after = page->next;
      } while (!after.empty());
      co_return all;
    };
    for (const std::size_t of_page : {1U, 7U, 100U}) {
      auto of_all = names({}, of_page);
      const std::vector<std::string> all = co_await of_all;
      EXPECT_EQ(all.size(), static_cast<std::size_t>(count));
      EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
      auto of_tube = names({.tube = "mail"}, of_page);
      EXPECT_THAT(co_await of_tube, SizeIs(46));
      auto of_prefix = names({.prefix = "mail"}, of_page);
      EXPECT_THAT(co_await of_prefix, SizeIs(92));
      auto of_none = names({.tube = "none"}, of_page);
      EXPECT_THAT(co_await of_none, SizeIs(0));
    }
    for (const char* const wrong : {"x", "1.2", "9.0.0", "0.1.2.3", "0..0", "-1.0.0"}) {
      auto listing = by.records.list({}, wrong, 10);
      EXPECT_FALSE((co_await listing).has_value()) << wrong;
    }
  });
}

TEST(ScheduleRecords, PauseSkipRunAndBackfill) {
  schedule_world world(utc(2026, 6, 1, 12, 0, 30));
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    auto making = made(by, "ten", plan_by("*/10 * * * *"));
    static_cast<void>(co_await making);
    auto skipping = by.records.skip("mail", "ten", std::nullopt, always);
    const schedule_records::answer skipped = co_await skipping;
    EXPECT_EQ(skipped.what, result::done);
    EXPECT_EQ(skipped.at, utc(2026, 6, 1, 12, 10));
    auto wrong = by.records.skip("mail", "ten", utc(2026, 6, 1, 12, 11), always);
    EXPECT_EQ((co_await wrong).what, result::refused);
    co_await runtime::sleep(25min);  // 12:25:30: one skipped, one made
    auto pausing = by.records.pause("mail", "ten", "holidays", utc(2026, 6, 1, 13, 15), always);
    const schedule_records::answer paused = co_await pausing;
    EXPECT_EQ(paused.what, result::done);
    EXPECT_EQ(paused.seen.value().state.pause_note, "holidays");
    co_await runtime::sleep(5min);
    auto running = by.records.run("mail", "ten", always);
    const schedule_records::answer run = co_await running;
    EXPECT_EQ(run.what, result::done);
    co_await runtime::sleep(1s);
    const jobs::peek_answer by_hand = jobs::execute_one(world.store, jobs::peek{jobs::job_key{"mail", run.key}});
    EXPECT_TRUE(by_hand.job) << run.key;
    co_await runtime::sleep(1h);  // 13:30:31: 13:20 and 13:30 were made
    auto counting = by.records.backfill("mail", "ten", utc(2026, 6, 1, 12, 5), utc(2026, 6, 1, 13, 30), true, always);
    const schedule_records::answer counted = co_await counting;
    EXPECT_EQ(counted.what, result::done) << counted.why;
    EXPECT_EQ(counted.count, 6u) << "12:10, which was skipped, and those of the pause";
    EXPECT_EQ(jobs::execute_one(world.store, jobs::count_tube{"mail"}).counts.all(), 4u);
    auto filling = by.records.backfill("mail", "ten", utc(2026, 6, 1, 12, 5), utc(2026, 6, 1, 13, 30), false, always);
    const schedule_records::answer filled = co_await filling;
    EXPECT_EQ(filled.count, 6u);
    co_await runtime::sleep(1s);
    auto nothing = by.records.backfill("mail", "ten", utc(2026, 6, 1, 12, 5), utc(2026, 6, 1, 13, 30), true, always);
    EXPECT_EQ((co_await nothing).count, 0u);
    auto resuming = by.records.resume("mail", "ten", always);
    EXPECT_TRUE((co_await resuming).is_same);
    auto missing = by.records.resume("mail", "none", always);
    EXPECT_EQ((co_await missing).what, result::none);
  });
  const auto all = occurrences_in(world.store).at("ten");
  EXPECT_THAT(all, SizeIs(10));
  std::set<std::pair<std::chrono::sys_seconds, std::uint32_t>> names;
  for (const made_occurrence& each : all) names.emplace(each.note.at, each.note.ordinal);
  EXPECT_EQ(names.size(), all.size());
}

/// A job by the old plan has its body, and a note of the old plan; one that was made since, those of the new one.
TEST(ScheduleRecords, AnEditMakesEachOccurrenceByOnePlan) {
  with_records([](schedule_server& at, scheduling_client& by) -> task<> {
    const auto check_notes = [&at, &by](std::string name, std::size_t old, std::size_t fresh) -> task<> {
      const auto all = occurrences_in(at.store);
      std::size_t seen_old = 0;
      std::size_t seen_new = 0;
      for (const made_occurrence& each : all.at(name)) {
        auto looking = by.client.execute(jobs::peek{jobs::job_key{"mail", each.key}, true});
        const jobs::peek_answer seen = co_await looking;
        const bool is_new = each.note.version == 2;
        EXPECT_EQ(seen.job.value().body, is_new ? "new" : "old") << each.key;
        EXPECT_EQ(each.note.zone, is_new ? "Asia/Tokyo" : "UTC") << each.key;
        EXPECT_EQ(each.note.offset, is_new ? 9h : 0h) << each.key;
        EXPECT_EQ(each.note.zone_data.empty(), !is_new) << each.key;
        ++(is_new ? seen_new : seen_old);
      }
      EXPECT_EQ(seen_old, old) << name;
      EXPECT_EQ(seen_new, fresh) << name;
    };
    const std::string new_members = R"("zone": "Asia/Tokyo", "job": {"text": "new"})";
    // A run by hand that the new plan alone lets go.
    auto making = made(by, "run", plan_by("0 0 * * *", R"("busy": "skip", "job": {"text": "old"})"));
    static_cast<void>(co_await making);
    for (int i = 0; i < 2; ++i) {
      auto running = by.records.run("mail", "run", always);
      EXPECT_EQ((co_await running).what, result::done);
      co_await runtime::sleep(2s);
    }
    auto editing = made(by, "run", plan_by("0 0 * * *", new_members));
    static_cast<void>(co_await editing);
    co_await runtime::sleep(2s);
    auto checking = check_notes("run", 1, 1);
    co_await checking;
    // What is due at the edit, and was not made yet.
    auto making_due = made(by, "due", plan_by("* * * * *", R"("missed": "all", "job": {"text": "old"})"));
    static_cast<void>(co_await making_due);
    at.runner.end();
    co_await runtime::sleep(5min);
    auto editing_due = made(by, "due", plan_by("* * * * *", new_members));
    const known_schedule edited = co_await editing_due;
    EXPECT_EQ(edited.state.version, 2u);
    auto checking_due = check_notes("due", 5, 0);
    co_await checking_due;
  });
}

TEST(ScheduleRecords, ARemovalTellsWhatBecomesOfOccurrences) {
  for (const bool cancels : {false, true}) {
    schedule_world world(utc(2026, 6, 1, 12, 0, 30));
    world.live([&](schedule_server& at) -> task<> {
      scheduling_client by(at.broker, at.zones);
      auto making = made(by, "ten", plan_by("*/10 * * * *"));
      static_cast<void>(co_await making);
      co_await runtime::sleep(35min);  // three are there
      jobs::client worker(at.broker);
      worker.watch("mail");
      auto first = worker.reserve();
      const jobs::reserve_answer held = co_await first;
      auto second = worker.reserve();
      const jobs::reserve_answer done = co_await second;
      auto finishing = worker.finish(done.job.value().token.id);
      static_cast<void>(co_await finishing);
      auto removing = by.records.remove("mail", "ten", cancels, always);
      const schedule_records::removed_answer removed = co_await removing;
      EXPECT_EQ(removed.what, result::done);
      EXPECT_EQ(removed.occurrences.size(), 3u);
      if (removed.occurrences.size() != 3) co_return;
      EXPECT_EQ(removed.occurrences[0].what, fate::at_work);
      EXPECT_EQ(removed.occurrences[0].key, held.job.value().job.key);
      EXPECT_EQ(removed.occurrences[1].what, fate::gone);
      EXPECT_EQ(removed.occurrences[2].what, cancels ? fate::cancelled : fate::kept);
      co_await runtime::sleep(1h);
    });
    EXPECT_EQ(jobs::execute_one(world.store, jobs::count_tube{"mail"}).counts.all(), cancels ? 1u : 2u);
    EXPECT_EQ(jobs::execute_one(world.store, jobs::count_tube{std::string(tube_of_schedules)}).counts.all(), 0u);
  }
}

/// What a schedule follows is cancelled with it, and what is not is counted.
TEST(ScheduleRecords, ARemovalTellsWhatItDoesNotFollow) {
  schedule_world world(utc(2026, 6, 1, 12, 0, 30));
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    auto making = made(by, "each", plan_by("* * * * *"));
    static_cast<void>(co_await making);
    co_await runtime::sleep(70min);
    auto removing = by.records.remove("mail", "each", true, always);
    const schedule_records::removed_answer removed = co_await removing;
    EXPECT_THAT(removed.occurrences, SizeIs(schedule_state::most_living));
    for (const auto& each : removed.occurrences) EXPECT_EQ(each.what, fate::cancelled);
    EXPECT_EQ(removed.not_followed, 70u - schedule_state::most_living);
  });
  EXPECT_EQ(jobs::execute_one(world.store, jobs::count_tube{"mail"}).counts.all(), 70u - schedule_state::most_living);
}

/// The zone of the plan is not there any more: nothing of a request is wrong, and a plan with another zone goes on.
TEST(ScheduleRecords, GoOnWhereTheZoneIsGone) {
  const std::chrono::sys_seconds begin = utc(2026, 6, 1, 12, 0, 30);
  schedule_world world(begin);
  schedule_plan plan = plan_by("0 9 * * *");
  const auto table = *plan.table_in({}, "mail", "nine");
  plan.zone = "Europe/Berln";
  schedule_state state = begin_schedule(plan, table, 7, begin);
  EXPECT_TRUE(pause_schedule(state, begin, "me", "why", {}));
  jobs::execute_one(world.store, put_of_record("mail:nine", plan, state, begin + 1h, std::nullopt));
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client by(at.broker, at.zones);
    auto skipping = by.records.skip("mail", "nine", std::nullopt, always);
    const schedule_records::answer skipped = co_await skipping;
    EXPECT_EQ(skipped.what, result::refused);
    EXPECT_EQ(skipped.field, "");
    EXPECT_THAT(skipped.why, HasSubstr("Europe/Berlin"));
    for (const bool is_dry : {true, false}) {
      auto filling = by.records.backfill("mail", "nine", begin - 48h, begin, is_dry, always);
      const schedule_records::answer filled = co_await filling;
      EXPECT_EQ(filled.what, result::refused);
      EXPECT_EQ(filled.field, "");
    }
    plan.zone = "Europe/Berlin";
    auto putting = by.records.put("mail", "nine", plan, always);
    const schedule_records::answer changed = co_await putting;
    EXPECT_EQ(changed.what, result::done) << changed.why;
    EXPECT_EQ(changed.version, (schedule_version{7, state.version + 1}));
    EXPECT_EQ(changed.seen.value().state.pauses, state.pauses);
    EXPECT_EQ(changed.seen.value().state.next.value().at, utc(2026, 6, 2, 7));
  });
}

/// A turn has the record: a request waits for it, and is told `busy` if that takes too long.
TEST(ScheduleRecords, WaitForATurn) {
  with_records([](schedule_server& at, scheduling_client& by) -> task<> {
    auto making = made(by, "nine", plan_by("0 9 * * *"));
    static_cast<void>(co_await making);
    jobs::client turn(at.broker);
    auto looking = turn.execute(jobs::peek{jobs::job_key{std::string(tube_of_schedules), "mail:nine"}});
    const jobs::peek_answer seen = co_await looking;
    const jobs::job_id id = seen.job.value().id;
    auto claiming = turn.reserve_job(id);
    static_cast<void>(co_await claiming);
    const instant begin = runtime::now();
    auto running = by.records.run("mail", "nine", always);
    EXPECT_EQ((co_await running).what, result::busy);
    EXPECT_GE(runtime::now() - begin, schedule_records::waits_for_turn);
    auto finding = found(by, "nine");
    EXPECT_TRUE((co_await finding).is_in_turn);
    auto counting = by.records.backfill("mail", "nine", utc(2026, 5, 1), utc(2026, 5, 31), true, always);
    const instant before_count = runtime::now();
    EXPECT_EQ((co_await counting).count, 30u) << "a count waits for no turn";
    EXPECT_EQ(runtime::now(), before_count);
    auto giving_back = runtime::spawn(
        [&turn, id]() -> task<> {
          co_await runtime::sleep(300ms);
          auto releasing = turn.release(id, std::nullopt, jobs::milliseconds(1h));
          static_cast<void>(co_await releasing);
        },
        "the turn");
    auto again = by.records.run("mail", "nine", always);
    EXPECT_EQ((co_await again).what, result::done);
    co_await giving_back.join();
  });
}

/// Requests race with turns and with each other: each is done or refused as a whole, and no occurrence is lost or made
/// twice.
TEST(ScheduleRecords, ChangesRaceWithTurns) {
  const std::chrono::sys_seconds begin = utc(2026, 6, 1, 12, 0, 30);
  schedule_world world(begin);
  std::size_t changed = 0;
  world.live([&](schedule_server& at) -> task<> {
    scheduling_client first(at.broker, at.zones);
    auto making = made(first, "often", plan_by("every 1s from 2026-01-01T00:00:00Z", R"("missed": "all")"));
    const known_schedule often = co_await making;
    const auto change_often = [&](int number) -> task<> {
      scheduling_client by(at.broker, at.zones);
      for (int i = 0; i < 50; ++i) {
        auto putting = by.records.put("mail", "often",
                                      plan_by("every 1s from 2026-01-01T00:00:00Z",
                                              fmt::format(R"("missed": "all", "note": "{} {}")", number, i)),
                                      always);
        const schedule_records::answer done = co_await putting;
        if (done.what == result::done) ++changed;
        co_await runtime::sleep(jobs::milliseconds(37 + 11 * number));
      }
    };
    auto one = runtime::spawn(change_often(1), "changes");
    auto two = runtime::spawn(change_often(2), "changes, too");
    co_await one.join();
    co_await two.join();
    co_await runtime::sleep(2s);
    auto looking = found(first, "often");
    const known_schedule seen = co_await looking;
    EXPECT_EQ(seen.state.incarnation, often.state.incarnation);
  });
  EXPECT_EQ(changed, 100u);
  const std::vector<std::chrono::sys_seconds> instants = instants_of(occurrences_in(world.store).at("often"));
  ASSERT_FALSE(instants.empty());
  for (std::size_t i = 0; i < instants.size(); ++i) EXPECT_EQ(instants[i], instants[0] + 1s * i);
}

/// The store does not answer in the middle of a request: the record is given back, and the request can be made again.
TEST(ScheduleRecords, AFailedRequestGivesTheRecordBack) {
  virtual_clock clock;
  begin_at(clock, utc(2026, 6, 1, 12, 0, 30));
  foliot::test::broker_world world(clock, {}, foliot::test::shared::yes);
  const auto whole = [&]() -> task<> {
    auto running = runtime::spawn(world.jobs.run(), "the broker");
    zone_cache zones;
    {
      scheduling_client by(world.jobs, zones);
      auto making = made(by, "nine", plan_by("0 9 * * *"));
      static_cast<void>(co_await making);
      for (const bool executes : {false, true}) {
        bool is_meant = false;
        bool has_failed = false;
        world.store.before = [&](std::span<jobs::operation> batch) {
          is_meant = std::holds_alternative<jobs::put_all>(batch.front()) && !has_failed;
          if (!is_meant || executes) return;
          has_failed = true;
          throw jobs::store_unavailable(jobs::store_unavailable::kind::not_executed, "the line is dead");
        };
        world.store.after = [&](jobs::execution&) {
          if (!is_meant) return;
          has_failed = true;
          throw jobs::store_unavailable(jobs::store_unavailable::kind::in_doubt, "the line is cut");
        };
        bool was_unavailable = false;
        const std::string rule = executes ? "0 11 * * *" : "0 10 * * *";
        try {
          auto changing = by.records.put("mail", "nine", plan_by(rule), always);
          static_cast<void>(co_await changing);
        } catch (const jobs::store_unavailable& failure) {
          was_unavailable = true;
          EXPECT_EQ(failure.what_is_known() == jobs::store_unavailable::kind::in_doubt, executes);
        }
        EXPECT_TRUE(was_unavailable);
        auto looking = found(by, "nine");
        const known_schedule seen = co_await looking;
        EXPECT_EQ(seen.state.version, executes ? 3u : 1u);
        auto again = by.records.put("mail", "nine", plan_by(rule), always);
        const schedule_records::answer done = co_await again;
        EXPECT_EQ(done.what, result::done);
        EXPECT_EQ(done.is_same, executes);
        world.store.accept();
      }
    }
    world.jobs.close();
    co_await running.join();
  };
  foliot::test::on_virtual_time(clock, whole);
}

}  // namespace
}  // namespace foliot::program
