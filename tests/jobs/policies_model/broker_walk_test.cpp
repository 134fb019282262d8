// Clients that wait at a broker over a policy_store, on virtual time: none waits while there is a job that it may get.
// First one reason to wait at a time, with nothing else that could wake the client; then random clients.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/job_tries.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/jobs/policy_store.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "jobs/kit/spy_store.hpp"
#include "support/virtual_time.hpp"

namespace foliot::jobs::policies_model {
namespace {

using namespace std::chrono_literals;
using runtime::now;
using runtime::sleep;
using runtime::spawn;
using runtime::wait_idle;

struct policy_world {
  policy_world(const virtual_clock& time, const policy_table& policies)
      : wall(time), memory({&wall, &time}), store(memory, {&wall, &time}), spy(store), jobs(spy) {
    store.set_policies(std::make_shared<const policy_table>(policies));
  }
  virtual_wall_clock wall;
  memory_store memory;
  policy_store store;
  test::spy_store spy;  // for the canary
  broker jobs;
};

template <class Body>
task<> with_running_broker(policy_world& world, Body& body) {
  auto running = spawn(world.jobs.run(), "broker");
  co_await wait_idle();
  co_await body(world);
  world.jobs.close();
  co_await running.join();
}

template <class Body>
void in_policy_worlds(const tube_policy& policy, Body body) {
  for (const std::size_t processors : {1U, 2U}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      SCOPED_TRACE("processors " + std::to_string(processors) + ", seed " + std::to_string(seed));
      virtual_clock clock;
      policy_world world(clock, {{"mail", policy}});
      test::on_virtual_time(clock, with_running_broker(world, body), {.processors = processors, .seed = seed});
      const check_result right = world.store.check();
      EXPECT_TRUE(right) << right.error();
    }
  }
}

task<> put_mail(policy_world& world, std::string body, milliseconds ttr = 1h, std::string group = {}) {
  put what;
  what.tube = "mail";
  what.body = std::move(body);
  what.ttr = ttr;
  if (!group.empty()) {
    const bool has_room = what.fields.set(tag_of_group, group);
    EXPECT_TRUE(has_room);
  }
  const put_answer made = co_await world.jobs.execute(std::move(what));
  EXPECT_EQ(made.what, put_answer::kind::inserted);
}

struct served {
  std::string body;
  instant when = instant::never();
};

/// Waits for a job, and finishes it.
task<> serve_one(policy_world& world, served& it) {
  client worker(world.jobs);
  worker.watch("mail");
  const duration limit(10min);
  const reserve_answer got = co_await worker.reserve(limit);
  if (!got.job) co_return;
  it = {got.job->job.body, now()};
  const job_id id = got.job->token.id;
  const holder_answer done = co_await worker.finish(id);
  EXPECT_EQ(done.what, holder_answer::kind::done);
}

/// How the first of two jobs is ended.
enum class ending : std::uint8_t { finish, release, bury, death, timeout };

/// A client has the first job, for the limit; another one waits for the second. It gets that when the first one ends.
task<> wait_for_room(policy_world& world, ending how, std::string group) {
  const milliseconds ttr = how == ending::timeout ? milliseconds(100) : milliseconds(1h);
  co_await put_mail(world, "first", ttr, group);
  auto holder = std::make_unique<client>(world.jobs);
  holder->watch("mail");
  const reserve_answer got = co_await holder->reserve();
  EXPECT_TRUE(got.job.has_value());
  if (!got.job) co_return;
  const job_id id = got.job->token.id;
  co_await put_mail(world, "second", 1h, group);
  served second;
  auto waiting = spawn(serve_one(world, second), "second");
  const duration length(100ms);
  if (how != ending::timeout) co_await sleep(length);
  const instant begin = now();
  EXPECT_TRUE(second.when.is_never()) << "the limit is reached";
  const due_at later = milliseconds(1h);
  if (how == ending::finish) {
    const holder_answer done = co_await holder->finish(id);
    EXPECT_EQ(done.what, holder_answer::kind::done);
  } else if (how == ending::release) {
    const holder_answer done = co_await holder->release(id, std::nullopt, later);
    EXPECT_EQ(done.what, holder_answer::kind::done);
  } else if (how == ending::bury) {
    const holder_answer done = co_await holder->bury(id);
    EXPECT_EQ(done.what, holder_answer::kind::done);
  } else if (how == ending::death) {
    holder.reset();
  }
  co_await waiting.join();
  const duration late = second.when - begin;
  EXPECT_LE(late, duration(how == ending::timeout ? 101ms : 1ms)) << "of " << second.body;
  // Where the first one comes back, it may be either.
  if (how != ending::death && how != ending::timeout) {
    EXPECT_EQ(second.body, "second");
  }
}

TEST(PolicyBroker, WakesAClientWhenATubeIsFullNoMore) {
  for (const ending how : {ending::finish, ending::release, ending::bury, ending::death, ending::timeout}) {
    SCOPED_TRACE("ending " + std::to_string(static_cast<int>(how)));
    in_policy_worlds({.most_reserved = 1}, [how](policy_world& world) { return wait_for_room(world, how, ""); });
  }
}

TEST(PolicyBroker, WakesAClientWhenAGroupIsFullNoMore) {
  for (const ending how : {ending::finish, ending::release, ending::bury, ending::death, ending::timeout}) {
    SCOPED_TRACE("ending " + std::to_string(static_cast<int>(how)));
    in_policy_worlds({.most_reserved_of_group = 1}, [how](policy_world& world) -> task<> {
      if (how == ending::death || how == ending::timeout) co_return;  // either of the two may come first: see below
      co_await wait_for_room(world, how, "group");
    });
  }
}

/// Its canary: a store that does not say in which tubes a job may be had again.
task<> wait_without_news(policy_world& world) {
  co_await put_mail(world, "first");
  client holder(world.jobs);
  holder.watch("mail");
  const reserve_answer got = co_await holder.reserve();
  if (!got.job) co_return;
  co_await put_mail(world, "second");
  served second;
  auto waiting = spawn(serve_one(world, second), "second");
  const duration length(100ms);
  co_await sleep(length);
  world.spy.after = [](execution& done) { done.ready_tubes.clear(); };
  const job_id id = got.job->token.id;
  const holder_answer done = co_await holder.finish(id);
  EXPECT_EQ(done.what, holder_answer::kind::done);
  co_await waiting.join();
  EXPECT_TRUE(second.when.is_never()) << "it has the job without the news";
}

TEST(PolicyBroker, WakesNobodyWithoutTheNews) {
  in_policy_worlds({.most_reserved = 1}, [](policy_world& world) { return wait_without_news(world); });
}

task<> wait_for_either(policy_world& world, bool by_death) {
  co_await put_mail(world, "first", by_death ? milliseconds(1h) : milliseconds(100), "group");
  auto holder = std::make_unique<client>(world.jobs);
  holder->watch("mail");
  const reserve_answer got = co_await holder->reserve();
  EXPECT_TRUE(got.job.has_value());
  co_await put_mail(world, "second", 1h, "group");
  const instant begin = now();
  served one;
  served other;
  auto waiting = spawn(serve_one(world, one), "one");
  auto waiting_too = spawn(serve_one(world, other), "other");
  const duration length(50ms);
  co_await sleep(length);
  EXPECT_TRUE(one.when.is_never() && other.when.is_never());
  if (by_death) holder.reset();
  co_await waiting.join();
  co_await waiting_too.join();
  EXPECT_LE(one.when - begin, duration(102ms)) << one.body;
  EXPECT_LE(other.when - begin, duration(102ms)) << other.body;
}

TEST(PolicyBroker, WakesClientsWhenAJobOfTheirGroupComesBack) {
  in_policy_worlds({.most_reserved_of_group = 1}, [](policy_world& world) { return wait_for_either(world, true); });
  in_policy_worlds({.most_reserved_of_group = 1}, [](policy_world& world) { return wait_for_either(world, false); });
}

task<> wait_for_the_rate(policy_world& world, std::size_t jobs, duration least, duration most) {
  for (std::size_t i = 0; i < jobs; ++i) co_await put_mail(world, "job " + std::to_string(i));
  const instant begin = now();
  for (std::size_t i = 0; i < jobs; ++i) {
    served one;
    co_await serve_one(world, one);
    EXPECT_EQ(one.body, "job " + std::to_string(i));
  }
  EXPECT_GE(now() - begin, least);
  EXPECT_LE(now() - begin, most);
}

TEST(PolicyBroker, WakesAClientAtTheNextOfTheRate) {
  // 21 jobs, of which 1 comes at once, and the others 10 a second.
  in_policy_worlds({.most_per_second = 10},
                   [](policy_world& world) { return wait_for_the_rate(world, 21, 2s, 2s + 50ms); });
  in_policy_worlds({.most_per_second = 10, .burst = 11},
                   [](policy_world& world) { return wait_for_the_rate(world, 21, 1s, 1s + 50ms); });
  in_policy_worlds({.most_per_second = 1000},
                   [](policy_world& world) { return wait_for_the_rate(world, 501, 500ms, 550ms); });
}

task<> wait_for_the_next_try(policy_world& world) {
  co_await put_mail(world, "mail");
  client worker(world.jobs);
  worker.watch("mail");
  const reserve_answer got = co_await worker.reserve();
  if (!got.job) co_return;
  const job_id id = got.job->token.id;
  served again;
  auto waiting = spawn(serve_one(world, again), "again");
  const duration length(100ms);
  co_await sleep(length);
  const instant begin = now();
  const holder_answer done = co_await worker.release(id);
  EXPECT_EQ(done.what, holder_answer::kind::done);
  co_await waiting.join();
  EXPECT_GE(again.when - begin, duration(5s));
  EXPECT_LE(again.when - begin, duration(5s + 2ms));
}

TEST(PolicyBroker, WakesAClientAtTheNextTry) {
  in_policy_worlds({.delay = {.first = 5s}}, [](policy_world& world) { return wait_for_the_next_try(world); });
}

/// Nobody asks for the first jobs until they have expired. The one behind them is for the client that comes then.
task<> look_behind_expired(policy_world& world) {
  for (int i = 0; i < 20; ++i) co_await put_mail(world, "old " + std::to_string(i));
  const duration most(50ms);
  co_await sleep(most);
  co_await put_mail(world, "fresh");
  served one;
  auto waiting = spawn(serve_one(world, one), "client");
  const duration length(5ms);
  co_await sleep(length);
  EXPECT_EQ(one.body, "fresh");
  waiting.request_stop();
  try {
    co_await waiting.join();
  } catch (const runtime::cancelled&) {
  }
}

TEST(PolicyBroker, LooksBehindExpiredJobs) {
  in_policy_worlds({.expires = 50ms}, [](policy_world& world) { return look_behind_expired(world); });
}

// Random clients.

constexpr std::array tubes{"mail", "video"};

struct ledger {
  std::map<std::string, instant> held;  // until when, by the bodies of their jobs
  std::set<std::string> ended;
  std::size_t put = 0;
  std::size_t reserved = 0;
};

class worker_life {
 public:
  worker_life(policy_world& world, ledger& known, std::uint64_t seed) : world_(world), known_(known), random_(seed) {}

  task<> live() {
    for (int i = 0; i < 6; ++i) {
      client mine(world_.jobs);
      mine.watch(tubes[below(2)]);
      if (below(2) == 0) mine.watch(tubes[below(2)]);
      for (std::uint64_t left = below(12); left != 0; --left) {
        if (below(2) == 0) co_await put_some();
        co_await work(mine);
      }
      forget(mine);
    }
  }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  task<> put_some() {
    put what;
    what.tube = tubes[below(2)];
    what.body = "job " + std::to_string(known_.put++);
    what.ttr = milliseconds(below(4) == 0 ? 1500 : 5 + static_cast<std::int64_t>(below(50)));
    what.due = milliseconds(below(2) == 0 ? 0 : static_cast<std::int64_t>(below(40)));
    if (below(2) == 0) {
      const bool has_room = what.fields.set(tag_of_group, below(2) == 0 ? "one" : "other");
      EXPECT_TRUE(has_room);
    }
    const put_answer made = co_await world_.jobs.execute(std::move(what));
    EXPECT_EQ(made.what, put_answer::kind::inserted);
  }

  task<> work(client& mine) {
    const duration limit(milliseconds(static_cast<std::int64_t>(below(100))));
    const reserve_answer got = co_await mine.reserve(limit);
    if (!got.job) co_return;
    ++known_.reserved;
    const std::string body = got.job->job.body;
    const job_id id = got.job->token.id;
    EXPECT_FALSE(known_.ended.contains(body)) << body << " is back";
    const auto other = known_.held.find(body);
    if (other != known_.held.end()) {
      EXPECT_LT(other->second, now()) << body << " is held by two";
    }
    known_.held[body] = got.job->job.expires;
    mine_[id] = body;
    const duration length(milliseconds(static_cast<std::int64_t>(below(30))));
    co_await sleep(length);
    co_await end(mine, id, body);
  }

  task<> end(client& mine, job_id id, const std::string& body) {
    const std::uint64_t how = below(6);
    if (how == 0) co_return;  // until the end of its TTR, or of this client
    if (!mine.held(id)) co_return;
    known_.held.erase(body);
    holder_answer done;
    if (how == 1) {
      done = co_await mine.bury(id);
    } else if (how == 2 || how == 3) {
      done = co_await mine.release(id);
    } else {
      done = co_await mine.finish(id);
      if (done.what == holder_answer::kind::done) known_.ended.insert(body);
    }
  }

  /// Before a client goes.
  void forget(const client& mine) {
    for (const auto& [id, body] : mine_) {
      if (mine.held(id)) known_.held.erase(body);
    }
    mine_.clear();
  }

  policy_world& world_;
  ledger& known_;
  std::mt19937_64 random_;
  std::map<job_id, std::string> mine_;
};

task<> one_life(policy_world& world, ledger& known, std::uint64_t seed) {
  worker_life mine(world, known, seed);
  co_await mine.live();
}

/// Looks at the broker when nothing can happen any more at an instant.
task<> watch_for_idleness(policy_world& world, const policy_table& policies, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (;;) {
    const duration length = duration::nanoseconds(static_cast<std::int64_t>(random() % 20'000'000));
    co_await sleep(length);
    co_await wait_idle();
    const check_result right = world.store.check();
    EXPECT_TRUE(right) << right.error();
    for (const char* tube : tubes) {
      const tube_policy& policy = policies.at(tube);
      count_tube what;
      what.tube = tube;
      const count_answer found = co_await world.jobs.execute(std::move(what));
      const bool is_full = policy.most_reserved != 0 && found.counts.reserved >= policy.most_reserved;
      const bool may_get = found.counts.ready != 0 && !is_full && policy.most_per_second == 0;
      EXPECT_FALSE(may_get && world.jobs.clients_of(tube).waiting != 0)
          << found.counts.ready << " jobs are ready in " << tube << ", and a client waits for them";
      EXPECT_TRUE(policy.most_reserved == 0 || found.counts.reserved <= policy.most_reserved) << tube;
    }
  }
}

task<> play(policy_world& world, const policy_table& policies, ledger& known, std::uint64_t seed) {
  auto running = spawn(world.jobs.run(), "broker");
  auto watching = spawn(watch_for_idleness(world, policies, seed), "watch");
  std::mt19937_64 random(seed);
  std::vector<runtime::join_handle<>> all;
  for (int i = 0; i < 5; ++i) all.push_back(spawn(one_life(world, known, random()), "life"));
  for (auto& each : all) co_await each.join();
  watching.request_stop();
  try {
    co_await watching.join();
  } catch (const runtime::cancelled&) {
  }
  // What is left is worked off, except what was set aside: nobody waits for ever.
  for (std::size_t empty = 0; empty < 3;) {
    client last(world.jobs);
    for (const char* tube : tubes) last.watch(tube);
    const duration limit(2min);
    const reserve_answer got = co_await last.reserve(limit);
    empty = got.job ? 0 : empty + 1;
    if (!got.job) continue;
    const job_id id = got.job->token.id;
    const holder_answer done = co_await last.finish(id);
    EXPECT_EQ(done.what, holder_answer::kind::done);
  }
  const count_answer left = co_await world.jobs.execute(count_all{});
  EXPECT_EQ(left.counts.reserved, 0U);
  for (const char* tube : tubes) {
    count_tube what;
    what.tube = tube;
    const count_answer found = co_await world.jobs.execute(std::move(what));
    EXPECT_EQ(found.counts.all(), found.counts.buried) << tube;
  }
  world.jobs.close();
  co_await running.join();
}

tube_policy some_policy(std::mt19937_64& random) {
  const auto one_of = [&random](std::initializer_list<std::uint32_t> all) {
    return all.begin()[random() % all.size()];
  };
  tube_policy made;
  made.tries = one_of({0, 2, 3, 5});
  if (random() % 2 == 0) made.delay = {.first = 7ms, .factor = 2, .most = 40ms};
  if (made.tries != 0 && random() % 2 == 0) made.dead_letters = "dead";
  if (random() % 3 == 0) made.expires = 60ms;
  made.most_reserved = one_of({0, 0, 1, 3});
  made.most_reserved_of_group = one_of({0, 1, 1, 2});
  if (random() % 4 == 0) made.most_per_second = one_of({5, 50});
  return made;
}

TEST(PolicyBroker, KeepsNobodyWaitingAtRandom) {
  std::size_t reserved = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const policy_table policies{{"mail", some_policy(random)}, {"video", some_policy(random)}};
    virtual_clock clock;
    policy_world world(clock, policies);
    ledger known;
    test::on_virtual_time(clock, play(world, policies, known, seed),
                          {.processors = 1 + seed % 3, .seed = seed, .shuffles_ties = true});
    reserved += known.reserved;
    if (HasFailure()) break;
  }
  EXPECT_GT(reserved, 2000U);
}

}  // namespace
}  // namespace foliot::jobs::policies_model
