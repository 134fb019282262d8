// No client gets a job of a tube that has a target: not by the tubes that it watches, not by a claim, not by an id, and
// not by a wait that began before.
#include "server/access/delivered_tubes.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "jobs/kit/broker_world.hpp"
#include "server/access/authorized_client.hpp"

namespace foliot::program {
namespace {

using namespace std::chrono_literals;
using kind = jobs::reserve_answer::kind;
using refusal = std::optional<access_refused::reason>;

refusal refused_by(const std::function<void()>& what) {
  try {
    what();
  } catch (const access_refused& why) {
    return why.why();
  }
  return std::nullopt;
}

/// A client with all rights, which knows of the tubes with targets.
struct known_client {
  known_client(test::broker_world& on, const server_jobs& known)
      : holder(nullptr, rights::everything(), [] {}), client(on.jobs, holder, &known) {}

  const rights_holder holder;
  authorized_client client;
};

task<std::string> reserve_now(authorized_client& by) {
  auto reserving = by.reserve(duration::zero());
  const jobs::reserve_answer got = co_await reserving;
  co_return got.job ? got.job->job.tube : std::string();
}

jobs::put put_into(std::string tube) {
  jobs::put what;
  what.tube = std::move(tube);
  what.body = "x";
  return what;
}

TEST(DeliveredTubes, ALookThatAChangeHasOvertakenDoesNotCount) {
  delivered_tubes tubes;
  EXPECT_FALSE(tubes.any());
  const std::uint64_t before = tubes.version();
  tubes.add("mail");
  EXPECT_TRUE(tubes.has("mail"));
  EXPECT_FALSE(tubes.replace({}, before)) << "it does not know of the one that was added";
  EXPECT_TRUE(tubes.has("mail"));
  EXPECT_TRUE(tubes.replace({"bill"}, tubes.version()));
  EXPECT_FALSE(tubes.has("mail"));
  EXPECT_TRUE(tubes.has("bill"));
  const std::uint64_t same = tubes.version();
  EXPECT_TRUE(tubes.replace({"bill"}, same));
  EXPECT_EQ(tubes.version(), same) << "nothing has changed";
  EXPECT_TRUE(tubes.replace({}, same));
  EXPECT_FALSE(tubes.any());
}

TEST(DeliveredTubes, WatchedOnesAreHeldBackWhileTheyHaveATarget) {
  auto body = [](test::broker_world& on) -> task<> {
    server_jobs known;
    known_client of(on, known);
    authorized_client& client = of.client;
    EXPECT_EQ(client.watch("mail"), 1U);
    EXPECT_EQ(client.watch("bill"), 2U);
    for (const char* const tube : {"mail", "mail", "bill", "mail", "bill"}) {
      static_cast<void>(co_await test::put_job(on.jobs, put_into(tube)));
    }
    known.delivered().add("mail");
    EXPECT_EQ(client.watch("mail"), 2U) << "it is watched";
    std::string tube = co_await reserve_now(client);
    EXPECT_EQ(tube, "bill");
    EXPECT_EQ(client.watch("more"), 3U);
    tube = co_await reserve_now(client);
    EXPECT_EQ(tube, "bill");
    tube = co_await reserve_now(client);
    EXPECT_EQ(tube, "");
    EXPECT_EQ(client.ignore("more"), 2U);
    EXPECT_EQ(client.ignore("bill"), 1U);
    EXPECT_EQ(refused_by([&] { static_cast<void>(client.reserve(duration::zero())); }),
              access_refused::reason::delivered);
    EXPECT_TRUE(known.delivered().replace({}, known.delivered().version()));
    tube = co_await reserve_now(client);
    EXPECT_EQ(tube, "mail") << "it has no target any more";
    known.delivered().add("mail");
    EXPECT_EQ(refused_by([&] { static_cast<void>(client.reserve()); }), access_refused::reason::delivered);
    EXPECT_EQ(client.ignore("mail"), 0U);
    EXPECT_EQ(refused_by([&] { static_cast<void>(client.reserve()); }), access_refused::reason::no_tube);
  };
  test::in_broker_worlds(body);
}

TEST(DeliveredTubes, ClaimsAreRefusedAndIdsFindNothing) {
  auto body = [](test::broker_world& on) -> task<> {
    server_jobs known;
    known_client of(on, known);
    authorized_client& client = of.client;
    const jobs::job_id mail = co_await test::put_job(on.jobs, put_into("mail"));
    const jobs::job_id bill = co_await test::put_job(on.jobs, put_into("bill"));
    auto claiming = on.jobs.execute(jobs::claim_job{mail});
    const jobs::claim_answer held = co_await claiming;
    auto burying = on.jobs.execute(jobs::bury{held.jobs.at(0).token});
    static_cast<void>(co_await burying);
    known.delivered().add("mail");
    jobs::claim both;
    both.tubes = {"bill", "mail"};
    EXPECT_EQ(refused_by([&] { static_cast<void>(client.execute(both)); }), access_refused::reason::delivered);
    auto of_mail = client.execute(jobs::claim_job{mail});
    const jobs::claim_answer none = co_await of_mail;
    EXPECT_TRUE(none.jobs.empty());
    auto looking = on.jobs.execute(jobs::peek{mail, false});
    const jobs::peek_answer seen = co_await looking;
    EXPECT_EQ(seen.job.value().state, jobs::job_state::buried) << "it has not changed";
    auto of_bill = client.execute(jobs::claim_job{bill});
    const jobs::claim_answer one = co_await of_bill;
    EXPECT_EQ(one.jobs.size(), 1U);
  };
  test::in_broker_worlds(body);
}

/// As the protocols do it: what such a wait brings is given back, and nobody else has lost it.
TEST(DeliveredTubes, AWaitFromBeforeGivesBackWhatItBrings) {
  auto body = [](test::broker_world& on) -> task<> {
    server_jobs known;
    known_client of(on, known);
    authorized_client& client = of.client;
    client.watch("mail");
    auto waiting = [&client]() -> task<bool> {
      std::vector<jobs::claimed_job> got;
      auto reserving = client.reserve_into(got, duration(1min));
      co_await reserving;
      auto giving = client.give_back_delivered(got);
      const bool has_given = co_await giving;
      EXPECT_TRUE(got.empty());
      co_return has_given;
    };
    auto running = runtime::spawn(waiting(), "waits");
    co_await runtime::wait_idle();
    known.delivered().add("mail");
    const jobs::job_id id = co_await test::put_job(on.jobs, put_into("mail"));
    const bool has_given = co_await running.join();
    EXPECT_TRUE(has_given);
    jobs::client deliverer(on.jobs);
    deliverer.watch("mail");
    auto reserving = deliverer.reserve(duration::zero());
    const jobs::reserve_answer got = co_await reserving;
    EXPECT_EQ(test::got(got).token.id, id);
    EXPECT_EQ(client.reservations(), 0U);
  };
  test::in_broker_worlds(body);
}

}  // namespace
}  // namespace foliot::program
