// Sessions at the limits of the broker: what a client is told, and that the replies keep their order.
//
// The broker's run() does not run, so the session itself leads all batches: what is queued at any moment is known.
#include <sys/socket.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include <foliot/core/contract.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "server/beanstalk/server_state.hpp"
#include "server/beanstalk/session.hpp"
#include "server/core/stream_over.hpp"

namespace foliot::program::beanstalk {
namespace {

task<> serve_one(server_state& state, byte_stream& peer) {
  {
    session with(state, peer);
    co_await with.run();
  }
  co_await peer.close_write();
}

task<std::string> read_until(const runtime::stream& from, std::string_view end) {
  std::string all;
  while (end.empty() || !all.ends_with(end)) {
    std::string piece(4096, '\0');
    const auto got = co_await from.read_some(std::span(piece));
    if (!got || *got == 0) break;
    all.append(piece, 0, *got);
  }
  co_return all;
}

/// A store whose disk has no room for changes.
class full_store final : public jobs::job_store {
 public:
  jobs::execution execute(std::span<jobs::operation> batch) override {
    jobs::execution done = inner_.execute(batch);
    for (jobs::answer& each : done.answers) {
      if (auto* const claimed = std::get_if<jobs::claim_answer>(&each)) {
        claimed->what = jobs::claim_answer::kind::no_space;
      } else if (auto* const kicked = std::get_if<jobs::bulk_answer>(&each)) {
        kicked->what = jobs::bulk_answer::kind::no_space;
      } else if (auto* const counted = std::get_if<jobs::count_answer>(&each)) {
        counted->counts.delayed = 1;  // a job to kick
      }
    }
    return done;
  }
  [[nodiscard]] jobs::next_change next() const noexcept override { return inner_.next(); }
  [[nodiscard]] check_result check() override { return inner_.check(); }

 private:
  jobs::memory_store inner_;
};

/// A store in which another client is quicker with the first kick.
class rival_store final : public jobs::job_store {
 public:
  jobs::execution execute(std::span<jobs::operation> batch) override {
    for (const jobs::operation& each : batch) {
      const auto* const kicking = std::get_if<jobs::kick>(&each);
      if (kicking == nullptr || std::exchange(was_quicker_, true)) continue;
      jobs::operation rival = *kicking;
      static_cast<void>(inner_.execute(std::span(&rival, 1)));
    }
    return inner_.execute(batch);
  }
  [[nodiscard]] jobs::next_change next() const noexcept override { return inner_.next(); }
  [[nodiscard]] check_result check() override { return inner_.check(); }

 private:
  jobs::memory_store inner_;
  bool was_quicker_ = false;
};

/// What a server with these limits answers to commands that it gets all at once.
template <class Store = jobs::memory_store>
std::string replies_to(std::string_view commands, const jobs::broker_limits& limits) {
  std::string replies;
  runtime::run_options options;
  options.processors = 1;
  runtime::run(
      [&]() -> task<> {
        Store store;
        jobs::broker broker(store, limits);
        server_state state(broker, limits.job.max_body, 1000);
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

std::string put_of(std::size_t bytes) {
  return "put 0 0 60 " + std::to_string(bytes) + "\r\n" + std::string(bytes, 'x') + "\r\n";
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
  EXPECT_EQ(replies_to<full_store>("reserve-job 1\r\nkick 1\r\nlist-tube-used\r\n", {}),
            "OUT_OF_MEMORY\r\nOUT_OF_MEMORY\r\nUSING default\r\n");
}

TEST(SessionKick, TakesDelayedJobsIfAnotherClientHasJustTakenAllBuriedOnes) {
  EXPECT_EQ(replies_to<rival_store>(
                "put 0 0 60 1\r\nx\r\nreserve\r\nbury 1 0\r\nput 0 100 60 1\r\nx\r\nkick 10\r\nkick 10\r\n", {}),
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
        jobs::memory_store store;
        jobs::broker_limits limits;
        limits.waiting = 1;
        jobs::broker broker(store, limits);
        server_state state(broker, limits.job.max_body, 1000);
        jobs::put far;
        far.tube = "far";
        far.body = std::string(60'000, 'x');
        co_await broker.execute(std::move(far));
        auto ends = runtime::stream::pair().value();
        const int smallest = 1;
        EXPECT_EQ(::setsockopt(ends.second.native_handle(), SOL_SOCKET, SO_SNDBUF, &smallest, sizeof smallest), 0);
        static_cast<void>(co_await ends.first.write_all(std::string_view("peek 1\r\nreserve\r\n")));
        stream_over served(std::move(ends.second));
        auto serving = runtime::spawn(serve_one(state, served), "session");
        while (state.workers == 0) co_await runtime::yield();  // from there it goes on until it writes
        auto waiting = runtime::spawn(wait_for_a_job(broker), "rival");
        while (broker.counters().waiting == 0) co_await runtime::yield();
        const std::string seen = co_await read_until(ends.first, "OUT_OF_MEMORY\r\n");
        EXPECT_TRUE(seen.starts_with("FOUND 1 60000\r\n"));
        static_cast<void>(co_await ends.first.write_all(std::string_view("list-tube-used\r\nquit\r\n")));
        const std::string rest = co_await read_until(ends.first, "");
        EXPECT_EQ(rest, "USING default\r\n");
        co_await serving.join();
        jobs::put last;
        last.tube = "rivals";
        co_await broker.execute(std::move(last));
        co_await waiting.join();
      },
      options);
}

}  // namespace
}  // namespace foliot::program::beanstalk
