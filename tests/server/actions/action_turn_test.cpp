// An action goes on after its node has ended at any moment: by a new process on the same store, or by another node.
#include "server/actions/action_turn.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include <foliot/jobs/calls.hpp>

#include "jobs/kit/broker_world.hpp"
#include "jobs/kit/two_nodes.hpp"
#include "restarts.hpp"
#include "server/access/server_tubes.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

/// The batch after which the process ends, from the start of the run on.
class EndsBehindBatch : public testing::TestWithParam<std::size_t> {};

TEST_P(EndsBehindBatch, AndTheNextProcessGoesOn) {
  virtual_clock clock;
  const jobs::virtual_wall_clock wall(clock);
  jobs::memory_store store(jobs::store_clocks{&wall, &clock});
  const jobs::job_id id = end_in_the_middle(store, clock, GetParam());
  go_on(store, clock, id);
}

INSTANTIATE_TEST_SUITE_P(ActionTurn, EndsBehindBatch, testing::Range<std::size_t>(0, 24));

/// A reschedule by a delay counts from the start of the run, also for jobs that are done twice.
TEST(ActionTurn, ADelayCountsFromTheStartOfTheRun) {
  virtual_clock clock;
  const jobs::virtual_wall_clock wall(clock);
  jobs::memory_store store(jobs::store_clocks{&wall, &clock});
  put_jobs(store, 150);
  jobs::job_id id = 0;
  jobs::utc_time due;
  live(store, clock, [&](jobs::broker& by, foliot::test::spy_store& spy) -> task<> {
    acting_client client(by);
    action_plan plan = plan_of(action_kind::reschedule);
    plan.due = jobs::milliseconds(5h);
    auto going = set_going(client, std::move(plan));
    id = co_await going;
    auto finding = client.records.find(id);
    const action_records::answer started = co_await finding;
    due = started.seen->progress.due.value();
    EXPECT_EQ(due, started.seen->progress.started.value() + 5h);
    spy.after = [&](jobs::execution& done) {
      const bool is_it = std::ranges::any_of(
          done.answers, [](const jobs::answer& each) { return std::holds_alternative<jobs::change_answer>(each); });
      if (is_it) spy.fails_from = spy.sizes.size();  // these are the last
    };
    auto leaving = leaves(client, id, action_state::running);
    static_cast<void>(co_await leaving);
  });
  live(store, clock, [&](jobs::broker& by, foliot::test::spy_store&) -> task<> {
    acting_client client(by);
    auto leaving = leaves(client, id, action_state::running);
    const action done = co_await leaving;
    // The first piece was cut off, and its jobs are not as they were.
    EXPECT_EQ(count_of(done.progress, action_outcome::done), 50u);
    EXPECT_EQ(count_of(done.progress, action_outcome::unknown), 100u);
  });
  const jobs::jobs_answer listed = jobs::execute_one(store, jobs::list_jobs{.tube = "mail", .count = 1000});
  EXPECT_EQ(listed.jobs.size(), 150u);
  for (const jobs::listed_job& each : listed.jobs) EXPECT_EQ(each.job.due, due);
}

/// The database takes the first node away in the middle of a piece, which is executed or not.
TEST(ActionTurn, AnotherNodeGoesOn) {
  for (const bool executes : {false, true}) {
    foliot::test::in_node_worlds([&](foliot::test::two_nodes& world) -> task<> {
      constexpr std::size_t all = 500;
      put_jobs(world.memory, all);
      action_runner here(world.here, nullptr, largest_job);
      auto acting_here = runtime::spawn(here.keep_on(), "actions here");
      std::size_t pieces = 0;
      world.here_store.before = [&](std::span<jobs::operation> batch) {
        if (std::ranges::any_of(batch, is_change)) ++pieces;
        if (pieces < 2) return;
        if (executes && pieces == 2) {
          for (const jobs::operation& each : batch) {
            if (is_change(each)) jobs::execute_one(world.memory, std::get<jobs::cancel>(each));
          }
          ++pieces;
        }
        throw jobs::store_unavailable(jobs::store_unavailable::kind::not_executed, "the line is dead");
      };
      jobs::job_id id = 0;
      {
        acting_client client(world.here);
        auto going = set_going(client, plan_of(action_kind::cancel));
        id = co_await going;
      }
      while (pieces < 2) co_await runtime::sleep(10ms);
      action_runner there(world.there, nullptr, largest_job);
      auto acting_there = runtime::spawn(there.keep_on(), "actions there");
      {
        acting_client client(world.there);
        auto leaving = leaves(client, id, action_state::running);
        const action done = co_await leaving;
        EXPECT_EQ(done.progress.state, action_state::done);
        EXPECT_EQ(done.progress.matched, all);
        EXPECT_EQ(sum_of(done.progress), all);
        EXPECT_EQ(count_of(done.progress, action_outcome::unknown), executes ? action_turn::most_of_run_turn : 0);
      }
      EXPECT_EQ(jobs_in(world.memory), 0u);
      world.accept();
      here.end();
      there.end();
      co_await acting_here.join();
      co_await acting_there.join();
    });
  }
}

/// Two nodes that have nothing else to do share the pieces of an action, and none is done twice.
TEST(ActionTurn, NodesTakeTheSameActionInTurns) {
  foliot::test::in_node_worlds([](foliot::test::two_nodes& world) -> task<> {
    constexpr std::size_t all = 700;
    put_jobs(world.memory, all);
    action_runner here(world.here, nullptr, largest_job);
    action_runner there(world.there, nullptr, largest_job);
    auto acting_here = runtime::spawn(here.keep_on(), "actions here");
    auto acting_there = runtime::spawn(there.keep_on(), "actions there");
    {
      acting_client client(world.here);
      auto going = set_going(client, plan_of(action_kind::cancel));
      const jobs::job_id id = co_await going;
      auto leaving = leaves(client, id, action_state::running);
      const action done = co_await leaving;
      EXPECT_EQ(count_of(done.progress, action_outcome::done), all);
      EXPECT_EQ(sum_of(done.progress), all);
    }
    here.end();
    there.end();
    co_await acting_here.join();
    co_await acting_there.join();
  });
}

/// A record of a later version of the program is no action here, and stays.
TEST(ActionTurn, ARecordThatCannotBeReadIsSetAside) {
  virtual_clock clock;
  const jobs::virtual_wall_clock wall(clock);
  jobs::memory_store store(jobs::store_clocks{&wall, &clock});
  jobs::put strange;
  strange.tube = std::string(tube_of_actions);
  jobs::execute_one(store, std::move(strange));
  live(store, clock, [](jobs::broker&, foliot::test::spy_store&) -> task<> { co_await runtime::sleep(1min); });
  EXPECT_EQ(jobs::execute_one(store, jobs::count_tube{std::string(tube_of_actions)}).counts.buried, 1u);
}

}  // namespace
}  // namespace foliot::program
