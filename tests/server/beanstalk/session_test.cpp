// Sessions at the limits of the broker: what a client is told, and that the replies keep their order.
//
// The broker's run() does not run, so the session itself leads all batches: what is queued at any moment is known.
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include <foliot/core/contract.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "jobs/kit/broker_world.hpp"
#include "server/beanstalk/server_state.hpp"
#include "server/core/stream_over.hpp"
#include "session_client.hpp"

namespace foliot::program::beanstalk {
namespace {

/// The disk has no room for changes.
void lack_room(test::broker_world& on) {
  on.store.after = [](jobs::execution& done) {
    for (jobs::answer& each : done.answers) {
      if (auto* const claimed = std::get_if<jobs::claim_answer>(&each)) {
        claimed->what = jobs::claim_answer::kind::no_space;
      } else if (auto* const kicked = std::get_if<jobs::bulk_answer>(&each)) {
        kicked->what = jobs::bulk_answer::kind::no_space;
      } else if (auto* const counted = std::get_if<jobs::count_answer>(&each)) {
        counted->counts.delayed = 1;  // a job to kick
      }
    }
  };
}

/// Another client is quicker with the first kick.
void have_rival(test::broker_world& on) {
  on.store.before = [&on, was_quicker = false](std::span<jobs::operation> batch) mutable {
    for (const jobs::operation& each : batch) {
      const auto* const kicking = std::get_if<jobs::kick>(&each);
      if (kicking == nullptr || std::exchange(was_quicker, true)) continue;
      jobs::execute_one(on.memory, *kicking);
    }
  };
}

/// What a server with these limits answers to commands that it gets all at once. `prepare` gets its store before.
std::string replies_to(std::string_view commands, const jobs::broker_limits& limits,
                       void (*prepare)(test::broker_world&) = nullptr) {
  std::string replies;
  runtime::run_options options;
  options.processors = 1;
  runtime::run(
      [&]() -> task<> {
        test::broker_world on(limits);
        if (prepare != nullptr) prepare(on);
        server_state state(on.jobs, limits.job.max_body, 1000);
        auto ends = runtime::stream::pair().value();
        static_cast<void>(co_await ends.first.write_all(commands));
        static_cast<void>(ends.first.close_write());
        stream_over served(std::move(ends.second));
        auto serving = runtime::spawn(serve_one(state, served), "session");
        replies = co_await read_until(ends.first, "");
        co_await serving.join();
      },
      options);
  return replies;
}

TEST(SessionLimits, APutBeyondTheQueuedOperationsIsRefusedInItsPlace) {
  jobs::broker_limits limits;
  limits.operations = 3;
  std::string commands;
  for (int i = 0; i < 5; ++i) commands += put_of(1);
  EXPECT_EQ(replies_to(commands, limits), "INSERTED 1\r\nINSERTED 2\r\nINSERTED 3\r\nOUT_OF_MEMORY\r\nINSERTED 4\r\n");
}

TEST(SessionLimits, APutBeyondTheQueuedBytesIsRefusedInItsPlace) {
  jobs::broker_limits limits;
  limits.queued_bytes = 10;
  const std::string commands = put_of(4) + put_of(6) + put_of(1) + put_of(50) + put_of(0) + put_of(1);
  EXPECT_EQ(replies_to(commands, limits),
            "INSERTED 1\r\nINSERTED 2\r\nOUT_OF_MEMORY\r\nINSERTED 3\r\nINSERTED 4\r\nOUT_OF_MEMORY\r\n");
}

TEST(SessionLimits, EachCommandThatNeedsTheFullQueueGetsOneReply) {
  for (const std::size_t operations : {0U, 1U}) {
    jobs::broker_limits limits;
    limits.operations = operations;
    // These need the broker's queue only to find out whether a tube has ended.
    EXPECT_EQ(replies_to("use a\r\nuse b\r\nwatch c\r\nignore c\r\nlist-tube-used\r\n", limits),
              "USING a\r\nUSING b\r\nWATCHING 2\r\nWATCHING 1\r\nUSING b\r\n");
    // A delete of a job that the client does not hold queues two operations.
    EXPECT_EQ(replies_to("delete 1\r\nlist-tube-used\r\n", limits), "OUT_OF_MEMORY\r\nUSING default\r\n");
  }
  jobs::broker_limits none;
  none.operations = 0;
  const std::string_view commands =
      "peek 1\r\npeek-ready\r\nreserve-job 1\r\nkick 1\r\nkick-job 1\r\nstats\r\nstats-tube default\r\n"
      "pause-tube default 1\r\nx-cancel 1\r\n";
  std::string expected = "OUT_OF_MEMORY\r\n";  // the put
  for (const char each : commands) {
    if (each == '\n') expected += "OUT_OF_MEMORY\r\n";
  }
  EXPECT_EQ(replies_to(put_of(1) + std::string(commands) + "list-tube-used\r\n", none), expected + "USING default\r\n");
}

TEST(SessionLimits, WithoutDiskSpaceACommandIsToldSo) {
  EXPECT_EQ(replies_to("reserve-job 1\r\nkick 1\r\nlist-tube-used\r\n", {}, lack_room),
            "OUT_OF_MEMORY\r\nOUT_OF_MEMORY\r\nUSING default\r\n");
}

TEST(SessionKick, TakesDelayedJobsIfAnotherClientHasJustTakenAllBuriedOnes) {
  EXPECT_EQ(replies_to("put 0 0 60 1\r\nx\r\nreserve\r\nbury 1 0\r\nput 0 100 60 1\r\nx\r\nkick 10\r\nkick 10\r\n", {},
                       have_rival),
            "INSERTED 1\r\nRESERVED 1 1\r\nx\r\nBURIED\r\nINSERTED 2\r\nKICKED 1\r\nKICKED 0\r\n");
}

TEST(SessionLimits, AReserveBeyondTheWaitingClientsIsRefused) {
  jobs::broker_limits limits;
  limits.waiting = 0;
  EXPECT_EQ(replies_to("reserve\r\nreserve-with-timeout 0\r\nlist-tube-used\r\n", limits),
            "OUT_OF_MEMORY\r\nOUT_OF_MEMORY\r\nUSING default\r\n");
}

TEST(SessionLimits, AReserveThatIsRefusedLeavesTheDeleteBeforeItItsReply) {
  jobs::broker_limits limits;
  limits.waiting = 0;
  EXPECT_EQ(replies_to(put_of(1) + "reserve-job 1\r\ndelete 1\r\nreserve\r\nlist-tube-used\r\n", limits),
            "INSERTED 1\r\nRESERVED 1 1\r\nx\r\nDELETED\r\nOUT_OF_MEMORY\r\nUSING default\r\n");
}

TEST(Session, WhatIsBehindAnHttpRequestIsDropped) {
  const std::string request = "POST / HTTP/1.1\r\nContent-Type: text/plain\r\n\r\n";
  const std::string answers = "INSERTED 1\r\n" + std::string(reply::http);
  EXPECT_EQ(replies_to(put_of(1) + request + put_of(1) + put_of(1), {}), answers);
  EXPECT_EQ(replies_to(put_of(1) + request + std::string(100'000, 'x') + "\r\nlist-tubes\r\n", {}), answers);
}

TEST(Session, WhatIsBehindTheBeginningOfTlsIsDropped) {
  const std::string hello = "\x16\x03\x01\x02" + std::string(100, 'x') + "\r\n";
  EXPECT_EQ(replies_to(hello + put_of(1) + "list-tubes\r\n", {}), "UNKNOWN_COMMAND\r\n");
}

task<> wait_for_a_job(jobs::broker& from) {
  jobs::client rival(from);
  rival.watch("rivals");
  static_cast<void>(co_await rival.reserve());
}

/// The session looks for a job, finds none, and is about to wait. Before that it writes what it has answered, which
/// takes until its client reads. Meanwhile another client becomes the one that may wait.
TEST(SessionLimits, AWaitThatIsRefusedAfterTheFirstLookLeavesTheSessionReading) {
  runtime::run_options options;
  options.processors = 1;
  runtime::run(
      [&]() -> task<> {
        test::broker_world on(jobs::broker_limits{.waiting = 1});
        server_state state(on.jobs, 65'535, 1000);
        jobs::put far;
        far.tube = "far";
        far.body = std::string(60'000, 'x');
        co_await on.jobs.execute(std::move(far));
        auto ends = runtime::stream::pair().value();
        give_little_room(ends.second);
        static_cast<void>(co_await ends.first.write_all(std::string_view("peek 1\r\nreserve\r\n")));
        stream_over served(std::move(ends.second));
        auto serving = runtime::spawn(serve_one(state, served), "session");
        while (state.workers == 0) co_await runtime::yield();  // from there it goes on until it writes
        auto waiting = runtime::spawn(wait_for_a_job(on.jobs), "rival");
        while (on.jobs.counters().waiting == 0) co_await runtime::yield();
        const std::string seen = co_await read_until(ends.first, "OUT_OF_MEMORY\r\n");
        EXPECT_TRUE(seen.starts_with("FOUND 1 60000\r\n"));
        static_cast<void>(co_await ends.first.write_all(std::string_view("list-tube-used\r\nquit\r\n")));
        const std::string rest = co_await read_until(ends.first, "");
        EXPECT_EQ(rest, "USING default\r\n");
        co_await serving.join();
        jobs::put last;
        last.tube = "rivals";
        co_await on.jobs.execute(std::move(last));
        co_await waiting.join();
      },
      options);
}

}  // namespace
}  // namespace foliot::program::beanstalk
