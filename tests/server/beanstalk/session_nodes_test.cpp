// Sessions over a store that other nodes share, and that is unavailable at times: what a client is told, and what not.
// On virtual time.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>

#include "jobs/kit/two_nodes.hpp"
#include "server/access/authority.hpp"
#include "session_node.hpp"

namespace foliot::program::beanstalk {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> changes = {"put 0 0 60 1\r\nx\r\n", "x-put keep k 0 0 1000 1\r\nx\r\n",
                                          "reserve-job 3\r\n",     "delete 1\r\n",
                                          "delete 3\r\n",          "release 1 0 0\r\n",
                                          "bury 1 0\r\n",          "touch 1\r\n",
                                          "kick-job 2\r\n",        "pause-tube default 5\r\n",
                                          "x-reschedule 4 5\r\n",  "x-fire 4\r\n"};
const std::vector<std::string> looks = {
    "peek 1\r\n",     "peek-ready\r\n",         "peek-delayed\r\n",  "peek-buried\r\n",    "stats-job 1\r\n",
    "list-tubes\r\n", "stats-tube default\r\n", "x-stats-job 1\r\n", "x-due 10 @0 0 -\r\n"};
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
      on.store.refuse(unavailable::not_executed);
      const std::string said = co_await ask(on, command + "list-tube-used\r\n" + put_one, 3);
      EXPECT_EQ(said, "INTERNAL_ERROR\r\nUSING default\r\nINTERNAL_ERROR\r\n");
      EXPECT_EQ(jobs::execute_one(on.memory, jobs::count_all{}).counts, before);
      on.store.accept();
      const std::string again = co_await ask(on, "delete 1\r\ndelete 2\r\n", 2);
      EXPECT_EQ(again, "DELETED\r\nDELETED\r\n") << "the session goes on, and its client holds what it held";
    });
  }
}

/// A server with two sessions over one database, whose lines may fail each for itself.
struct two_lines : test::two_nodes {
  explicit two_lines(const virtual_clock& time) : two_nodes(time) {}

  server_state state{brokers({&here, &there}), 65'535, 1000};
};

// They ask one after the other, and what the one has learned is for those that waited meanwhile: not a failure of
// another line.
task<> list_beside_a_dead_line(two_lines& on) {
  auto one_runs = runtime::spawn(on.here.run(), "the first broker");
  auto other_runs = runtime::spawn(on.there.run(), "the second broker");
  session_client before(on.state);
  session_client dead(on.state);
  co_await runtime::sleep(1ms);
  on.refuse();
  co_await dead.send("peek 1\r\n");
  const std::string refused = co_await read_lines(dead.ends.first, 1);
  EXPECT_EQ(refused, "INTERNAL_ERROR\r\n");
  session_client living(on.state);
  co_await runtime::sleep(1ms);
  EXPECT_EQ(on.there.counters().clients, 1U);
  for (session_client* const each : {&before, &dead, &living}) {
    co_await each->send("list-tubes\r\n");
    co_await runtime::sleep(1ms);
  }
  const std::string of_before = co_await read_lines(before.ends.first, 1);
  EXPECT_EQ(of_before, "INTERNAL_ERROR\r\n");
  const std::string of_dead = co_await read_lines(dead.ends.first, 1);
  EXPECT_EQ(of_dead, "INTERNAL_ERROR\r\n");
  std::string of_living = co_await read_lines(living.ends.first, 1);  // a refusal has no more
  if (of_living == "OK 14\r\n") of_living += co_await read_lines(living.ends.first, 3);
  EXPECT_EQ(of_living, "OK 14\r\n---\n- default\n\r\n");
  on.accept();
  for (session_client* const each : {&before, &dead, &living}) {
    static_cast<void>(each->ends.first.close_write());
    co_await each->serving.join();
  }
  on.here.close();
  on.there.close();
  co_await one_runs.join();
  co_await other_runs.join();
}

TEST(SessionOfNode, AListThatOneLineRefusesIsAskedForOverTheOther) {
  virtual_clock clock;
  two_lines on(clock);
  test::on_virtual_time(clock, list_beside_a_dead_line(on));
}

TEST(SessionOfNode, AChangeInDoubtIsNotAnsweredAndNothingAfterIt) {
  for (const std::string& command : changes) {
    SCOPED_TRACE(command);
    with_node([&](node& on) -> task<> {
      co_await prepare(on);
      on.store.refuse(unavailable::in_doubt);
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
        on.store.refuse(unavailable::in_doubt);
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
      on.store.refuse(unavailable::in_doubt, [](const jobs::operation& each) {
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
    on.store.refuse(unavailable::in_doubt,
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
    const std::uint64_t before = on.jobs.counters().batches;
    const std::string said = co_await ask(on, delete_and_reserve, 3);
    EXPECT_EQ(said, "DELETED\r\nRESERVED 3 1\r\nx\r\n");
    EXPECT_EQ(on.jobs.counters().batches, before + 1);
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
    on.store.refuse(unavailable::not_executed);
    const std::string refused = co_await ask(on, "peek 1\r\n", 1);
    EXPECT_EQ(refused, "INTERNAL_ERROR\r\n");
    on.store.accept();
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
    on.store.refuse(unavailable::not_executed);
    const std::string said = co_await ask(on, delete_and_reserve, 1);
    EXPECT_EQ(said, "INTERNAL_ERROR\r\n");
    on.store.accept();
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
      on.store.refuse(known, [&kicks](const jobs::operation& each) {
        return std::holds_alternative<jobs::kick>(each) && ++kicks == 2;
      });
      static_cast<void>(co_await on.client.write_all(std::string_view("kick 1500\r\nlist-tube-used\r\n")));
      static_cast<void>(on.client.close_write());
      const std::string said = co_await rest(on);
      EXPECT_EQ(said, known == unavailable::in_doubt ? "" : "KICKED 1000\r\nUSING default\r\n");
      on.store.accept();
    });
  }
}

TEST(SessionOfNode, AReserveWaitsThroughAnOutage) {
  with_node([](node& on) -> task<> {
    on.store.refuse(unavailable::not_executed);
    static_cast<void>(co_await on.client.write_all(std::string_view("reserve\r\n")));
    co_await runtime::sleep(60s);
    on.store.accept();
    on.put_elsewhere("default");
    const std::string said = co_await read_lines(on.client, 2);
    EXPECT_EQ(said, "RESERVED 1 0\r\n\r\n");
  });
}

TEST(SessionOfNode, AReserveWhoseTimeEndsInAnOutageGetsAnError) {
  with_node([](node& on) -> task<> {
    on.store.refuse(unavailable::not_executed);
    const instant began = runtime::now();
    const std::string said = co_await ask(on, "reserve-with-timeout 5\r\nlist-tube-used\r\n", 2);
    EXPECT_EQ(said, "INTERNAL_ERROR\r\nUSING default\r\n");
    EXPECT_GE(runtime::now() - began, duration(5s));
    on.store.accept();
    const std::string after = co_await ask(on, "reserve-with-timeout 1\r\n", 1);
    EXPECT_EQ(after, "TIMED_OUT\r\n");
  });
}

TEST(SessionOfNode, AnUseThatEndsInAnOutageIsAnswered) {
  with_node([](node& on) -> task<> {
    on.store.refuse(unavailable::in_doubt);
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

task<> serve_within(server_state& state, byte_stream& peer, const rights_holder& holder) {
  {
    session with(state, peer, holder);
    co_await with.run();
  }
  co_await peer.close_write();
}

/// What a client that may see the tubes of a prefix is answered to these commands.
task<std::string> ask_within(node& on, std::string prefix, std::string commands) {
  const rights_holder holder(nullptr,
                             std::make_shared<const rights>("4f7k2m9q", "a test", scope_set::all(),
                                                            std::vector<std::string>{prefix}, instant::never()),
                             [] {});
  auto ends = runtime::stream::pair().value();
  const std::unique_ptr<byte_stream> peer = over(std::move(ends.second));
  auto serving = runtime::spawn(serve_within(on.state, *peer, holder), "a session");
  static_cast<void>(co_await ends.first.write_all(commands));
  static_cast<void>(ends.first.close_write());
  std::string answers = co_await read_until(ends.first, "");
  co_await serving.join();
  co_return answers;
}

TEST(SessionOfNode, AListOfSomeTubesIsReadInPagesOfThese) {
  with_node([](node& on) -> task<> {
    for (int i = 0; i < 2500; ++i) on.put_elsewhere("a." + std::to_string(i), 1h);
    on.put_elsewhere("b", 1h);
    const auto used_here = on.state.tubes.obtain("a.7");
    const auto unused_here = on.state.tubes.obtain("a.x");
    std::size_t pages = 0;
    on.store.before = [&pages](std::span<jobs::operation> batch) {
      for (const jobs::operation& each : batch) {
        const auto* const page = std::get_if<jobs::list_tubes>(&each);
        if (page == nullptr) continue;
        ++pages;
        EXPECT_EQ(page->prefix, "a.");
        EXPECT_EQ(page->count, jobs::most_listed);
      }
    };
    const std::string said = co_await ask_within(on, "a.", "list-tubes\r\n");
    on.store.before = nullptr;
    EXPECT_EQ(pages, 3U);
    EXPECT_EQ(std::ranges::count(said, '-'), 3 + 2501) << "each tube once, below a line of three";
    EXPECT_NE(said.find("- a.x\n"), std::string::npos) << "a tube of this node, without jobs";
    EXPECT_NE(said.find("- a.2499\n"), std::string::npos);
    EXPECT_EQ(said.find("- b\n"), std::string::npos);
  });
}

TEST(SessionOfNode, AListOfTooManyPagesIsRefusedAndTheSessionGoesOn) {
  with_node([](node& on) -> task<> {
    std::size_t pages = 0;
    on.store.before = [&pages](std::span<jobs::operation> batch) {
      for (const jobs::operation& each : batch) pages += std::holds_alternative<jobs::list_tubes>(each) ? 1U : 0U;
    };
    for (int i = 0; i <= 100'000; ++i) on.put_elsewhere("a." + std::to_string(i), 1h);
    const std::string said = co_await ask_within(on, "a.", "list-tubes\r\nlist-tube-used\r\n");
    on.store.before = nullptr;
    EXPECT_EQ(pages, 100U);
    EXPECT_EQ(said, "INTERNAL_ERROR\r\nUSING default\r\n");
  });
}

}  // namespace
}  // namespace foliot::program::beanstalk
