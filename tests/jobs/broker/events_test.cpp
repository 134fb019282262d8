// What readers of events are told, and what they miss.
#include <foliot/jobs/event_buffer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "jobs/kit/broker_world.hpp"
#include "support/virtual_time.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

using missing = event_reader::missing;

bool sees_all(std::string_view /*tube*/) { return true; }
bool sees_mail(std::string_view tube) { return tube == "mail"; }

std::string text_of(const event_record& one) {
  using enum event_record::kind;
  using enum event_record::reason;
  const std::vector<std::string> kinds = {"put", "due", "reserved", "ended"};
  const std::vector<std::string> reasons = {"", " finished", " cancelled", " replaced", " cleared"};
  std::string text = kinds.at(static_cast<std::size_t>(one.what)) + " " + one.tube + " " + std::to_string(one.id) +
                     " " + one.key + reasons.at(static_cast<std::size_t>(one.why));
  if (one.count != 1) text += " " + std::to_string(one.count);
  return text;
}

task<change_answer> cancel_job(broker& of, job_id id) {
  cancel what;
  what.name = id;
  const change_answer done = co_await of.execute(std::move(what));
  co_return done;
}

/// The next events but those of a due tube, until there are so many.
task<std::string> next_events(event_reader& from, std::size_t count, bool with_due = false) {
  std::string all;
  std::size_t found = 0;
  while (found < count) {
    const event_reader::taken got = from.take(1);
    EXPECT_EQ(got.missed, 0U);
    for (const event_record& each : got.events) {
      EXPECT_LE(each.at, runtime::wall_now());
      if (!with_due && each.what == event_record::kind::due) continue;
      all += (all.empty() ? "" : ", ") + text_of(each);
      ++found;
    }
    if (got.events.empty()) static_cast<void>(co_await from.more());
  }
  co_return all;
}

event_record event_of(std::string tube, job_id id = 1) {
  event_record made;
  made.tube = std::move(tube);
  made.id = id;
  return made;
}

/// Adds so many events, one by one.
void add(event_buffer& to, const std::string& tube, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    event_record one = event_of(tube, i + 1);
    to.add(std::span(&one, 1));
  }
}

template <class Body>
void on_clock(Body body) {
  virtual_clock clock;
  test::on_virtual_time(clock, body());
}

TEST(EventBuffer, AJobIsToldFromItsPutToItsEnd) {
  in_broker_worlds([](broker_world& world) -> task<> {
    event_reader reader(world.jobs.events(), sees_all);
    put one = mail("hello");
    one.key = "order-7";
    const job_id id = co_await put_job(world.jobs, std::move(one));
    const received taken = co_await take_one(world.jobs, "mail");
    EXPECT_EQ(taken.id, id);
    const std::string told = co_await next_events(reader, 3);
    EXPECT_EQ(told, "put mail 1 order-7, reserved mail 1 order-7, ended mail 1 order-7 finished");
  });
}

TEST(EventBuffer, EachEndHasItsReason) {
  in_broker_worlds([](broker_world& world) -> task<> {
    const job_id by_id = co_await put_job(world.jobs, mail("a", 1h));
    put keyed = mail("b", 1h);
    keyed.key = "k";
    co_await put_job(world.jobs, keyed);
    event_reader reader(world.jobs.events(), sees_all);
    keyed.existing = on_existing::replace;
    co_await put_job(world.jobs, keyed);
    const change_answer first = co_await cancel_job(world.jobs, by_id);
    EXPECT_EQ(first.what, change_answer::kind::done);
    cancel by_key;
    by_key.name = job_key{"mail", "k"};
    const change_answer second = co_await world.jobs.execute(std::move(by_key));
    EXPECT_EQ(second.what, change_answer::kind::done);
    const change_answer gone = co_await cancel_job(world.jobs, by_id);
    EXPECT_EQ(gone.what, change_answer::kind::gone);
    co_await put_job(world.jobs, mail("c", 1h));
    co_await put_job(world.jobs, mail("d", 1h));
    clear_tube all;
    all.tube = "mail";
    const bulk_answer cleared = co_await world.jobs.execute(std::move(all));
    EXPECT_EQ(cleared.changed, 2U);
    const std::string told = co_await next_events(reader, 7);
    EXPECT_EQ(told,
              "ended mail 0 k replaced, put mail 3 k, ended mail 1  cancelled, ended mail 3 k cancelled, put mail 4 , "
              "put mail 5 , ended mail 0  cleared 2");
  });
}

TEST(EventBuffer, AJobThatItsHolderReplacesIsToldAsAnyReplacedOne) {
  in_broker_worlds([](broker_world& world) -> task<> {
    event_reader reader(world.jobs.events(), sees_all);
    put keyed = mail("a");
    keyed.key = "k";
    co_await put_job(world.jobs, keyed);
    client worker(world.jobs);
    worker.watch("mail");
    const reserve_answer reserved = co_await worker.reserve();
    keyed.existing = on_existing::replace;
    keyed.due = milliseconds(1h);
    keyed.holder = got(reserved).token;
    co_await put_job(world.jobs, keyed);
    co_await put_job(world.jobs, keyed);  // not held any more, so nothing happens
    const std::string told = co_await next_events(reader, 4);
    EXPECT_EQ(told, "put mail 1 k, reserved mail 1 k, ended mail 0 k replaced, put mail 2 k");
    EXPECT_TRUE(reader.take(1).events.empty());
  });
}

TEST(EventBuffer, EachPutOfAPutAllIsTold) {
  in_broker_worlds([](broker_world& world) -> task<> {
    event_reader reader(world.jobs.events(), sees_all);
    put keyed = mail("a", 1h);
    keyed.key = "k";
    keyed.existing = on_existing::replace;
    for (int i = 0; i < 2; ++i) {
      put_all some;
      some.puts = {keyed, mail("b", 1h)};
      const put_all_answer done = co_await world.jobs.execute(std::move(some));
      EXPECT_EQ(done.what, put_all_answer::kind::done);
    }
    const std::string told = co_await next_events(reader, 5);
    EXPECT_EQ(told, "put mail 1 k, put mail 2 , ended mail 0 k replaced, put mail 3 k, put mail 4 ");
  });
}

/// Each look costs the store a statement of its own.
TEST(EventBuffer, ABatchLooksAtSoManyJobs) {
  in_broker_worlds([](broker_world& world) -> task<> {
    constexpr std::size_t jobs = 200;
    std::vector<job_id> ids;
    for (std::size_t i = 0; i < jobs; ++i) ids.push_back(co_await put_job(world.jobs, mail("a", 1h)));
    event_reader reader(world.jobs.events(), sees_all);
    std::deque<in_flight<cancel>> all;
    for (const job_id each : ids) {
      cancel one;
      one.name = each;
      all.emplace_back(world.jobs, std::move(one));
    }
    for (in_flight<cancel>& each : all) {
      const change_answer done = co_await each;
      EXPECT_EQ(done.what, change_answer::kind::done);
    }
    std::size_t told = 0;
    std::uint64_t missed = 0;
    while (told + missed < jobs) {
      const event_reader::taken got = reader.take(jobs);
      told += got.events.size();
      missed += got.missed;
      if (got.events.empty() && got.missed == 0) static_cast<void>(co_await reader.more());
    }
    EXPECT_GE(told, 64U);
    EXPECT_GT(missed, 0U);
    EXPECT_EQ(told + missed, jobs) << "none is lost silently";
  });
}

TEST(EventBuffer, WhatIsRefusedIsNotTold) {
  in_broker_worlds([](broker_world& world) -> task<> {
    event_reader reader(world.jobs.events(), sees_all);
    put keyed = mail("a", 1h);
    keyed.key = "k";
    co_await put_job(world.jobs, keyed);
    co_await put_job(world.jobs, keyed);  // is kept
    finish of_nobody;
    of_nobody.token = reservation{1, 1, 1};
    const holder_answer ended = co_await world.jobs.execute(of_nobody);
    EXPECT_EQ(ended.what, holder_answer::kind::not_held);
    co_await put_job(world.jobs, mail("b", 1h));
    const std::string told = co_await next_events(reader, 2);
    EXPECT_EQ(told, "put mail 1 k, put mail 2 ");
  });
}

TEST(EventBuffer, ADueTubeIsToldAtItsTime) {
  in_broker_worlds([](broker_world& world) -> task<> {
    event_reader reader(world.jobs.events(), sees_all);
    co_await put_job(world.jobs, mail("a", 10s));
    const instant begin = now();
    const std::string told = co_await next_events(reader, 2, true);
    EXPECT_EQ(told, "put mail 1 , due mail 0 ");
    EXPECT_EQ(now() - begin, duration(10s));
  });
}

TEST(EventBuffer, AReaderSeesItsTubesAlone) {
  in_broker_worlds([](broker_world& world) -> task<> {
    event_reader reader(world.jobs.events(), sees_mail);
    put other = mail("a", 1h);
    other.tube = "bill";
    co_await put_job(world.jobs, other);
    co_await put_job(world.jobs, mail("b", 1h));
    const std::string told = co_await next_events(reader, 1);
    EXPECT_EQ(told, "put mail 2 ");
  });
}

/// Without a reader a batch has the operations that were asked for; with one it looks at the job that it ends.
TEST(EventBuffer, NothingIsNotedWithoutAReader) {
  in_broker_worlds([](broker_world& world) -> task<> {
    const job_id first = co_await put_job(world.jobs, mail("a", 1h));
    const change_answer unseen = co_await cancel_job(world.jobs, first);
    EXPECT_EQ(unseen.what, change_answer::kind::done);
    EXPECT_EQ(world.store.sizes, (std::vector<std::size_t>{1, 1}));
    EXPECT_FALSE(world.jobs.events().is_wanted());
    event_reader reader(world.jobs.events(), sees_all);
    const job_id second = co_await put_job(world.jobs, mail("a", 1h));
    const change_answer seen = co_await cancel_job(world.jobs, second);
    EXPECT_EQ(seen.what, change_answer::kind::done);
    EXPECT_EQ(world.store.sizes, (std::vector<std::size_t>{1, 1, 1, 2}));
    EXPECT_EQ(world.jobs.counters().operations, 4U) << "the look is nobody's operation";
    const std::string told = co_await next_events(reader, 2);
    EXPECT_EQ(told, "put mail 2 , ended mail 2  cancelled") << "and nothing of before";
  });
}

TEST(EventBuffer, ASlowReaderLearnsHowManyOfItsEventsItHasMissed) {
  on_clock([]() -> task<> {
    event_buffer events;
    event_reader slow(events, sees_mail);
    event_reader quick(events, sees_mail);
    add(events, "mail", 3);
    EXPECT_EQ(quick.take(10).events.size(), 3U);
    add(events, "bill", 10);
    add(events, "mail", event_buffer::most_events - 3);
    const event_reader::taken late = slow.take(1);
    EXPECT_EQ(late.how_many, missing::exactly);
    EXPECT_EQ(late.missed, 3U) << "and not those that it does not see";
    EXPECT_EQ(late.events.at(0).id, 1U);
    EXPECT_EQ(late.numbers.at(0), 14U);
    std::size_t left = 0;
    for (event_reader::taken got = slow.take(100); !got.events.empty(); got = slow.take(100)) {
      EXPECT_EQ(got.missed, 0U);
      left += got.events.size();
    }
    EXPECT_EQ(left, event_buffer::most_events - 4);
    EXPECT_EQ(quick.take(1).missed, 0U);
    co_return;
  });
}

TEST(EventBuffer, LongNamesAreBoundedByTheirBytes) {
  on_clock([]() -> task<> {
    event_buffer events;
    event_reader reader(events, sees_all);
    add(events, std::string(1024, 't'), 1030);
    EXPECT_EQ(reader.take(1).missed, 1030 - event_buffer::most_bytes / 1024);
    co_return;
  });
}

TEST(EventBuffer, AReaderThatComesAgainGoesOn) {
  on_clock([]() -> task<> {
    event_buffer events;
    std::optional<event_place> place;
    {
      event_reader first(events, sees_all);
      add(events, "mail", 2);
      const event_reader::taken got = first.take(1);
      place = got.place;
      EXPECT_EQ(place->number, 1U);
    }
    co_await runtime::sleep(59s);
    add(events, "mail", 1);
    {
      event_reader again(events, sees_all, place);
      const event_reader::taken got = again.take(10);
      EXPECT_EQ(got.numbers, (std::vector<std::uint64_t>{2, 3}));
      EXPECT_EQ(got.missed, 0U);
    }
    add(events, "mail", event_buffer::most_events);
    {
      event_reader late(events, sees_all, place);
      const event_reader::taken got = late.take(1);
      EXPECT_EQ(got.how_many, missing::at_most);
      EXPECT_EQ(got.missed, 2U);
      EXPECT_EQ(got.numbers, std::vector<std::uint64_t>{4});
    }
  });
}

/// A place of another program, or from before a time without a reader: what was missed since then nobody knows.
TEST(EventBuffer, AStrangePlaceIsToldAsUnknown) {
  on_clock([]() -> task<> {
    event_buffer events;
    event_place place;
    {
      event_reader first(events, sees_all);
      add(events, "mail", 1);
      place = first.take(1).place;
    }
    EXPECT_TRUE(events.is_wanted());
    co_await runtime::sleep(61s);
    add(events, "mail", 1);
    EXPECT_FALSE(events.is_wanted()) << "nobody has come again";
    for (const event_place& each : {place, event_place{}, event_place{place.series, 99}}) {
      event_reader again(events, sees_all, each);
      const event_reader::taken got = again.take(1);
      EXPECT_EQ(got.how_many, missing::unknown);
      EXPECT_TRUE(got.events.empty());
      EXPECT_NE(got.place.series, place.series);
    }
    event_reader last(events, sees_all);
    events.leave_out(2);
    const event_reader::taken got = last.take(1);
    EXPECT_EQ(got.how_many, missing::at_most);
    EXPECT_EQ(got.missed, 2U);
  });
}

}  // namespace
}  // namespace foliot::jobs
