// Servers that end in the middle of an action, and the next ones on the same store. On virtual time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include <foliot/jobs/calls.hpp>
#include <foliot/runtime/spawn.hpp>

#include "acting_client.hpp"
#include "jobs/kit/broker_world.hpp"
#include "server/actions/action_runner.hpp"
#include "server/actions/action_turn.hpp"

namespace foliot::program {

inline constexpr std::size_t largest_job = 65'535;

inline void put_jobs(jobs::job_store& into, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    jobs::put what;
    what.tube = "mail";
    what.due = std::chrono::hours(1);
    jobs::execute_one(into, std::move(what));
  }
}
inline std::uint64_t jobs_in(jobs::job_store& store) {
  return jobs::execute_one(store, jobs::count_tube{"mail"}).counts.all();
}
inline std::uint64_t sum_of(const action_progress& progress) {
  return std::accumulate(progress.outcomes.begin(), progress.outcomes.end(), std::uint64_t{0});
}
inline std::uint64_t count_of(const action_progress& progress, action_outcome what) {
  return progress.outcomes[static_cast<std::size_t>(what)];
}
inline bool is_change(const jobs::operation& each) {
  const auto* const one = std::get_if<jobs::cancel>(&each);
  return one != nullptr && one->expected != 0;
}

using life = std::function<task<>(jobs::broker&, foliot::test::spy_store&)>;

/// A server from its start to its end, or to the failure of its store.
inline void live(jobs::job_store& store, virtual_clock& clock, const life& body) {
  foliot::test::spy_store spy(store);
  jobs::broker by(spy);
  const auto whole = [&]() -> task<> {
    auto running = runtime::spawn(by.run(), "the broker");
    action_runner runner(by, nullptr, largest_job);
    auto acting = runtime::spawn(runner.keep_on(), "actions");
    try {
      co_await body(by, spy);
    } catch (const jobs::store_failure&) {
      // As the test wants it.
    }
    runner.end();
    co_await acting.join();
    by.close();
    try {
      co_await running.join();
    } catch (const jobs::store_failure&) {
      // The same.
    }
  };
  foliot::test::on_virtual_time(clock, whole);
}

/// How many jobs the action of the next two functions has.
inline constexpr std::size_t jobs_of_action = 250;

/// A server that starts an action, and ends behind so many batches from then on. Returns the action.
inline jobs::job_id end_in_the_middle(jobs::job_store& store, virtual_clock& clock, std::size_t batches) {
  put_jobs(store, jobs_of_action);
  jobs::job_id id = 0;
  live(store, clock, [&](jobs::broker& by, foliot::test::spy_store& spy) -> task<> {
    acting_client client(by);
    auto going = set_going(client, plan_of(action_kind::cancel));
    id = co_await going;
    spy.fails_from = spy.sizes.size() + batches;
    auto leaving = leaves(client, id, action_state::running);
    const action seen = co_await leaving;
    EXPECT_EQ(seen.progress.state, action_state::done) << "it was quicker than the end";
  });
  return id;
}

/// The next server, which goes on with it: each job has its turn, and is told of once.
inline void go_on(jobs::job_store& store, virtual_clock& clock, jobs::job_id id) {
  put_jobs(store, 3);
  live(store, clock, [&](jobs::broker& by, foliot::test::spy_store&) -> task<> {
    acting_client client(by);
    auto leaving = leaves(client, id, action_state::running);
    const action done = co_await leaving;
    EXPECT_EQ(done.progress.state, action_state::done);
    EXPECT_EQ(done.progress.counted, jobs_of_action);
    EXPECT_EQ(done.progress.matched, jobs_of_action);
    EXPECT_EQ(sum_of(done.progress), jobs_of_action);
    EXPECT_EQ(count_of(done.progress, action_outcome::done) + count_of(done.progress, action_outcome::unknown),
              jobs_of_action);
    EXPECT_LE(count_of(done.progress, action_outcome::unknown), action_turn::most_of_run_turn);
  });
  EXPECT_EQ(jobs_in(store), 3u) << "those that came later";
}

}  // namespace foliot::program
