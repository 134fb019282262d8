// Sessions over a store that other nodes share, and that is unavailable at times: what a client is told, and what not.
// On virtual time.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
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
#include <foliot/jobs/job_store.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "../../jobs/broker_world.hpp"
#include "../../jobs/simulated_nodes.hpp"
#include "serve/beanstalk/server_state.hpp"
#include "serve/beanstalk/session.hpp"

namespace foliot::program::beanstalk {
namespace {

using namespace std::chrono_literals;
using unavailable = jobs::store_unavailable::kind;

/// One node, with one client.
struct node {
  explicit node(const virtual_clock& time)
      : wall(time),
        memory(jobs::store_clocks{&wall, &time}),
        store(memory, &nodes),
        broker(store),
        state(broker, 65'535, 1000) {}

  /// From now on the store refuses the batches with an operation that `is_meant`.
  void refuse(unavailable known, std::function<bool(const jobs::operation&)> is_meant) {
    store.before = [known, is_meant = std::move(is_meant)](std::span<jobs::operation> batch) {
      for (const jobs::operation& each : batch) {
        if (is_meant(each)) throw jobs::store_unavailable(known, "the line is dead");
      }
    };
  }
  /// All batches, also empty ones.
  void refuse(unavailable known) {
    store.before = [known](std::span<jobs::operation>) { throw jobs::store_unavailable(known, "the line is dead"); };
  }
  void accept() { store.before = nullptr; }
  /// A put by another node.
  void put_elsewhere(std::string tube, jobs::milliseconds delay = {}) {
    jobs::put what;
    what.tube = std::move(tube);
    what.due = delay;
    static_cast<void>(jobs::execute_one(memory, std::move(what)));
  }

  jobs::virtual_wall_clock wall;
  jobs::memory_store memory;
  test::simulated_nodes nodes;
  test::spy_store store;
  jobs::broker broker;
  server_state state;
  runtime::stream client;
};

task<> serve_one(server_state& state, const runtime::stream& peer) {
  {
    session with(state, peer);
    co_await with.run();
  }
  static_cast<void>(peer.close_write());
}

/// What comes until so many lines have come, or until the server closes the connection.
task<std::string> read_lines(const runtime::stream& from, std::size_t lines) {
  std::string all;
  while (lines > 0) {
    char one = 0;
    const auto got = co_await from.read_some(std::span(&one, 1));
    if (!got || *got == 0) break;
    all += one;
    if (one == '\n') --lines;
  }
  co_return all;
}

/// Sends commands, and returns so many lines of the replies.
task<std::string> ask(node& on, std::string commands, std::size_t lines) {
  static_cast<void>(co_await on.client.write_all(commands));
  std::string replies = co_await read_lines(on.client, lines);
  co_return replies;
}

/// The statistics or the list that a command brings.
task<std::string> ask_for_text(node& on, std::string command) {
  static_cast<void>(co_await on.client.write_all(command));
  std::string text;
  while (!text.ends_with("\n\r\n") && !text.ends_with("_FOUND\r\n")) {
    const std::string line = co_await read_lines(on.client, 1);
    if (line.empty()) break;
    text += line;
  }
  co_return text;
}

/// All that comes until the server closes the connection.
task<std::string> rest(node& on) { return read_lines(on.client, std::string::npos); }

template <class Body>
task<> with_running_node(node& on, Body& body) {
  auto ends = runtime::stream::pair().value();
  on.client = std::move(ends.first);
  auto running = runtime::spawn(on.broker.run(), "the broker");
  auto serving = runtime::spawn(serve_one(on.state, ends.second), "session");
  co_await body(on);
  static_cast<void>(on.client.close_write());
  co_await serving.join();
  on.broker.close();
  co_await running.join();
}

/// Runs `body`, a task, with a node.
template <class Body>
void with_node(Body body) {
  virtual_clock clock;
  node on(clock);
  runtime::run_options options;
  options.processors = 1;
  options.clock = &clock;
  runtime::run(with_running_node(on, body), options);
  const check_result found = on.broker.check();
  EXPECT_TRUE(found) << found.error();
}

const std::string put_one = "put 0 0 60 1\r\nx\r\n";

/// The client holds job 1; 2 is ready, 3 buried and 4 delayed.
task<> prepare(node& on) {
  const std::string far = "put 0 1000 60 1\r\nx\r\n";
  const std::string said =
      co_await ask(on, put_one + "reserve\r\n" + put_one + "reserve\r\n" + put_one + "bury 2 0\r\n" + far, 8);
  EXPECT_EQ(said, "INSERTED 1\r\nRESERVED 1 1\r\nx\r\nINSERTED 2\r\nRESERVED 2 1\r\nx\r\nINSERTED 3\r\nBURIED\r\n");
  const std::string last = co_await read_lines(on.client, 1);
  EXPECT_EQ(last, "INSERTED 4\r\n");
}

const std::vector<std::string> changes = {"put 0 0 60 1\r\nx\r\n", "x-put keep k 0 0 1000 1\r\nx\r\n",
                                          "reserve-job 3\r\n",     "delete 1\r\n",
                                          "delete 3\r\n",          "release 1 0 0\r\n",
                                          "bury 1 0\r\n",          "touch 1\r\n",
                                          "kick-job 2\r\n",        "pause-tube default 5\r\n",
                                          "x-reschedule 4 5\r\n",  "x-fire 4\r\n"};
const std::vector<std::string> looks = {
    "peek 1\r\n",      "peek-ready\r\n", "peek-delayed\r\n",       "peek-buried\r\n",  "stats\r\n",
    "stats-job 1\r\n", "list-tubes\r\n", "stats-tube default\r\n", "x-stats-job 1\r\n"};
/// These look first, and change only if the look has succeeded.
const std::vector<std::string> looks_first = {"kick 1\r\n", "x-cancel 3\r\n", "pause-tube other 5\r\n"};

TEST(SessionOfNode, ACommandThatIsNotExecutedGetsAnErrorAndChangesNothing) {
  std::vector<std::string> all = changes;
  all.insert(all.end(), looks.begin(), looks.end());
  all.insert(all.end(), looks_first.begin(), looks_first.end());
  all.emplace_back("reserve-with-timeout 0\r\n");
  for (const std::string& command : all) {
    SCOPED_TRACE(command);
    with_node([&](node& on) -> task<> {
      co_await prepare(on);
      const jobs::job_counts before = jobs::execute_one(on.memory, jobs::count_all{}).counts;
      on.refuse(unavailable::not_executed);
      const std::string said = co_await ask(on, command + "list-tube-used\r\n" + put_one, 3);
      EXPECT_EQ(said, "INTERNAL_ERROR\r\nUSING default\r\nINTERNAL_ERROR\r\n");
      EXPECT_EQ(jobs::execute_one(on.memory, jobs::count_all{}).counts, before);
      on.accept();
      const std::string again = co_await ask(on, "delete 1\r\ndelete 2\r\n", 2);
      EXPECT_EQ(again, "DELETED\r\nDELETED\r\n") << "the session goes on, and its client holds what it held";
    });
  }
}

TEST(SessionOfNode, AChangeInDoubtIsNotAnsweredAndNothingAfterIt) {
  for (const std::string& command : changes) {
    SCOPED_TRACE(command);
    with_node([&](node& on) -> task<> {
      co_await prepare(on);
      on.refuse(unavailable::in_doubt);
      const std::string before_it = "list-tube-used\r\npeek 1\r\n";
      static_cast<void>(co_await on.client.write_all(before_it + command + "list-tube-used\r\n" + put_one));
      const std::string said = co_await rest(on);
      EXPECT_EQ(said, "USING default\r\nINTERNAL_ERROR\r\n");
    });
  }
}

TEST(SessionOfNode, ALookIsNeverInDoubt) {
  for (const auto* const some : {&looks, &looks_first}) {
    for (const std::string& command : *some) {
      SCOPED_TRACE(command);
      with_node([&](node& on) -> task<> {
        co_await prepare(on);
        on.refuse(unavailable::in_doubt);
        const std::string said = co_await ask(on, command + "list-tube-used\r\n", 2);
        EXPECT_EQ(said, "INTERNAL_ERROR\r\nUSING default\r\n");
      });
    }
  }
}

/// The looks of these succeed.
TEST(SessionOfNode, AChangeInDoubtAfterALookIsNotAnswered) {
  for (const std::string& command : looks_first) {
    SCOPED_TRACE(command);
    with_node([&](node& on) -> task<> {
      co_await prepare(on);
      on.put_elsewhere("other");
      on.refuse(unavailable::in_doubt, [](const jobs::operation& each) {
        return std::holds_alternative<jobs::kick>(each) || std::holds_alternative<jobs::cancel>(each) ||
               std::holds_alternative<jobs::pause>(each);
      });
      static_cast<void>(co_await on.client.write_all("list-tube-used\r\n" + command + "list-tube-used\r\n"));
      const std::string said = co_await rest(on);
      EXPECT_EQ(said, "USING default\r\n");
    });
  }
}

TEST(SessionOfNode, PutsInDoubtEndTheRepliesWithThoseBefore) {
  with_node([](node& on) -> task<> {
    const std::string first = co_await ask(on, put_one + put_one, 2);
    EXPECT_EQ(first, "INSERTED 1\r\nINSERTED 2\r\n");
    on.refuse(unavailable::in_doubt,
              [](const jobs::operation& each) { return std::holds_alternative<jobs::put>(each); });
    static_cast<void>(co_await on.client.write_all("delete 1\r\n" + put_one + put_one + "delete 2\r\n"));
    const std::string said = co_await rest(on);
    EXPECT_EQ(said, "DELETED\r\n");
    EXPECT_EQ(jobs::execute_one(on.memory, jobs::count_all{}).counts.all(), 1U) << "the second delete is not executed";
  });
}

/// The replies to a delete and the reserve behind it, both sent at once.
const std::string delete_and_reserve = "delete 1\r\nreserve\r\n";

TEST(SessionOfNode, ADeleteAndTheReserveBehindItAreOneBatch) {
  with_node([](node& on) -> task<> {
    co_await prepare(on);
    const std::uint64_t before = on.broker.counters().batches;
    const std::string said = co_await ask(on, delete_and_reserve, 3);
    EXPECT_EQ(said, "DELETED\r\nRESERVED 3 1\r\nx\r\n");
    EXPECT_EQ(on.broker.counters().batches, before + 1);
  });
}

TEST(SessionOfNode, AReserveBehindADeleteWaitsWhereNoJobIsReady) {
  with_node([](node& on) -> task<> {
    co_await prepare(on);
    const std::string third = co_await ask(on, "reserve\r\ndelete 3\r\n", 3);
    EXPECT_EQ(third, "RESERVED 3 1\r\nx\r\nDELETED\r\n");
    static_cast<void>(co_await on.client.write_all(delete_and_reserve));
    const std::string deleted = co_await read_lines(on.client, 1);
    EXPECT_EQ(deleted, "DELETED\r\n") << "at once, not with the job";
    on.put_elsewhere("default");
    const std::string reserved = co_await read_lines(on.client, 2);
    EXPECT_EQ(reserved, "RESERVED 5 0\r\n\r\n");
  });
}

/// While the broker holds back, a reserve is told at once of the reservation that is about to end. The delete before it
/// ends that reservation.
TEST(SessionOfNode, AReserveBehindADeleteIsNotToldOfTheDeletedJobsDeadline) {
  with_node([](node& on) -> task<> {
    const std::string first = co_await ask(on, "put 0 0 1 1\r\nx\r\nreserve\r\n", 3);
    EXPECT_EQ(first, "INSERTED 1\r\nRESERVED 1 1\r\nx\r\n");
    on.refuse(unavailable::not_executed);
    const std::string refused = co_await ask(on, "peek 1\r\n", 1);
    EXPECT_EQ(refused, "INTERNAL_ERROR\r\n");
    on.accept();
    const std::string said = co_await ask(on, "delete 1\r\nreserve-with-timeout 0\r\n", 2);
    EXPECT_EQ(said, "DELETED\r\nTIMED_OUT\r\n");
  });
}

TEST(SessionOfNode, ADeleteInDoubtEndsTheRepliesAndGivesBackWhatTheReserveBehindItHasGot) {
  with_node([](node& on) -> task<> {
    co_await prepare(on);
    // The delete alone is in doubt, as where the jobs lie in several databases.
    on.store.after = [](jobs::execution& done) {
      for (jobs::answer& each : done.answers) {
        if (!std::holds_alternative<jobs::holder_answer>(each)) continue;
        each = jobs::unavailable_answer{true, "the line is dead"};
      }
    };
    static_cast<void>(co_await on.client.write_all("list-tube-used\r\n" + delete_and_reserve));
    const std::string said = co_await rest(on);
    EXPECT_EQ(said, "USING default\r\n");
    on.store.after = nullptr;
    co_await runtime::sleep(1s);
    const jobs::job_counts left = jobs::execute_one(on.memory, jobs::count_all{}).counts;
    EXPECT_EQ(left.ready, 1U) << "job 3";
    EXPECT_EQ(left.reserved, 0U);
  });
}

TEST(SessionOfNode, ADeleteThatIsNotExecutedGetsAnErrorAndTheReserveBehindItWaits) {
  with_node([](node& on) -> task<> {
    co_await prepare(on);
    on.refuse(unavailable::not_executed);
    const std::string said = co_await ask(on, delete_and_reserve, 1);
    EXPECT_EQ(said, "INTERNAL_ERROR\r\n");
    on.accept();
    const std::string reserved = co_await read_lines(on.client, 2);
    EXPECT_EQ(reserved, "RESERVED 3 1\r\nx\r\n");
    const std::string again = co_await ask(on, "delete 1\r\n", 1);
    EXPECT_EQ(again, "DELETED\r\n");
  });
}

TEST(SessionOfNode, AKickThatIsRefusedInTheMiddleSaysWhatItHasKicked) {
  for (const unavailable known : {unavailable::not_executed, unavailable::in_doubt}) {
    with_node([known](node& on) -> task<> {
      for (int i = 0; i < 1500; ++i) on.put_elsewhere("default", 1h);
      std::size_t kicks = 0;
      on.refuse(known, [&kicks](const jobs::operation& each) {
        return std::holds_alternative<jobs::kick>(each) && ++kicks == 2;
      });
      static_cast<void>(co_await on.client.write_all(std::string_view("kick 1500\r\nlist-tube-used\r\n")));
      static_cast<void>(on.client.close_write());
      const std::string said = co_await rest(on);
      EXPECT_EQ(said, known == unavailable::in_doubt ? "" : "KICKED 1000\r\nUSING default\r\n");
      on.accept();
    });
  }
}

TEST(SessionOfNode, AReserveWaitsThroughAnOutage) {
  with_node([](node& on) -> task<> {
    on.refuse(unavailable::not_executed);
    static_cast<void>(co_await on.client.write_all(std::string_view("reserve\r\n")));
    co_await runtime::sleep(60s);
    on.accept();
    on.put_elsewhere("default");
    const std::string said = co_await read_lines(on.client, 2);
    EXPECT_EQ(said, "RESERVED 1 0\r\n\r\n");
  });
}

TEST(SessionOfNode, AReserveWhoseTimeEndsInAnOutageGetsAnError) {
  with_node([](node& on) -> task<> {
    on.refuse(unavailable::not_executed);
    const instant began = runtime::now();
    const std::string said = co_await ask(on, "reserve-with-timeout 5\r\nlist-tube-used\r\n", 2);
    EXPECT_EQ(said, "INTERNAL_ERROR\r\nUSING default\r\n");
    EXPECT_GE(runtime::now() - began, duration(5s));
    on.accept();
    const std::string after = co_await ask(on, "reserve-with-timeout 1\r\n", 1);
    EXPECT_EQ(after, "TIMED_OUT\r\n");
  });
}

TEST(SessionOfNode, AnUseThatEndsInAnOutageIsAnswered) {
  with_node([](node& on) -> task<> {
    on.refuse(unavailable::in_doubt);
    const std::string said = co_await ask(on, "use a\r\nuse b\r\nwatch c\r\nignore c\r\nlist-tubes-watched\r\n", 8);
    EXPECT_EQ(said, "USING a\r\nUSING b\r\nWATCHING 2\r\nWATCHING 1\r\nOK 14\r\n---\n- default\n\r\n");
  });
}

TEST(SessionOfNode, TheTubesOfOtherNodesLiveWhileTheyHaveAJob) {
  with_node([](node& on) -> task<> {
    const std::string none = co_await ask(on, "stats-tube far\r\npause-tube far 5\r\nlist-tubes\r\n", 6);
    EXPECT_EQ(none, "NOT_FOUND\r\nNOT_FOUND\r\nOK 14\r\n---\n- default\n\r\n");
    on.put_elsewhere("far");
    on.put_elsewhere("default");
    const std::string listed = co_await ask(on, "use a\r\nlist-tubes\r\n", 7);
    EXPECT_EQ(listed, "USING a\r\nOK 24\r\n---\n- default\n- a\n- far\n\r\n");
    const std::string paused = co_await ask(on, "pause-tube far 5\r\n", 1);
    EXPECT_EQ(paused, "PAUSED\r\n");
    const std::string counted = co_await ask_for_text(on, "stats-tube far\r\n");
    EXPECT_NE(counted.find("name: \"far\"\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 1\n"), std::string::npos)
        << counted;
    const std::string all = co_await ask_for_text(on, "stats\r\n");
    EXPECT_NE(all.find("current-tubes: 3\n"), std::string::npos) << all;
    const std::string ended = co_await ask(on, "use default\r\ndelete 1\r\nlist-tubes\r\n", 6);
    EXPECT_EQ(ended, "USING default\r\nDELETED\r\nOK 14\r\n---\n- default\n\r\n");
  });
}

TEST(SessionOfNode, ATubeThatOnlyAnotherNodeEmptiesLeavesNoRecord) {
  with_node([](node& on) -> task<> {
    const std::string used = co_await ask(on, "use a\r\n" + put_one + "use b\r\nlist-tubes\r\n", 9);
    EXPECT_EQ(used, "USING a\r\nINSERTED 1\r\nUSING b\r\nOK 22\r\n---\n- default\n- b\n- a\n\r\n");
    static_cast<void>(jobs::execute_one(on.memory, jobs::cancel{jobs::job_name(jobs::job_id{1})}));
    const std::string listed = co_await ask(on, "list-tubes\r\n", 5);
    EXPECT_EQ(listed, "OK 18\r\n---\n- default\n- b\n\r\n");
    on.put_elsewhere("c");
    const std::string taken = co_await ask(on, "reserve-job 2\r\nrelease 2 0 0\r\n", 3);
    EXPECT_EQ(taken, "RESERVED 2 0\r\n\r\nRELEASED\r\n");
    static_cast<void>(jobs::execute_one(on.memory, jobs::cancel{jobs::job_name(jobs::job_id{2})}));
    const std::string after = co_await ask(on, "list-tubes\r\n", 5);
    EXPECT_EQ(after, listed);
  });
}

}  // namespace
}  // namespace foliot::program::beanstalk
