// Whose actions are whose, and that they end with the rights. On virtual time.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/calls.hpp>

#include "acting_client.hpp"
#include "jobs/kit/broker_world.hpp"
#include "server/access/access_token.hpp"
#include "server/actions/action_runner.hpp"
#include "server/actions/action_turn.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;

using words = std::vector<std::string>;

std::shared_ptr<const rights> given(std::string id, std::initializer_list<scope> scopes, words prefixes) {
  scope_set all;
  for (const scope each : scopes) all.add(each);
  sha256_digest proof{};
  proof[0] = static_cast<unsigned char>(id.front());
  return std::make_shared<const rights>(std::move(id), "a test", all, std::move(prefixes), instant::never(), proof);
}
std::vector<access_entry> entries_of(std::initializer_list<std::shared_ptr<const rights>> all) {
  std::vector<access_entry> made;
  for (const auto& each : all) {
    access_entry one;
    one.given = each;
    made.push_back(std::move(one));
  }
  return made;
}

void put_into(jobs::job_store& store, const char* tube, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    jobs::put what;
    what.tube = tube;
    jobs::execute_one(store, std::move(what));
  }
}
std::uint64_t left_in(jobs::job_store& store, const char* tube) {
  return jobs::execute_one(store, jobs::count_tube{tube}).counts.all();
}

const std::shared_ptr<const rights> owner = given("aaaaaaaa", {scope::change}, {"mail"});
const std::shared_ptr<const rights> other = given("bbbbbbbb", {scope::change}, {""});
const std::shared_ptr<const rights> operator_of_mail = given("cccccccc", {scope::change, scope::administer}, {"mail"});
const std::shared_ptr<const rights> operator_elsewhere =
    given("dddddddd", {scope::change, scope::administer}, {"bill"});

/// The id of an action that cancels the jobs of the tube of `plan_of()`, when it has counted them.
task<jobs::job_id> makes_counted(acting_client& mine) {
  auto making = mine.records.make(plan_of(action_kind::cancel));
  const action_records::answer made = co_await making;
  const jobs::job_id id = made.seen->id;
  auto counting = leaves(mine, id, action_state::counting);
  static_cast<void>(co_await counting);
  co_return id;
}

/// Runs `body` in a server with these access tokens.
void with_authority(const std::function<task<>(foliot::test::broker_world&, authority&)>& body, words* told = nullptr) {
  virtual_clock clock;
  foliot::test::broker_world world(clock, {}, foliot::test::shared::yes);
  const auto listen = [told](std::string_view what) {
    if (told != nullptr) told->emplace_back(what);
  };
  authority who(entries_of({owner, other, operator_of_mail, operator_elsewhere}), clock, listen);
  auto live = [&](foliot::test::broker_world& in) -> task<> {
    action_runner runner(in.jobs, &who, 65'535);
    auto acting = runtime::spawn(runner.keep_on(), "actions");
    co_await body(in, who);
    runner.end();
    co_await acting.join();
  };
  foliot::test::on_virtual_time(clock, foliot::test::with_running_broker(world, live));
}

TEST(ActionRights, AnActionIsThereForItsOwnerAndForThoseThatAdministerItsTubes) {
  with_authority([](foliot::test::broker_world& in, authority& who) -> task<> {
    put_into(in.memory, "mail", 1);
    acting_client mine(in.jobs, &who, owner);
    auto making = makes_counted(mine);
    const jobs::job_id id = co_await making;
    for (const auto& [by, sees] : std::vector<std::pair<std::shared_ptr<const rights>, bool>>{
             {owner, true},
             {other, false},
             {operator_of_mail, true},
             {operator_elsewhere, false},
             {given("aaaaaaaa", {scope::look}, {"mail"}), false},
             {given("aaaaaaaa", {scope::change}, {"mailbox"}), false}}) {
      acting_client client(in.jobs, nullptr, by);
      SCOPED_TRACE(by->id());
      const auto wanted = sees ? action_records::result::done : action_records::result::none;
      auto finding = client.records.find(id);
      const action_records::answer found = co_await finding;
      EXPECT_EQ(found.what, wanted);
      EXPECT_EQ(found.seen.has_value(), sees);
      auto listing = client.records.list();
      const std::vector<action> listed = co_await listing;
      EXPECT_EQ(listed.size(), sees ? 1u : 0u);
      if (sees) continue;
      auto starting = client.records.start(id, 1);
      const action_records::answer started = co_await starting;
      EXPECT_EQ(started.what, wanted);
      auto stopping = client.records.stop(id);
      const action_records::answer stopped = co_await stopping;
      EXPECT_EQ(stopped.what, wanted);
      auto forgetting = client.records.forget(id);
      const action_records::answer forgotten = co_await forgetting;
      EXPECT_EQ(forgotten.what, wanted);
    }
    EXPECT_EQ(left_in(in.memory, "mail"), 1u);
  });
}

/// What becomes of a running action when the entries of the file are these, from the second piece on.
action ended_by(std::vector<access_entry> entries, std::uint64_t& left) {
  action seen;
  with_authority([&](foliot::test::broker_world& in, authority& who) -> task<> {
    constexpr std::size_t all = 1000;
    put_into(in.memory, "mail", all);
    acting_client mine(in.jobs, &who, owner);
    std::size_t pieces = 0;
    instant begin;
    in.store.before = [&](std::span<jobs::operation> batch) {
      const bool is_piece = std::ranges::any_of(batch, [](const jobs::operation& each) {
        const auto* const one = std::get_if<jobs::cancel>(&each);
        return one != nullptr && one->expected != 0;
      });
      if (!is_piece || ++pieces != 2) return;
      begin = runtime::now();
      static_cast<void>(who.replace(entries));
    };
    auto going = set_going(mine, plan_of(action_kind::cancel));
    const jobs::job_id id = co_await going;
    acting_client watcher(in.jobs, nullptr, operator_of_mail);
    auto leaving = leaves(watcher, id, action_state::running);
    seen = co_await leaving;
    EXPECT_GE(pieces, 2u);
    EXPECT_LE(runtime::now() - begin, duration(1s));
    left = left_in(in.memory, "mail");
    co_await runtime::sleep(1h);
    EXPECT_EQ(left_in(in.memory, "mail"), left) << "nothing is changed any more";
    in.store.before = nullptr;
  });
  return seen;
}

TEST(ActionRights, ARevokedTokenEndsItsActions) {
  const std::vector<std::vector<access_entry>> lists = {
      {},
      entries_of({other, operator_of_mail}),
      entries_of({given("aaaaaaaa", {scope::look, scope::put}, {"mail"})}),
      entries_of({given("aaaaaaaa", {scope::change}, {"mailbox", "bill"})}),
  };
  for (const std::vector<access_entry>& each : lists) {
    std::uint64_t left = 0;
    const action stopped = ended_by(each, left);
    EXPECT_EQ(stopped.progress.state, action_state::stopped);
    EXPECT_TRUE(stopped.progress.reason.starts_with("the rights of its access token have ended"));
    EXPECT_GT(left, 0u);
    EXPECT_EQ(stopped.progress.outcomes[0], 1000 - left) << "each that was done is told of";
  }
}

/// The answer to changes is lost, and the rights end before they can be tried again.
TEST(ActionRights, WhatIsInDoubtWhenTheyEndIsUnknown) {
  with_authority([&](foliot::test::broker_world& in, authority& who) -> task<> {
    constexpr std::size_t all = 1000;
    put_into(in.memory, "mail", all);
    acting_client mine(in.jobs, &who, owner);
    std::size_t pieces = 0;
    in.store.before = [&](std::span<jobs::operation> batch) {
      const bool is_piece = std::ranges::any_of(batch, [](const jobs::operation& each) {
        const auto* const one = std::get_if<jobs::cancel>(&each);
        return one != nullptr && one->expected != 0;
      });
      if (!is_piece || ++pieces != 2) return;
      static_cast<void>(who.replace({}));
      throw jobs::store_unavailable(jobs::store_unavailable::kind::in_doubt, "the line is cut");
    };
    auto going = set_going(mine, plan_of(action_kind::cancel));
    const jobs::job_id id = co_await going;
    acting_client watcher(in.jobs, nullptr, operator_of_mail);
    auto leaving = leaves(watcher, id, action_state::running);
    const action seen = co_await leaving;
    constexpr std::uint64_t piece = action_turn::most_of_run_turn;
    EXPECT_EQ(seen.progress.state, action_state::stopped);
    EXPECT_EQ(seen.progress.outcomes[static_cast<std::size_t>(action_outcome::done)], piece);
    EXPECT_EQ(seen.progress.outcomes[static_cast<std::size_t>(action_outcome::unknown)], piece);
    EXPECT_EQ(seen.progress.matched, 2 * piece);
    EXPECT_EQ(left_in(in.memory, "mail"), all - piece);
    in.store.before = nullptr;
  });
}

TEST(ActionRights, OthersChangeNothing) {
  std::uint64_t left = 1;
  const action done = ended_by(entries_of({owner, operator_elsewhere}), left);
  EXPECT_EQ(done.progress.state, action_state::done);
  EXPECT_EQ(left, 0u);
}

/// Another token that has got the same id is another token.
TEST(ActionRights, ANewTokenWithTheSameIdIsAnotherOne) {
  auto entries = entries_of({owner});
  sha256_digest proof{};
  proof[5] = 1;
  entries[0].given = std::make_shared<const rights>(owner->id(), "a test", owner->scopes(), owner->prefixes(),
                                                    instant::never(), proof);
  std::uint64_t left = 0;
  const action stopped = ended_by(std::move(entries), left);
  EXPECT_EQ(stopped.progress.state, action_state::stopped);
}

/// After a restart with other rights: the file has no such token, or there is none.
TEST(ActionRights, AfterARestartItRunsOnOnlyWithItsRights) {
  for (const bool has_file : {true, false}) {
    virtual_clock clock;
    foliot::test::broker_world world(clock);
    put_into(world.memory, "mail", 1);
    auto live = [&](foliot::test::broker_world& in) -> task<> {
      authority nobody({}, clock);
      jobs::job_id id = 0;
      {
        acting_client mine(in.jobs, nullptr, owner);
        auto making = mine.records.make(plan_of(action_kind::cancel));
        const action_records::answer made = co_await making;
        id = made.seen->id;
      }
      action_runner runner(in.jobs, has_file ? &nobody : nullptr, 65'535);
      auto acting = runtime::spawn(runner.keep_on(), "actions");
      acting_client watcher(in.jobs, nullptr, operator_of_mail);
      auto leaving = leaves(watcher, id, action_state::counting);
      const action seen = co_await leaving;
      EXPECT_EQ(seen.progress.state, action_state::stopped) << has_file;
      runner.end();
      co_await acting.join();
    };
    foliot::test::on_virtual_time(clock, foliot::test::with_running_broker(world, live));
  }
}

/// One line for the whole, with the id of the token that starts it, and none for each job.
TEST(ActionRights, TheStartIsTold) {
  words told;
  with_authority(
      [](foliot::test::broker_world& in, authority& who) -> task<> {
        put_into(in.memory, "mail", 3);
        acting_client mine(in.jobs, &who, operator_of_mail);
        auto going = set_going(mine, plan_of(action_kind::cancel));
        const jobs::job_id id = co_await going;
        auto leaving = leaves(mine, id, action_state::running);
        const action done = co_await leaving;
        EXPECT_EQ(done.progress.outcomes[0], 3u);
      },
      &told);
  EXPECT_EQ(told, words{"cccccccc: action 4, cancel of 3 jobs of tube 'mail'"});
}

/// Also where the action is another's; and not of what has ended, where a stop changes nothing.
TEST(ActionRights, AStopAndTheEndOfARecordAreTold) {
  words told;
  with_authority(
      [](foliot::test::broker_world& in, authority& who) -> task<> {
        put_into(in.memory, "mail", 3);
        acting_client mine(in.jobs, &who, owner);
        auto making = makes_counted(mine);
        const jobs::job_id id = co_await making;
        acting_client by(in.jobs, &who, operator_of_mail);
        auto stopping = by.records.stop(id);
        const action_records::answer stopped = co_await stopping;
        EXPECT_EQ(stopped.seen->progress.state, action_state::stopped);
        auto again = by.records.stop(id);
        static_cast<void>(co_await again);
        auto forgetting = by.records.forget(id);
        const action_records::answer forgotten = co_await forgetting;
        EXPECT_EQ(forgotten.what, action_records::result::done);
      },
      &told);
  EXPECT_EQ(told, (words{"cccccccc: action 4, stop", "cccccccc: action 4, forget"}));
}

/// A prefix of which the rights include a part is that part.
TEST(ActionRights, AFilterIsWithinTheRights) {
  with_authority([](foliot::test::broker_world& in, authority& who) -> task<> {
    put_into(in.memory, "mail", 2);
    put_into(in.memory, "bill", 1);
    acting_client mine(in.jobs, &who, owner);
    action_plan plan = plan_of(action_kind::cancel);
    plan.filter.tube.clear();
    plan.filter.within = mine.client.allowed().prefixes_within("");
    auto going = set_going(mine, std::move(plan));
    const jobs::job_id id = co_await going;
    auto leaving = leaves(mine, id, action_state::running);
    const action done = co_await leaving;
    EXPECT_EQ(done.progress.outcomes[0], 2u);
    EXPECT_EQ(left_in(in.memory, "bill"), 1u);
  });
}

}  // namespace
}  // namespace foliot::program
