// Sessions and the bound of the memory that they share: lists, bodies, and what waits behind a reserve, of clients that
// do not read or do not go on. On virtual time.
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "jobs/kit/broker_world.hpp"
#include "server/beanstalk/server_state.hpp"
#include "server/core/held_memory.hpp"
#include "session_client.hpp"
#include "support/virtual_time.hpp"

namespace foliot::program::beanstalk {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t megabyte = std::size_t{1} << 20;
/// Longer than the server waits before it closes those that hold most.
constexpr duration long_enough = 10s;

/// A server with this bound, alone or as one of several nodes.
struct server : test::broker_world {
  server(const virtual_clock& time, std::size_t most, std::size_t max_job, bool is_node)
      : broker_world(time, limits_of(max_job), test::shared{is_node}),
        held(most),
        state(jobs, max_job, 100'000, held) {}

  static jobs::broker_limits limits_of(std::size_t max_job) {
    jobs::broker_limits limits;
    limits.job.max_body = max_job;
    return limits;
  }

  session_client& connect() { return clients.emplace_back(state); }

  held_memory held;
  server_state state;
  std::list<session_client> clients;
};

template <class Body>
task<> with_running_server(server& on, Body& body) {
  auto running = runtime::spawn(on.jobs.run(), "the broker");
  co_await body(on);
  for (session_client& each : on.clients) co_await each.leave();
  EXPECT_EQ(on.held.bytes(), 0U);
  EXPECT_EQ(on.held.waiting(), 0U);
  on.jobs.close();
  co_await running.join();
}

template <class Body>
void with_server(std::size_t most, std::size_t max_job, Body body, bool is_node = false) {
  virtual_clock clock;
  server on(clock, most, max_job, is_node);
  test::on_virtual_time(clock, with_running_server(on, body));
}

std::string name_of(std::size_t number) { return "t" + std::to_string(10'000 + number) + std::string(190, 'x'); }

std::string list_of(std::size_t tubes) {
  std::string lines = "---\n- default\n";
  for (std::size_t i = 0; i < tubes; ++i) lines += "- " + name_of(i) + "\n";
  return "OK " + std::to_string(lines.size()) + "\r\n" + lines + "\r\n";
}

TEST(SessionMemory, AListIsOneForAllWhoReadItAndStaysAsItWas) {
  constexpr std::size_t tubes = 2000;
  with_server(16 * megabyte, 65'535, [](server& on) -> task<> {
    for (std::size_t i = 0; i < tubes; ++i) static_cast<void>(on.state.tubes.obtain(name_of(i)));
    const std::string list = list_of(tubes);
    for (int i = 0; i < 50; ++i) {
      session_client& each = on.connect();
      co_await each.send("list-tubes\r\n");
    }
    co_await runtime::sleep(long_enough);
    EXPECT_LT(on.held.bytes(), 2 * list.size());
    static_cast<void>(on.state.tubes.obtain(name_of(tubes)));
    session_client& last = on.connect();
    const std::string longer = co_await last.ask("list-tubes\r\n", "\n\r\n");
    EXPECT_EQ(longer, list_of(tubes + 1));
    EXPECT_LT(on.held.bytes(), 2 * list.size());
    for (session_client& each : on.clients) {
      if (&each == &last) continue;
      const std::string got = co_await each.read("\n\r\n");
      EXPECT_EQ(got, list);
    }
    EXPECT_EQ(on.held.closed(), 0U);
  });
}

TEST(SessionMemory, AListThatChangesForEachClientIsHeldWithinTheBound) {
  constexpr std::size_t tubes = 2000;
  for (const bool is_node : {false, true}) {
    with_server(
        megabyte, 65'535,
        [](server& on) -> task<> {
          for (std::size_t i = 0; i < tubes; ++i) static_cast<void>(on.state.tubes.obtain(name_of(i)));
          session_client& other = on.connect();
          for (std::size_t i = 0; i < 100; ++i) {
            static_cast<void>(on.state.tubes.obtain("early" + std::to_string(i)));
            session_client& each = on.connect();
            co_await each.send("list-tubes\r\n");
            co_await runtime::sleep(1s);
            EXPECT_LE(on.held.bytes(), 3 * megabyte);
            const std::string said = co_await other.ask("list-tube-used\r\n", "\r\n");
            EXPECT_EQ(said, "USING default\r\n");
          }
          const std::string list = co_await other.ask("list-tubes\r\n", "\n\r\n");
          EXPECT_TRUE(list.starts_with("OK ")) << list.substr(0, 100);
          EXPECT_NE(list.find("\n- early99\n"), std::string::npos);
        },
        is_node);
  }
}

TEST(SessionMemory, AListAboveTheBoundGetsThroughAlone) {
  constexpr std::size_t tubes = 10'000;
  for (const bool is_node : {false, true}) {
    with_server(
        megabyte, 65'535,
        [](server& on) -> task<> {
          for (std::size_t i = 0; i < tubes; ++i) static_cast<void>(on.state.tubes.obtain(name_of(i)));
          session_client& one = on.connect();
          for (int i = 0; i < 3; ++i) {
            const std::string list = co_await one.ask("list-tubes\r\n", "\n\r\n");
            EXPECT_EQ(list, list_of(tubes));
          }
          EXPECT_EQ(on.held.closed(), 0U);
        },
        is_node);
  }
}

TEST(SessionMemory, ListsOfAllNodesThatAreAskedForTogetherAreOne) {
  with_server(
      16 * megabyte, 65'535,
      [](server& on) -> task<> {
        std::size_t asked = 0;
        on.store.before = [&asked](std::span<jobs::operation> batch) {
          for (const jobs::operation& each : batch) asked += std::holds_alternative<jobs::list_tubes>(each) ? 1U : 0U;
        };
        for (std::size_t i = 0; i < 100; ++i) static_cast<void>(on.state.tubes.obtain(name_of(i)));
        for (int i = 0; i < 50; ++i) on.connect();
        co_await runtime::sleep(long_enough);
        for (session_client& each : on.clients) co_await each.send("list-tubes\r\n");
        for (session_client& each : on.clients) {
          const std::string list = co_await each.read("\n\r\n");
          EXPECT_EQ(list, list_of(100));
        }
        EXPECT_GE(asked, 1U);
        EXPECT_LT(asked, 25U);
        on.store.before = nullptr;
      },
      true);
}

TEST(SessionMemory, HalfBodiesHaveTheBoundAndALargeBodyGetsThroughAlone) {
  with_server(megabyte, 4 * megabyte, [](server& on) -> task<> {
    session_client& other = on.connect();
    const std::string half = put_of(2 * megabyte).substr(0, megabyte);
    std::vector<runtime::join_handle<>> sending;
    for (int i = 0; i < 10; ++i) sending.push_back(runtime::spawn(on.connect().send(half), "sends half a body"));
    const std::string said = co_await other.ask(put_of(100), "\r\n");
    EXPECT_EQ(said, "INSERTED 1\r\n");
    co_await runtime::sleep(10 * long_enough);
    EXPECT_LE(on.held.bytes(), 3 * megabyte);
    EXPECT_GE(on.held.closed(), 5U);
    for (auto& each : sending) co_await each.join();
    const std::string large = co_await other.ask(put_of(4 * megabyte), "\r\n");
    EXPECT_EQ(large, "INSERTED 2\r\n");
  });
}

TEST(SessionMemory, ManyHalfBodiesDoNotHoldUpAWholeOneForLong) {
  with_server(2 * megabyte, 65'535, [](server& on) -> task<> {
    const std::string half = put_of(65'535).substr(0, 60'000);
    for (int i = 0; i < 150; ++i) co_await on.connect().send(half);
    co_await runtime::sleep(1ms);
    EXPECT_GT(on.held.waiting(), 100U);
    session_client& other = on.connect();
    const instant began = runtime::now();
    const std::string said = co_await other.ask(put_of(20'000), "\r\n");
    EXPECT_EQ(said, "INSERTED 1\r\n");
    EXPECT_LT(runtime::now() - began, duration(20s));
    EXPECT_LE(on.held.bytes(), 3 * megabyte);
  });
}

TEST(SessionMemory, AReserveDoesNotWaitForALargeAnswerOfAnother) {
  with_server(megabyte, 4 * megabyte, [](server& on) -> task<> {
    session_client& worker = on.connect();
    const std::string said = co_await worker.ask(put_of(4 * megabyte), "\r\n");
    EXPECT_EQ(said, "INSERTED 1\r\n");
    for (int i = 0; i < 6; ++i) co_await on.connect().send("peek 1\r\n");
    co_await runtime::sleep(1ms);
    EXPECT_GT(on.held.bytes(), 3 * megabyte);
    const instant began = runtime::now();
    co_await worker.send("watch work\r\nignore default\r\nuse work\r\n" + put_of(5) + "reserve\r\n");
    const std::string got = co_await worker.read("xxxxx\r\n");
    EXPECT_TRUE(got.ends_with("INSERTED 2\r\nRESERVED 2 5\r\nxxxxx\r\n")) << got;
    EXPECT_LT(runtime::now() - began, duration(100ms));
    EXPECT_EQ(on.held.closed(), 0U);
    EXPECT_LE(on.held.bytes(), 9 * megabyte);
  });
}

/// Watches so many tubes. Returns how many the server has allowed.
task<std::size_t> watch_tubes(session_client& by, std::size_t tubes) {
  std::size_t allowed = 0;
  for (std::size_t i = 0; i < tubes; ++i) {
    const std::string said = co_await by.ask("watch w" + std::to_string(i) + "\r\n", "\r\n");
    if (said == "OUT_OF_MEMORY\r\n") break;
    EXPECT_TRUE(said.starts_with("WATCHING ")) << said;
    ++allowed;
  }
  co_return allowed;
}

TEST(SessionMemory, WatchesHaveAPartOfTheBound) {
  with_server(megabyte, 65'535, [](server& on) -> task<> {
    std::size_t all = 0;
    for (int i = 0; i < 4; ++i) {
      const std::size_t allowed = co_await watch_tubes(on.connect(), 900);
      EXPECT_GE(allowed, 35U);  // each client may watch some
      EXPECT_EQ(allowed < 900, i >= 2) << i;
      all += allowed;
    }
    EXPECT_GT(all, 2300U);
    EXPECT_LT(all, 2600U);
    EXPECT_GT(on.held.bytes(), 200'000U);
    EXPECT_LE(on.held.bytes(), megabyte / 4 + 40'000);
    session_client& other = on.connect();
    const std::string refused = co_await other.ask("watch other\r\nwatch default\r\n", "\r\nWATCHING 2\r\n");
    EXPECT_EQ(refused, "WATCHING 2\r\nWATCHING 2\r\n");
    co_await on.clients.front().leave();
    const std::size_t more = co_await watch_tubes(other, 700);
    EXPECT_EQ(more, 700U);
    EXPECT_EQ(on.held.closed(), 0U);
    const std::string said = co_await other.ask(put_of(60'000), "\r\n");
    EXPECT_EQ(said, "INSERTED 1\r\n");
  });
}

/// A hundred clients send the command many times, and read nothing. The bound of the server is a megabyte.
task<> expect_the_bound(server& on, std::string_view command, int times) {
  std::string commands;
  for (int i = 0; i < times; ++i) commands += command;
  for (int i = 0; i < 100; ++i) co_await on.connect().send(commands);
  co_await runtime::sleep(long_enough);
  EXPECT_GT(on.held.bytes(), megabyte / 2);
  EXPECT_LE(on.held.bytes(), 2 * megabyte);
}

TEST(SessionMemory, SmallAnswersThatAreNotReadHaveTheBound) {
  with_server(megabyte, 65'535, [](server& on) -> task<> {
    co_await expect_the_bound(on, "stats\r\n", 200);
    session_client& other = on.connect();
    const std::string said = co_await other.ask(put_of(100), "\r\n");
    EXPECT_EQ(said, "INSERTED 1\r\n");
  });
}

TEST(SessionMemory, FieldsThatAreNotReadHaveTheBound) {
  with_server(megabyte, 65'535, [](server& on) -> task<> {
    jobs::put job;
    job.tube = "default";
    EXPECT_TRUE(job.fields.set(1, std::string(8'000, 'f')));
    EXPECT_TRUE(job.history.set(1, std::string(8'000, 'h')));
    co_await on.jobs.execute(std::move(job));
    co_await expect_the_bound(on, "x-stats-job 1\r\n", 20);
  });
}

/// Delayed jobs in tubes with long names. `page` is the answer that lists all of them.
task<> put_long_names(server& on, std::size_t count, std::string& page) {
  std::string lines = "---\n";
  for (std::size_t i = 0; i < count; ++i) {
    jobs::put job;
    job.tube = name_of(i);
    job.due = jobs::utc_time(4'000'000'000'000ms);
    const jobs::put_answer done = co_await on.jobs.execute(std::move(job));
    lines += "- {id: " + std::to_string(done.id) + ", tube: \"" + name_of(i) +
             "\", state: delayed, due-ms: 4000000000000}\n";
  }
  page = "OK " + std::to_string(lines.size()) + "\r\n" + lines + "\r\n";
}

TEST(SessionMemory, PagesOfWhatIsDueNextThatAreNotReadHaveTheBound) {
  with_server(megabyte, 65'535, [](server& on) -> task<> {
    std::string page;
    co_await put_long_names(on, 1000, page);
    for (int i = 0; i < 20; ++i) co_await on.connect().send("x-due 1000 @0 0 -\r\n");
    co_await runtime::sleep(1ms);
    EXPECT_LE(on.held.bytes(), 2 * megabyte);
    EXPECT_GT(on.held.waiting(), 0U);
    session_client& other = on.connect();
    const std::string said = co_await other.ask("x-due 1000 @0 0 -\r\n", "}\n\r\n");
    EXPECT_EQ(said, page);
    EXPECT_LE(on.held.bytes(), 2 * megabyte);
    EXPECT_GT(on.held.closed(), 0U);
  });
}

TEST(SessionMemory, APageOfWhatIsDueNextAboveTheBoundGetsThroughAlone) {
  with_server(megabyte / 2, 65'535, [](server& on) -> task<> {
    std::string page;
    co_await put_long_names(on, 1000, page);
    session_client& one = on.connect();
    for (int i = 0; i < 3; ++i) {
      const std::string said = co_await one.ask("x-due 1000 @0 0 -\r\n", "}\n\r\n");
      EXPECT_EQ(said, page);
    }
    EXPECT_EQ(on.held.closed(), 0U);
  });
}

TEST(SessionMemory, BodiesThatAreNotReadHaveTheBound) {
  with_server(16 * megabyte, 4 * megabyte, [](server& on) -> task<> {
    session_client& other = on.connect();
    const std::string said = co_await other.ask(put_of(4 * megabyte), "\r\n");
    EXPECT_EQ(said, "INSERTED 1\r\n");
    for (int i = 0; i < 20; ++i) co_await on.connect().send("peek 1\r\n");
    co_await runtime::sleep(1ms);
    EXPECT_LE(on.held.bytes(), 17 * megabyte);
    EXPECT_GT(on.held.waiting(), 0U);
    const std::string body = co_await other.ask("reserve-job 1\r\n", "x\r\n");
    EXPECT_TRUE(body.starts_with("RESERVED 1 4194304\r\n")) << body.substr(0, 100);
    EXPECT_LE(on.held.bytes(), 17 * megabyte);
    EXPECT_GT(on.held.closed(), 0U);
  });
}

/// Fills a memory of a megabyte by two clients that do not read, of which none holds more than half of it.
task<> fill(server& on) {
  const std::string said = co_await on.connect().ask(put_of(510'000), "\r\n");
  EXPECT_EQ(said, "INSERTED 1\r\n");
  co_await runtime::sleep(long_enough);
  for (int i = 0; i < 2; ++i) {
    co_await on.connect().send("peek 1\r\n");
    co_await runtime::sleep(1ms);
  }
  EXPECT_GT(on.held.bytes(), megabyte - 50'000);
}

TEST(SessionMemory, AClientThatClosesItsSideWhileItWaitsIsRefused) {
  with_server(megabyte, megabyte, [](server& on) -> task<> {
    co_await fill(on);
    session_client& peeks = on.connect();
    session_client& puts = on.connect();
    co_await peeks.send("peek 1\r\nlist-tube-used\r\n");
    static_cast<void>(peeks.ends.first.close_write());
    const std::string half = put_of(100'000);
    co_await puts.send(half);
    static_cast<void>(puts.ends.first.close_write());
    const std::string of_peek = co_await peeks.read("default\r\n");
    EXPECT_EQ(of_peek, "OUT_OF_MEMORY\r\nUSING default\r\n");
    const std::string of_put = co_await puts.read("\r\n");
    EXPECT_EQ(of_put, "OUT_OF_MEMORY\r\n");
    EXPECT_EQ(on.held.closed(), 0U);
  });
}

TEST(SessionMemory, AJobReachesAClientThatWaitsForRoomBehindItsReserve) {
  with_server(megabyte, megabyte, [](server& on) -> task<> {
    session_client& worker = on.connect();
    co_await worker.send("watch work\r\nignore default\r\nreserve\r\n");
    co_await runtime::sleep(1ms);
    co_await fill(on);
    std::string behind;
    for (int i = 0; i < 3000; ++i) behind += "list-tube-used\r\n";
    auto sending = runtime::spawn(worker.send(behind), "sends behind its reserve");
    co_await runtime::sleep(1ms);
    EXPECT_EQ(on.held.waiting(), 1U);
    jobs::put job;
    job.tube = "work";
    co_await on.jobs.execute(std::move(job));
    const std::string got = co_await worker.read("USING default\r\n");
    EXPECT_TRUE(got.starts_with("WATCHING 2\r\nWATCHING 1\r\nRESERVED 2 0\r\n\r\nUSING default\r\n")) << got;
    co_await worker.leave();
    co_await sending.join();
    EXPECT_EQ(on.held.closed(), 0U);
  });
}

TEST(SessionMemory, AnIdleClientHoldsNoLargeBuffers) {
  with_server(16 * megabyte, 65'535, [](server& on) -> task<> {
    session_client& one = on.connect();
    std::string commands;
    for (int i = 0; i < 20'000; ++i) commands += "list-tube-used\r\n";
    auto sending = runtime::spawn(one.send(commands + "ignore default\r\n"), "sends many commands");
    const std::string said = co_await one.read("NOT_IGNORED\r\n");
    EXPECT_EQ(said.size(), 20'000 * 15U + 13U);
    co_await sending.join();
    co_await runtime::sleep(long_enough);
    EXPECT_EQ(on.held.bytes(), 0U);
    const std::string after = co_await one.ask("list-tube-used\r\n", "\r\n");
    EXPECT_EQ(after, "USING default\r\n");
  });
}

}  // namespace
}  // namespace foliot::program::beanstalk
