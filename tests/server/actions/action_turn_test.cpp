// An action goes on after its node has ended at any moment: by a new process on the same store, or by another node.
#include "server/actions/action_turn.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

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

/// Notes the ids of the actions whose turns begin, and makes each batch take 5 ms.
void note_turns(foliot::test::spy_store& spy, virtual_clock& clock, std::vector<jobs::job_id>& turns) {
  const auto places = std::make_shared<std::vector<std::size_t>>();
  spy.before = [&clock, places](std::span<jobs::operation> batch) {
    clock.stall(5ms);
    places->clear();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto* const what = std::get_if<jobs::claim>(&batch[i]);
      if (what != nullptr && what->tubes.front() == tube_of_actions) places->push_back(i);
    }
  };
  spy.after = [&turns, places](jobs::execution& done) {
    for (const std::size_t place : *places) {
      for (const jobs::claimed_job& each : std::get<jobs::claim_answer>(done.answers[place]).jobs) {
        turns.push_back(each.token.id);
      }
    }
  };
}

/// The newer one begins when the older one has had many turns.
TEST(ActionTurn, ANewActionHasNoTwoTurnsWhileAnOlderOneWaits) {
  virtual_clock clock;
  const jobs::virtual_wall_clock wall(clock);
  jobs::memory_store store(jobs::store_clocks{&wall, &clock});
  put_jobs(store, 6000);
  for (int i = 0; i < 1000; ++i) jobs::execute_one(store, jobs::put{.tube = "bill", .body = "", .due = 1h});
  live(store, clock, [&](jobs::broker& by, foliot::test::spy_store& spy) -> task<> {
    std::vector<jobs::job_id> turns;
    note_turns(spy, clock, turns);
    acting_client client(by);
    auto older_going = set_going(client, plan_of(action_kind::cancel));
    const jobs::job_id older = co_await older_going;
    while (std::ranges::count(turns, older) < 20) co_await runtime::sleep(1ms);
    action_plan plan = plan_of(action_kind::cancel);
    plan.filter.tube = "bill";
    auto newer_going = set_going(client, std::move(plan));
    const jobs::job_id newer = co_await newer_going;
    const std::size_t begin = turns.size();
    auto leaving = leaves(client, newer, action_state::running);
    const action done = co_await leaving;
    EXPECT_EQ(count_of(done.progress, action_outcome::done), 1000u);
    auto finding = client.records.find(older);
    const action_records::answer other = co_await finding;
    EXPECT_EQ(other.seen.value().progress.state, action_state::running) << "it waits for turns all the time";
    spy.accept();
    turns.erase(turns.begin(), turns.begin() + static_cast<std::ptrdiff_t>(begin));
    EXPECT_GE(std::ranges::count(turns, newer), 9);
    for (std::size_t i = 1; i < turns.size(); ++i) EXPECT_FALSE(turns[i] == newer && turns[i - 1] == newer) << i;
  });
}

/// A node stores what it will do; before it does that, its machine stands still for so long that its record is free.
TEST(ActionTurn, ANodeThatStoodStillChangesNothingMore) {
  virtual_clock clock;
  foliot::test::two_nodes world(clock);
  static constexpr std::size_t all = 300;
  put_jobs(world.memory, all);
  const auto is_look_at_one_of_them = [](const jobs::operation& each) {
    const auto* const look = std::get_if<jobs::peek>(&each);
    return look != nullptr && std::holds_alternative<jobs::job_id>(look->name) &&
           std::get<jobs::job_id>(look->name) <= all;
  };
  bool stood_still = false;
  world.here_store.before = [&](std::span<jobs::operation> batch) {
    if (stood_still || std::ranges::none_of(batch, is_look_at_one_of_them)) return;
    stood_still = true;
    clock.stall(duration(longest_turn) + 1s);
  };
  const auto act = [&stood_still](foliot::test::two_nodes& nodes) -> task<> {
    action_runner here(nodes.here, nullptr, largest_job);
    auto acting_here = runtime::spawn(here.keep_on(), "actions here");
    action_runner there(nodes.there, nullptr, largest_job);
    {
      acting_client client(nodes.here);
      auto going = set_going(client, plan_of(action_kind::cancel));
      const jobs::job_id id = co_await going;
      for (int look = 0; look < 1000 && !stood_still; ++look) co_await runtime::sleep(10ms);
      EXPECT_TRUE(stood_still);
      auto acting_there = runtime::spawn(there.keep_on(), "actions there");
      auto leaving = leaves(client, id, action_state::running);
      const action done = co_await leaving;
      EXPECT_EQ(count_of(done.progress, action_outcome::done), all) << "the next turn has found all as it was";
      here.end();
      there.end();
      co_await acting_there.join();
    }
    co_await acting_here.join();
  };
  foliot::test::on_virtual_time(clock, foliot::test::with_running_nodes(world, act));
}

/// What an action does that moves jobs.
bool is_move(const jobs::operation& each) { return std::holds_alternative<jobs::reschedule>(each); }

action_plan plan_that_moves() {
  action_plan made = plan_of(action_kind::reschedule);
  made.due = jobs::milliseconds(5h);
  return made;
}

/// Executes the changes of a batch as another node does that has the same piece.
void move_as_another_node(jobs::job_store& on, std::span<const jobs::operation> batch) {
  for (const jobs::operation& each : batch) {
    if (!is_move(each)) continue;
    EXPECT_EQ(jobs::execute_one(on, std::get<jobs::reschedule>(each)).what, jobs::change_answer::kind::done);
  }
}

std::size_t changes_done_in(const jobs::execution& done) {
  return static_cast<std::size_t>(std::ranges::count_if(done.answers, [](const jobs::answer& each) {
    const auto* const one = std::get_if<jobs::change_answer>(&each);
    return one != nullptr && one->what == jobs::change_answer::kind::done;
  }));
}

bool is_touch(const jobs::operation& each) { return std::holds_alternative<jobs::touch>(each); }

/// The database takes a node for dead while its changes are on their way, another node makes them, and the first one
/// goes on. Its record seems to be held for half a minute more, and touches may have no answer for long.
TEST(ActionTurn, WhatAnotherNodeHasMadeOfAJobIsNotChanged) {
  for (const bool has_answers : {true, false}) {
    SCOPED_TRACE(has_answers);
    foliot::test::in_node_worlds([has_answers](foliot::test::two_nodes& world) -> task<> {
      constexpr std::size_t all = 10;
      put_jobs(world.memory, all);
      std::optional<jobs::reservation> record;
      bool is_taken = false;
      bool answers_touches = has_answers;
      std::size_t changed = 0;
      world.here_store.before = [&](std::span<jobs::operation> batch) {
        if (is_taken && !answers_touches && std::ranges::any_of(batch, is_touch)) {
          throw jobs::store_unavailable(jobs::store_unavailable::kind::not_executed, "the line is dead");
        }
        if (is_taken || std::ranges::none_of(batch, is_move)) return;
        is_taken = true;
        EXPECT_EQ(jobs::execute_one(world.memory, jobs::abandon{record.value()}).what, jobs::holder_answer::kind::done);
        move_as_another_node(world.memory, batch);
      };
      world.here_store.after = [&](jobs::execution& done) {
        if (is_taken) changed += changes_done_in(done);
        for (const jobs::answer& each : done.answers) {
          const auto* const got = std::get_if<jobs::claim_answer>(&each);
          if (got != nullptr && !got->jobs.empty()) record = got->jobs.front().token;
        }
      };
      action_runner here(world.here, nullptr, largest_job);
      action_runner there(world.there, nullptr, largest_job);
      auto acting_here = runtime::spawn(here.keep_on(), "actions here");
      jobs::job_id id = 0;
      {
        acting_client client(world.here);
        auto going = set_going(client, plan_that_moves());
        id = co_await going;
      }
      co_await runtime::sleep(10s);
      EXPECT_TRUE(is_taken);
      auto acting_there = runtime::spawn(there.keep_on(), "actions there");
      {
        acting_client client(world.there);
        auto leaving = leaves(client, id, action_state::running);
        const action done = co_await leaving;
        EXPECT_EQ(done.progress.state, action_state::done);
        EXPECT_EQ(count_of(done.progress, action_outcome::unknown), all);
        EXPECT_EQ(sum_of(done.progress), all);
      }
      answers_touches = true;
      co_await runtime::sleep(10s);
      EXPECT_EQ(changed, 0u) << "of jobs that were changed once";
      world.accept();
      here.end();
      there.end();
      co_await acting_here.join();
      co_await acting_there.join();
    });
  }
}

/// A process that ends with its first changes on their way. Returns the action, which moves so many jobs.
jobs::job_id end_before_changes(jobs::job_store& store, virtual_clock& clock, std::size_t count) {
  put_jobs(store, count);
  jobs::job_id id = 0;
  live(store, clock, [&](jobs::broker& by, foliot::test::spy_store& spy) -> task<> {
    acting_client client(by);
    spy.before = [&spy](std::span<jobs::operation> batch) {
      if (std::ranges::any_of(batch, is_move)) spy.fails_from = 0;
    };
    auto making = client.records.make(plan_that_moves());
    const action_records::answer made = co_await making;
    id = made.seen->id;
    auto counting = leaves(client, id, action_state::counting);
    static_cast<void>(co_await counting);
    auto starting = client.records.start(id, count);
    static_cast<void>(co_await starting);
    auto leaving = leaves(client, id, action_state::running);
    static_cast<void>(co_await leaving);
    ADD_FAILURE() << "it has made its changes";
  });
  return id;
}

/// The node that has lost a piece makes its changes late, between the look and the changes of the next one.
TEST(ActionTurn, APieceThatWasCutOffIsNotLookedAtAgain) {
  constexpr std::size_t all = 10;
  virtual_clock clock;
  const jobs::virtual_wall_clock wall(clock);
  jobs::memory_store store(jobs::store_clocks{&wall, &clock});
  const jobs::job_id id = end_before_changes(store, clock, all);
  live(store, clock, [&](jobs::broker& by, foliot::test::spy_store& spy) -> task<> {
    bool is_late = false;
    std::size_t changed = 0;
    spy.before = [&](std::span<jobs::operation> batch) {
      if (is_late || std::ranges::none_of(batch, is_move)) return;
      is_late = true;
      move_as_another_node(store, batch);
    };
    spy.after = [&](jobs::execution& done) { changed += changes_done_in(done); };
    acting_client client(by);
    auto leaving = leaves(client, id, action_state::running);
    const action done = co_await leaving;
    EXPECT_TRUE(is_late);
    EXPECT_EQ(changed, 0u) << "of jobs that were changed once";
    EXPECT_EQ(count_of(done.progress, action_outcome::unknown), all);
    EXPECT_EQ(done.progress.matched, all);
    spy.accept();
  });
}

/// The next node may need several pages for the piece: where there are several databases, ids come between the others.
TEST(ActionTurn, APieceThatWasCutOffIsDoneToItsEnd) {
  constexpr std::size_t all = 250;
  virtual_clock clock;
  const jobs::virtual_wall_clock wall(clock);
  jobs::memory_store store(jobs::store_clocks{&wall, &clock});
  const jobs::job_id id = end_before_changes(store, clock, all);
  live(store, clock, [&](jobs::broker& by, foliot::test::spy_store& spy) -> task<> {
    spy.after = [](jobs::execution& done) {
      for (jobs::answer& each : done.answers) {
        constexpr std::size_t most = 40;
        auto* const page = std::get_if<jobs::jobs_answer>(&each);
        if (page == nullptr || page->jobs.size() <= most) continue;
        page->jobs.resize(most);
        page->next = jobs::job_place{0, page->jobs.back().job.id};
      }
    };
    acting_client client(by);
    auto leaving = leaves(client, id, action_state::running);
    const action done = co_await leaving;
    spy.accept();
    EXPECT_EQ(done.progress.state, action_state::done);
    EXPECT_EQ(count_of(done.progress, action_outcome::done), all);
    EXPECT_EQ(done.progress.matched, all);
  });
}

/// Loses the answer to the n-th batch with such an operation, which is executed, or not.
void lose_answer(foliot::test::spy_store& of, std::function<bool(const jobs::operation&)> is_meant, std::size_t n,
                 bool executes) {
  const auto lose = [] { throw jobs::store_unavailable(jobs::store_unavailable::kind::in_doubt, "the line is cut"); };
  const auto loses_next = std::make_shared<bool>(false);
  of.before = [=, left = n](std::span<jobs::operation> batch) mutable {
    if (left == 0 || std::ranges::none_of(batch, is_meant) || --left > 0) return;
    if (!executes) lose();
    *loses_next = true;
  };
  of.after = [=](jobs::execution&) {
    if (std::exchange(*loses_next, false)) lose();
  };
}

/// Changes whose answer is lost are tried again, with the same versions.
TEST(ActionTurn, AChangeInDoubtIsTriedAgain) {
  for (const bool executes : {false, true}) {
    SCOPED_TRACE(executes);
    foliot::test::in_node_worlds([executes](foliot::test::two_nodes& world) -> task<> {
      constexpr std::size_t all = 250;
      put_jobs(world.memory, all);
      lose_answer(world.here_store, is_change, 1, executes);
      action_runner here(world.here, nullptr, largest_job);
      auto acting_here = runtime::spawn(here.keep_on(), "actions here");
      {
        acting_client client(world.here);
        auto going = set_going(client, plan_of(action_kind::cancel));
        const jobs::job_id id = co_await going;
        acting_client watcher(world.there);  // whose store answers
        auto leaving = leaves(watcher, id, action_state::running);
        const action done = co_await leaving;
        EXPECT_EQ(count_of(done.progress, action_outcome::unknown), executes ? action_turn::most_of_run_turn : 0u);
        EXPECT_EQ(sum_of(done.progress), all);
        EXPECT_EQ(done.progress.matched, all);
      }
      EXPECT_EQ(jobs_in(world.memory), 0u) << "each job has had its turn";
      world.accept();
      here.end();
      co_await acting_here.join();
    });
  }
}

/// Of a run of one piece: the release before the changes, and the one behind them.
TEST(ActionTurn, AReleaseInDoubtIsTriedAgain) {
  const auto is_of_run = [](const jobs::operation& each) {
    const auto* const one = std::get_if<jobs::release>(&each);
    const auto progress = one != nullptr && one->history ? action_progress::in(*one->history) : std::nullopt;
    return progress && progress->started && progress->turns > 1;  // the first one was the count
  };
  for (const std::size_t which : {1U, 2U}) {
    for (const bool executes : {false, true}) {
      SCOPED_TRACE(testing::Message() << which << ", " << executes);
      foliot::test::in_node_worlds([=](foliot::test::two_nodes& world) -> task<> {
        constexpr std::size_t all = 50;
        put_jobs(world.memory, all);
        action_runner here(world.here, nullptr, largest_job);
        auto acting_here = runtime::spawn(here.keep_on(), "actions here");
        {
          acting_client client(world.here);
          auto making = client.records.make(plan_of(action_kind::cancel));
          const action_records::answer made = co_await making;
          const jobs::job_id id = made.seen->id;
          auto counting = leaves(client, id, action_state::counting);
          static_cast<void>(co_await counting);
          lose_answer(world.here_store, is_of_run, which, executes);
          const instant begin = runtime::now();
          auto starting = client.records.start(id, all);
          static_cast<void>(co_await starting);
          acting_client watcher(world.there);  // whose store answers
          auto leaving = leaves(watcher, id, action_state::running);
          const action done = co_await leaving;
          EXPECT_EQ(count_of(done.progress, action_outcome::done), all) << "what is known is not forgotten";
          EXPECT_EQ(done.progress.matched, all);
          EXPECT_LT(runtime::now() - begin, duration(longest_turn)) << "nobody waits for the end of the record's TTR";
        }
        world.accept();
        here.end();
        co_await acting_here.join();
      });
    }
  }
}

/// Another client moves a job between the look and the change, so often. Some touches of the record are not answered.
TEST(ActionTurn, AJobThatHasChangedMeanwhileIsLookedAtAgain) {
  for (const auto& [moves, unanswered] : {std::pair(1U, 0U), std::pair(1U, 3U), std::pair(3U, 0U)}) {
    SCOPED_TRACE(testing::Message() << moves << ", " << unanswered);
    foliot::test::in_node_worlds([moves, unanswered](foliot::test::two_nodes& world) -> task<> {
      constexpr std::size_t all = 10;
      put_jobs(world.memory, all);
      std::size_t moves_left = moves;
      std::size_t touches_left = unanswered;
      const auto moves_it = [](const jobs::operation& each) {
        return is_move(each) && std::get<jobs::reschedule>(each).name == jobs::job_name(jobs::job_id{3});
      };
      world.here_store.before = [&](std::span<jobs::operation> batch) {
        if (moves_left > 0 && std::ranges::any_of(batch, moves_it)) {
          const jobs::milliseconds delay = 2h + 1ms * static_cast<std::int64_t>(moves_left--);
          jobs::execute_one(world.memory, jobs::reschedule{jobs::job_id{3}, delay});
        }
        if (touches_left == 0 || std::ranges::none_of(batch, is_touch)) return;
        --touches_left;
        throw jobs::store_unavailable(jobs::store_unavailable::kind::not_executed, "the line is dead");
      };
      action_runner here(world.here, nullptr, largest_job);
      auto acting_here = runtime::spawn(here.keep_on(), "actions here");
      {
        acting_client client(world.here);
        auto going = set_going(client, plan_that_moves());
        const jobs::job_id id = co_await going;
        acting_client watcher(world.there);  // whose store answers
        auto leaving = leaves(watcher, id, action_state::running);
        const action done = co_await leaving;
        EXPECT_EQ(count_of(done.progress, action_outcome::done), all);
        EXPECT_EQ(jobs::execute_one(world.memory, jobs::peek{jobs::job_id{3}, false}).job->due, done.progress.due);
      }
      EXPECT_EQ(moves_left, 0u);
      EXPECT_EQ(touches_left, 0u);
      world.accept();
      here.end();
      co_await acting_here.join();
    });
  }
}

/// A turn stores what it will do by a release and a claim. A client that stops the action between the two is told how
/// much was done, and no more is done behind that.
TEST(ActionTurn, AStopBeforeAPieceIsNotUndone) {
  virtual_clock clock;
  const jobs::virtual_wall_clock wall(clock);
  jobs::memory_store store(jobs::store_clocks{&wall, &clock});
  put_jobs(store, 300);
  live(store, clock, [&](jobs::broker& by, foliot::test::spy_store& spy) -> task<> {
    acting_client client(by);
    auto going = set_going(client, plan_of(action_kind::cancel));
    const jobs::job_id id = co_await going;
    std::optional<action_progress> stopped;
    spy.before = [&](std::span<jobs::operation> batch) {
      const auto is_claim = [&](const jobs::operation& each) {
        const auto* const one = std::get_if<jobs::claim_job>(&each);
        return one != nullptr && one->id == id;
      };
      if (stopped || std::ranges::none_of(batch, is_claim)) return;
      const jobs::claim_answer got = jobs::execute_one(store, jobs::claim_job{id});
      stopped = action::in(got.jobs.at(0).job)->progress;
      EXPECT_EQ(stopped->doing, action_turn::most_of_run_turn);
      stopped->doing = 0;  // as nothing was done yet
      stopped->end(action_state::stopped, "it is enough", got.jobs.at(0).job.due);
      jobs::execute_one(
          store, jobs::release{
                     .token = got.jobs.at(0).token, .due = stopped->kept_until.value(), .history = stopped->history()});
    };
    auto leaving = leaves(client, id, action_state::running);
    const action seen = co_await leaving;
    EXPECT_TRUE(stopped);
    EXPECT_EQ(seen.progress.state, action_state::stopped);
    co_await runtime::sleep(1min);
    auto finding = client.records.find(id);
    const action_records::answer later = co_await finding;
    EXPECT_EQ(later.seen->progress.history(), stopped->history());
    EXPECT_EQ(jobs_in(store), 300u);
  });
}

task<action_records::result> make_one(jobs::broker& by) {
  acting_client client(by);
  auto making = client.records.make(plan_of(action_kind::kick));
  const action_records::answer made = co_await making;
  co_return made.what;
}

TEST(ActionRecords, RequestsThatComeTogetherKeepTheBounds) {
  using result = action_records::result;
  virtual_clock clock;
  const jobs::virtual_wall_clock wall(clock);
  jobs::memory_store store(jobs::store_clocks{&wall, &clock});
  live(store, clock, [&](jobs::broker& by, foliot::test::spy_store&) -> task<> {
    constexpr std::size_t most = action_records::most_of_owner;
    for (std::size_t i = 0; i + 1 < most; ++i) {
      const result made = co_await make_one(by);
      EXPECT_EQ(made, result::done);
    }
    std::vector<runtime::join_handle<result>> all;
    for (int i = 0; i < 5; ++i) all.push_back(runtime::spawn(make_one(by), "makes one"));
    std::size_t made = most - 1;
    for (runtime::join_handle<result>& each : all) {
      const result came = co_await each.join();
      made += came == result::done ? 1U : 0U;
      EXPECT_TRUE(came == result::done || came == result::too_many_own);
    }
    EXPECT_LE(made, most);
    EXPECT_EQ(jobs::execute_one(store, jobs::count_tube{std::string(tube_of_actions)}).counts.all(), made);
    if (made == most) co_return;
    const result last = co_await make_one(by);
    EXPECT_EQ(last, result::done);
  });
}

/// Its client is told that nothing has changed, and does not know its id.
TEST(ActionRecords, AnActionIsTakenBackIfTheStoreFailsBehindItsPut) {
  foliot::test::in_node_worlds([](foliot::test::two_nodes& world) -> task<> {
    const auto is_last_step = [](const jobs::operation& each) { return std::holds_alternative<jobs::fire_now>(each); };
    world.here_store.refuse(foliot::test::spy_store::unavailable::not_executed, is_last_step);
    bool has_failed = false;
    try {
      auto making = make_one(world.here);
      static_cast<void>(co_await making);
    } catch (const jobs::store_unavailable&) {
      has_failed = true;
    }
    EXPECT_TRUE(has_failed);
    const jobs::count_tube actions{std::string(tube_of_actions)};
    EXPECT_EQ(jobs::execute_one(world.memory, actions).counts.all(), 0u);
    world.accept();
    auto making_another = make_one(world.here);
    const action_records::result made = co_await making_another;
    EXPECT_EQ(made, action_records::result::done);
  });
}

/// A record of a later version of the program is no action here. Nodes of that version go on with it.
TEST(ActionTurn, ARecordOfALaterVersionIsLeftToItsNodes) {
  virtual_clock clock;
  const jobs::virtual_wall_clock wall(clock);
  jobs::memory_store store(jobs::store_clocks{&wall, &clock});
  jobs::put strange;
  strange.tube = std::string(tube_of_actions);
  strange.priority = 7;
  ASSERT_TRUE(strange.fields.set(200, "what is not known yet"));
  const jobs::job_id id = jobs::execute_one(store, strange).id;
  live(store, clock, [&](jobs::broker& by, foliot::test::spy_store& spy) -> task<> {
    std::vector<jobs::job_id> turns;
    note_turns(spy, clock, turns);
    co_await runtime::sleep(1min);
    spy.accept();
    EXPECT_GE(turns.size(), 2u);
    EXPECT_LE(turns.size(), 6u) << "it is no work without an end";
    for (int tries = 0; tries < 300; ++tries) {  // as the other node
      auto claiming = by.execute(jobs::claim{{std::string(tube_of_actions)}});
      const jobs::claim_answer got = co_await claiming;
      if (got.jobs.empty()) {
        co_await runtime::sleep(100ms);
        continue;
      }
      EXPECT_EQ(got.jobs.at(0).token.id, id);
      EXPECT_EQ(got.jobs.at(0).job.priority, 7u);
      EXPECT_EQ(got.jobs.at(0).job.fields, strange.fields);
      EXPECT_EQ(got.jobs.at(0).job.history, jobs::job_fields());
      co_return;
    }
    ADD_FAILURE() << "another node cannot have it";
  });
}

/// Where another node, or SQL, can put records, each look is too old already: jobs that are named by their ids may be
/// the server's own. A store of this process alone has those that this process has put.
TEST(ActionRunner, WhereOthersWriteThereMayAlwaysBeRecords) {
  foliot::test::in_node_worlds([](foliot::test::two_nodes& world) -> task<> {
    action_runner runner(world.here, nullptr, largest_job);
    auto acting = runtime::spawn(runner.keep_on(), "actions");
    co_await runtime::sleep(30s);
    EXPECT_TRUE(runner.records().may_exist());
    runner.end();
    co_await acting.join();
  });
  virtual_clock clock;
  const jobs::virtual_wall_clock wall(clock);
  jobs::memory_store store(jobs::store_clocks{&wall, &clock});
  jobs::broker by(store);
  const auto alone = [&by]() -> task<> {
    auto running = runtime::spawn(by.run(), "the broker");
    action_runner runner(by, nullptr, largest_job);
    auto acting = runtime::spawn(runner.keep_on(), "actions");
    co_await runtime::sleep(30s);
    EXPECT_FALSE(runner.records().may_exist());
    runner.end();
    co_await acting.join();
    by.close();
    co_await running.join();
  };
  foliot::test::on_virtual_time(clock, alone);
}

}  // namespace
}  // namespace foliot::program
