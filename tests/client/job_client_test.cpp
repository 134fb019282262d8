// The client before the real server: what it asks for is what happens, whatever becomes of its connections.
#include <foliot/client/job_client.hpp>

#include <array>
#include <chrono>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/runtime/context.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "client_kit.hpp"

namespace foliot::client {
namespace {

using namespace std::chrono_literals;
using kind = client_error::kind;
using put_kind = jobs::put_answer::kind;
using change_kind = jobs::change_answer::kind;
using holder_kind = jobs::holder_answer::kind;

jobs::put mail(std::string body, std::string key = {}) {
  jobs::put made;
  made.tube = "mail";
  made.body = std::move(body);
  made.key = std::move(key);
  return made;
}

reserve next_mail(jobs::milliseconds wait = 0ms) { return {{"mail"}, wait}; }

TEST(JobClient, PutsReservesAndEndsJobs) {
  with_server([](server_world& in) -> task<> {
    job_client jobs(in.options());
    auto asking_put = jobs.ask(mail("hello\r\ndelete 1"));
    const auto put = co_await asking_put;
    EXPECT_EQ(put.value().what, put_kind::inserted);
    auto asking_got = jobs.ask(next_mail());
    const auto got = co_await asking_got;
    EXPECT_EQ(got.value().job.value().body, "hello\r\ndelete 1");
    const jobs::reservation token = got->job->token;
    EXPECT_EQ(token.id, put->id);
    EXPECT_TRUE(jobs.holds(token));
    auto asking_touched = jobs.ask(jobs::touch{token});
    const auto touched = co_await asking_touched;
    EXPECT_EQ(touched.value().what, holder_kind::done);
    auto asking_released = jobs.ask(jobs::release{token, 7, 1500ms});
    const auto released = co_await asking_released;
    EXPECT_EQ(released.value().what, holder_kind::done);
    auto asking_none = jobs.ask(next_mail(1s));
    const auto none = co_await asking_none;
    EXPECT_EQ(none.value().what, reserve_answer::kind::timed_out) << "a delay is rounded up to 2 s";
    auto asking_again = jobs.ask(next_mail(5s));
    const auto again = co_await asking_again;
    EXPECT_EQ(again.value().job.value().token.id, put->id);
    EXPECT_NE(again->job->token, token) << "no token is given twice";
    auto asking_buried = jobs.ask(jobs::bury{again->job->token, 9});
    const auto buried = co_await asking_buried;
    EXPECT_EQ(buried.value().what, holder_kind::done);
    auto asking_late = jobs.ask(jobs::finish{again->job->token});
    const auto late = co_await asking_late;
    EXPECT_EQ(late.value().what, holder_kind::not_held) << "the command of the protocol would end it: no worker has it";
    EXPECT_EQ(in.count().buried, 1u);
    EXPECT_EQ(jobs.connections(), 1u);
  });
}

TEST(JobClient, ChangesJobsByKeyAndById) {
  with_server([](server_world& in) -> task<> {
    job_client jobs(in.options());
    jobs::put order = mail("call", "order-17");
    order.due = 90min;
    auto asking_put = jobs.ask(order);
    const auto put = co_await asking_put;
    EXPECT_EQ(put.value().what, put_kind::inserted);
    auto asking_kept = jobs.ask(order);
    const auto kept = co_await asking_kept;
    EXPECT_EQ(kept.value().what, put_kind::kept);
    EXPECT_EQ(kept->id, put->id);
    order.existing = jobs::on_existing::refuse;
    auto asking_exists = jobs.ask(order);
    const auto exists = co_await asking_exists;
    EXPECT_EQ(exists.value().what, put_kind::exists);
    order.existing = jobs::on_existing::replace;
    auto asking_replaced = jobs.ask(order);
    const auto replaced = co_await asking_replaced;
    EXPECT_EQ(replaced.value().what, put_kind::replaced);
    const jobs::job_key key{"mail", "order-17"};
    auto asking_moved = jobs.ask(jobs::reschedule{key, 45min});
    const auto moved = co_await asking_moved;
    EXPECT_EQ(moved.value().what, change_kind::done);
    EXPECT_EQ(moved->id, replaced->id);
    auto asking_seen = jobs.ask(jobs::peek{key, false});
    const auto seen = co_await asking_seen;
    EXPECT_EQ(seen.value().job.value().key, "order-17");
    EXPECT_EQ(seen->job->state, jobs::job_state::delayed);
    auto asking_whole = jobs.ask(jobs::peek{replaced->id});
    const auto whole = co_await asking_whole;
    EXPECT_EQ(whole.value().body, "call");
    auto asking_due = jobs.ask(jobs::list_due{});
    const auto due = co_await asking_due;
    EXPECT_EQ(due.value().jobs.size(), 1u);
    EXPECT_EQ(due->jobs.at(0).tube, "mail");
    EXPECT_EQ(static_cast<std::uint64_t>(due->jobs.at(0).due.time_since_epoch().count()), seen->job->due);
    auto asking_fired = jobs.ask(jobs::fire_now{replaced->id});
    const auto fired = co_await asking_fired;
    EXPECT_EQ(fired.value().what, change_kind::done);
    auto asking_taken = jobs.ask(next_mail());
    const auto taken = co_await asking_taken;
    auto asking_reserved = jobs.ask(jobs::cancel{key});
    const auto reserved = co_await asking_reserved;
    EXPECT_EQ(reserved.value().what, change_kind::reserved);
    auto asking_released = jobs.ask(jobs::release{taken.value().job.value().token, 0});
    const auto released = co_await asking_released;
    EXPECT_EQ(released.value().what, holder_kind::done);
    auto asking_cancelled = jobs.ask(jobs::cancel{key});
    const auto cancelled = co_await asking_cancelled;
    EXPECT_EQ(cancelled.value().what, change_kind::done);
    auto asking_gone = jobs.ask(jobs::cancel{replaced->id});
    const auto gone = co_await asking_gone;
    EXPECT_EQ(gone.value().what, change_kind::gone);
    auto asking_nothing = jobs.ask(jobs::peek{replaced->id});
    const auto nothing = co_await asking_nothing;
    EXPECT_FALSE(nothing.value().job);
  });
}

TEST(JobClient, LooksAndKicks) {
  with_server([](server_world& in) -> task<> {
    job_client jobs(in.options());
    jobs::put later = mail("x");
    later.due = 1h;
    for (int i = 0; i < 3; ++i) {
      auto putting = jobs.ask(later);
      static_cast<void>(co_await putting);
    }
    auto asking_counted = jobs.ask(jobs::count_tube{"mail"});
    const auto counted = co_await asking_counted;
    EXPECT_EQ(counted.value().counts.delayed, 3u);
    auto asking_kicked = jobs.ask(jobs::kick{"mail", 2});
    const auto kicked = co_await asking_kicked;
    EXPECT_EQ(kicked.value().changed, 2u);
    auto asking_all = jobs.ask(jobs::count_all{});
    const auto all = co_await asking_all;
    EXPECT_EQ(all.value().counts.ready, 2u);
    EXPECT_EQ(all->counts.delayed, 1u);
    auto asking_none = jobs.ask(jobs::count_tube{"none"});
    const auto none = co_await asking_none;
    EXPECT_EQ(none.value().counts.all(), 0u);
    auto asking_tubes = jobs.ask(jobs::list_tubes{});
    const auto tubes = co_await asking_tubes;
    EXPECT_EQ(tubes.value().tubes, (std::vector<std::string>{"default", "mail"}));
  });
}

TEST(JobClient, WatchesTheTubesOfEachReserve) {
  with_server([](server_world& in) -> task<> {
    job_client jobs(in.options());
    for (const std::string tube : {"a", "b", "c"}) {
      jobs::put one = mail(tube);
      one.tube = tube;
      auto putting = jobs.ask(one);
      static_cast<void>(co_await putting);
    }
    const auto body_of = [](const result_of<reserve>& got) { return got && got->job ? got->job->body : "none"; };
    auto asking_b = jobs.ask(reserve{{"b"}, 0ms});
    const auto b = co_await asking_b;
    EXPECT_EQ(body_of(b), "b");
    auto asking_a = jobs.ask(reserve{{"c", "a", "c"}, 0ms});
    const auto a = co_await asking_a;
    EXPECT_EQ(body_of(a), "a");
    auto asking_none = jobs.ask(reserve{{"b", "a"}, 0ms});
    const auto none = co_await asking_none;
    EXPECT_EQ(body_of(none), "none");
    std::vector<std::string> many;
    for (int i = 0; i < 250; ++i) many.push_back("t" + std::to_string(i));
    many.emplace_back("c");
    auto asking_c = jobs.ask(reserve{many, 0ms});
    const auto c = co_await asking_c;
    EXPECT_EQ(body_of(c), "c");
  });
}

TEST(JobClient, OperationsOfSeveralTasksComeInTurn) {
  with_server([](server_world& in) -> task<> {
    job_client jobs(in.options());
    std::vector<runtime::join_handle<result_of<jobs::put>>> puts;
    auto waiting = runtime::spawn(jobs.ask(next_mail(10s)), "waits");
    co_await runtime::sleep(1ms);
    for (int i = 0; i < 20; ++i) puts.push_back(runtime::spawn(jobs.ask(mail(std::to_string(i))), "puts"));
    const auto none = co_await waiting.join();
    EXPECT_EQ(none.value().what, reserve_answer::kind::timed_out) << "the puts are behind the reserve";
    std::set<jobs::job_id> ids;
    for (auto& each : puts) {
      const auto put = co_await each.join();
      ids.insert(put.value().id);
    }
    EXPECT_EQ(ids.size(), 20u);
    EXPECT_EQ(jobs.connections(), 1u);
  });
}

// ---------------------------------------------------------------- connections that end at each byte

/// What an operation came to, and what is there then.
template <class Operation>
struct trial {
  result_of<Operation> got;
  foliot::jobs::job_counts there;
  std::size_t repeated = 0;
};

enum class way : bool { sent, received };

/// A world whose client does `prepare` on its first connection, which ends so many bytes later, in the middle of the
/// operation. Returns what came of it; `true` behind that if the connection was not cut any more.
template <class Operation, class Prepare>
std::pair<trial<Operation>, bool> run_trial(Operation what, Prepare prepare, way which, std::size_t bytes) {
  std::optional<trial<Operation>> done;
  bool was_whole = false;
  with_server([&](server_world& in) -> task<> {
    cut& first = in.cuts.emplace_back();
    (which == way::sent ? first.sent : first.received) = bytes;
    job_client jobs(in.options());
    co_await prepare(in, jobs, what);
    auto asking = jobs.ask(what);
    auto got = co_await asking;
    co_await runtime::sleep(1s);  // the server has noticed the ends of connections
    was_whole = got.has_value() && jobs.connections() == 1;
    const bool is_repeated = got.is_repeated;
    done.emplace(std::move(got), in.count(), is_repeated);
  });
  return {std::move(done.value()), was_whole};
}

/// A trial for each place at which the first connection may end.
template <class Operation, class Prepare, class Check>
void at_each_byte(const Operation& what, Prepare prepare, Check check) {
  for (const way which : {way::sent, way::received}) {
    bool was_whole = false;
    for (std::size_t bytes = 0; !was_whole; ++bytes) {
      SCOPED_TRACE((which == way::sent ? "sent " : "received ") + std::to_string(bytes));
      ASSERT_LT(bytes, 2000u);
      const auto [done, whole] = run_trial(what, prepare, which, bytes);
      was_whole = whole;
      check(done);
      if (testing::Test::HasFailure()) return;
    }
  }
}

const auto nothing = [](server_world&, job_client&, const auto&) -> task<> { co_return; };

TEST(JobClientAtEachByte, APutWithoutAKeyIsNeverRepeated) {
  std::size_t there_in_doubt = 0;
  std::size_t not_there = 0;
  at_each_byte(mail("hello"), nothing, [&](const trial<jobs::put>& done) {
    EXPECT_EQ(done.repeated, 0u);
    if (done.got) {
      EXPECT_EQ(done.there.all(), 1u);
    } else {
      EXPECT_EQ(done.got.error().what, kind::connection_lost) << done.got.error().text;
      EXPECT_TRUE(done.got.error().is_in_doubt) << "what was not executed is sent again";
      EXPECT_LE(done.there.all(), 1u);
      ++(done.there.all() == 1 ? there_in_doubt : not_there);
    }
  });
  EXPECT_GT(there_in_doubt, 5u);
  EXPECT_EQ(not_there, 0u) << "this server executes what it has got";
}

TEST(JobClientAtEachByte, APutWithAKeyIsThereOnce) {
  std::size_t repeated = 0;
  at_each_byte(mail("hello", "k"), nothing, [&](const trial<jobs::put>& done) {
    ASSERT_TRUE(done.got) << done.got.error().text;
    EXPECT_TRUE(done.got->what == put_kind::inserted || done.repeated > 0);
    EXPECT_EQ(done.there.all(), 1u);
    repeated += done.repeated;
  });
  EXPECT_GT(repeated, 5u);
}

/// A put whose first answer is lost, while another client does `between`. Until the first put is there it is asked for.
template <class Between, class Check>
void with_a_lost_answer(jobs::put what, bool repeats, Between between, Check check) {
  with_server([&](server_world& in) -> task<> {
    in.cuts.resize(2);
    in.cuts[1].received = std::string_view("BAD_FORMAT\r\nUSING mail\r\n").size();
    job_client other(in.options());
    auto looking = other.ask(jobs::count_all{});
    static_cast<void>(co_await looking);
    client_options options = in.options();
    options.first_pause = 10s;
    options.longest_pause = 10s;
    options.repeats_keyed_puts = repeats;
    job_client jobs(options);
    auto putting = runtime::spawn(jobs.ask(what), "puts");
    co_await runtime::sleep(1s);
    EXPECT_EQ(in.count().ready, 1u) << "the first put";
    co_await between(other);
    const auto put = co_await putting.join();
    check(in, put);
  });
}

const auto ended_by_a_worker = [](job_client& worker) -> task<> {
  auto reserving = worker.ask(next_mail());
  const auto got = co_await reserving;
  auto finishing = worker.ask(jobs::finish{got.value().job.value().token});
  const auto done = co_await finishing;
  EXPECT_EQ(done.value().what, holder_kind::done);
};

TEST(JobClient, APutWithAKeyMayMakeASecondJobOnceAWorkerHasEndedTheFirst) {
  with_a_lost_answer(mail("x", "k"), true, ended_by_a_worker, [](server_world& in, const result_of<jobs::put>& put) {
    EXPECT_EQ(put.value().what, put_kind::inserted);
    EXPECT_TRUE(put.is_repeated) << "which tells that it may be the second one";
    EXPECT_EQ(in.count().ready, 1u);
  });
}

TEST(JobClient, APutWithAKeyIsNotRepeatedWhereTheCallerDoesNotWantThat) {
  with_a_lost_answer(mail("x", "k"), false, ended_by_a_worker, [](server_world& in, const result_of<jobs::put>& put) {
    EXPECT_EQ(put.error().what, kind::connection_lost);
    EXPECT_TRUE(put.error().is_in_doubt);
    EXPECT_FALSE(put.is_repeated);
    EXPECT_EQ(in.count().all(), 0u) << "it is not put a second time";
  });
}

TEST(JobClient, APutThatReplacesIsNotRepeated) {
  jobs::put replacing = mail("x", "k");
  replacing.existing = jobs::on_existing::replace;
  const auto put_by_another = [](job_client& other) -> task<> {
    jobs::put newer = mail("newer", "k");
    newer.existing = jobs::on_existing::replace;
    auto asking = other.ask(newer);
    const auto replaced = co_await asking;
    EXPECT_EQ(replaced.value().what, put_kind::replaced);
  };
  with_a_lost_answer(replacing, true, put_by_another, [](server_world& in, const result_of<jobs::put>& put) {
    EXPECT_EQ(put.error().what, kind::connection_lost);
    EXPECT_TRUE(put.error().is_in_doubt);
    const auto seen = foliot::jobs::execute_one(in.memory, foliot::jobs::peek{foliot::jobs::job_key{"mail", "k"}});
    EXPECT_EQ(seen.job.value().body, "newer");
  });
}

TEST(JobClientAtEachByte, AReserveGetsTheJobAndHoldsItOnce) {
  const auto put_before = [](server_world& in, job_client&, const auto&) -> task<> {
    foliot::jobs::execute_one(in.memory, mail("hello"));
    co_return;
  };
  at_each_byte(next_mail(10s), put_before, [](const trial<reserve>& done) {
    ASSERT_TRUE(done.got) << done.got.error().text;
    ASSERT_TRUE(done.got->job);
    EXPECT_EQ(done.got->job->body, "hello");
    EXPECT_EQ(done.there.reserved, 1u);
  });
}

/// The client holds job 1, and `what` has its token.
const auto reserve_before = [](server_world& in, job_client& jobs, auto& what) -> task<> {
  foliot::jobs::execute_one(in.memory, mail("hello"));
  auto asking_got = jobs.ask(next_mail());
  const auto got = co_await asking_got;
  what.token = got.value().job.value().token;
};

TEST(JobClientAtEachByte, AFinishTellsWhetherTheReservationIsLost) {
  std::set<std::pair<bool, bool>> seen;  // in doubt, and whether the job is there
  at_each_byte(jobs::finish{}, reserve_before, [&](const trial<jobs::finish>& done) {
    EXPECT_EQ(done.repeated, 0u);
    if (done.got) {
      EXPECT_EQ(done.got->what, holder_kind::done);
      EXPECT_EQ(done.there.all(), 0u);
      return;
    }
    EXPECT_EQ(done.got.error().what, done.got.error().is_in_doubt ? kind::connection_lost : kind::reservation_lost);
    EXPECT_TRUE(done.got.error().is_in_doubt || done.there.ready == 1) << "it has gone back";
    seen.emplace(done.got.error().is_in_doubt, done.there.all() == 1);
  });
  EXPECT_TRUE(seen.contains({true, false}));
  EXPECT_TRUE(seen.contains({false, true}));
}

TEST(JobClientAtEachByte, ACancelByIdIsRepeatedAndOneByKeyIsNot) {
  const auto put_before = [](server_world& in, job_client&, const auto&) -> task<> {
    foliot::jobs::execute_one(in.memory, mail("hello", "k"));
    co_return;
  };
  std::size_t repeated = 0;
  at_each_byte(jobs::cancel{jobs::job_id{1}}, put_before, [&](const trial<jobs::cancel>& done) {
    ASSERT_TRUE(done.got) << done.got.error().text;
    EXPECT_EQ(done.there.all(), 0u);
    EXPECT_TRUE(done.got->what == change_kind::done || done.repeated > 0);
    repeated += done.repeated;
  });
  EXPECT_GT(repeated, 5u);
  std::size_t in_doubt = 0;
  at_each_byte(jobs::cancel{jobs::job_key{"mail", "k"}}, put_before, [&](const trial<jobs::cancel>& done) {
    EXPECT_EQ(done.repeated, 0u);
    if (done.got) {
      EXPECT_EQ(done.got->what, change_kind::done);
    } else {
      EXPECT_TRUE(done.got.error().is_in_doubt);
      ++in_doubt;
    }
  });
  EXPECT_GT(in_doubt, 5u);
}

TEST(JobClientAtEachByte, ALookIsRepeated) {
  at_each_byte(
      jobs::peek{jobs::job_id{1}},
      [](server_world& in, job_client&, const auto&) -> task<> {
        foliot::jobs::execute_one(in.memory, mail("hello", "k"));
        co_return;
      },
      [](const trial<jobs::peek>& done) {
        ASSERT_TRUE(done.got) << done.got.error().text;
        EXPECT_EQ(done.got->body, "hello");
        EXPECT_EQ(done.got->job.value().key, "k");
      });
}

// ---------------------------------------------------------------- connections that do not come, and waits that end

TEST(JobClient, ConnectsAgainWithPausesThatGrow) {
  with_server([](server_world& in) -> task<> {
    in.refused = 6;
    client_options options = in.options();
    options.first_pause = 100ms;
    options.longest_pause = 400ms;
    job_client jobs(options);
    const instant begin = runtime::now();
    auto asking_put = jobs.ask(mail("x"));
    const auto put = co_await asking_put;
    EXPECT_TRUE(put) << "nothing was sent before";
    const duration waited = runtime::now() - begin;  // 100, 200 and four times 400 ms, and at least half of each
    EXPECT_GE(waited, duration(950ms));
    EXPECT_LE(waited, duration(1910ms));
  });
}

TEST(JobClient, GivesUpWhenItsPatienceEnds) {
  with_server([](server_world& in) -> task<> {
    in.refused = 1'000'000;
    job_client jobs(in.options());
    const instant begin = runtime::now();
    auto asking = jobs.ask(mail("x"), 5s);
    const auto put = co_await asking;
    EXPECT_EQ(put.error().what, kind::unreachable);
    EXPECT_FALSE(put.error().is_in_doubt);
    EXPECT_EQ(put.error().cause, std::errc::connection_refused);
    EXPECT_EQ(put.error().text, "cannot connect to the server: " + put.error().cause.message());
    EXPECT_LE(runtime::now() - begin, duration(5s));
  });
}

TEST(JobClient, AContextEndsAWaitAndTheConnectionWithIt) {
  with_server([](server_world& in) -> task<> {
    job_client jobs(in.options());
    auto putting = jobs.ask(mail("x"));
    static_cast<void>(co_await putting);
    auto asking_held = jobs.ask(next_mail());
    const auto held = co_await asking_held;
    EXPECT_TRUE(jobs.holds(held.value().job.value().token));
    const auto within = runtime::with_timeout(runtime::background(), 2s);
    auto waiting = runtime::run_in(within, jobs.ask(next_mail(60s)));
    const auto got = co_await waiting;
    EXPECT_EQ(got.error(), runtime::context_end::deadline_exceeded);
    EXPECT_FALSE(jobs.holds(held->job->token));
    auto asking_finished = jobs.ask(jobs::finish{held->job->token});
    const auto finished = co_await asking_finished;
    EXPECT_EQ(finished.error().what, kind::reservation_lost);
    EXPECT_FALSE(finished.error().is_in_doubt);
    auto asking_again = jobs.ask(next_mail(1s));
    const auto again = co_await asking_again;
    EXPECT_EQ(again.value().job.value().body, "x") << "it had gone back";
    auto asking_late = jobs.ask(jobs::finish{held->job->token});
    const auto late = co_await asking_late;
    EXPECT_EQ(late.error().what, kind::reservation_lost) << "of the first connection";
    EXPECT_EQ(in.count().reserved, 1u);
    EXPECT_EQ(jobs.connections(), 2u);
  });
}

TEST(JobClient, ATokenOfAnOlderReservationDoesNothingToANewerOne) {
  with_server([](server_world& in) -> task<> {
    job_client jobs(in.options());
    jobs::put brief = mail("x");
    brief.ttr = 1s;
    auto putting = jobs.ask(brief);
    static_cast<void>(co_await putting);
    auto asking_first = jobs.ask(next_mail());
    const auto first = co_await asking_first;
    const jobs::reservation older = first.value().job.value().token;
    co_await runtime::sleep(2s);  // the TTR has ended
    auto asking_second = jobs.ask(next_mail());
    const auto second = co_await asking_second;
    const jobs::reservation newer = second.value().job.value().token;
    EXPECT_EQ(older.id, newer.id);
    EXPECT_FALSE(jobs.holds(older));
    EXPECT_TRUE(jobs.holds(newer));
    const auto is_not_held = [](const auto& got) { return got && got->what == holder_kind::not_held; };
    auto asking_touched = jobs.ask(jobs::touch{older});
    const auto touched = co_await asking_touched;
    EXPECT_TRUE(is_not_held(touched));
    auto asking_released = jobs.ask(jobs::release{older, 1});
    const auto released = co_await asking_released;
    EXPECT_TRUE(is_not_held(released));
    auto asking_buried = jobs.ask(jobs::bury{older, 1});
    const auto buried = co_await asking_buried;
    EXPECT_TRUE(is_not_held(buried));
    auto asking_finished = jobs.ask(jobs::finish{older});
    const auto finished = co_await asking_finished;
    EXPECT_TRUE(is_not_held(finished));
    EXPECT_EQ(in.count().reserved, 1u) << "by the newer one";
    auto asking_done = jobs.ask(jobs::finish{newer});
    const auto done = co_await asking_done;
    EXPECT_EQ(done.value().what, holder_kind::done);
    EXPECT_FALSE(jobs.holds(newer)) << "it was ended";
  });
}

TEST(JobClient, AReserveWithLittlePatienceWaitsForTheSecondsOfTheServer) {
  with_server([](server_world& in) -> task<> {
    job_client jobs(in.options());
    auto putting = jobs.ask(mail("x"));
    static_cast<void>(co_await putting);
    auto asking_held = jobs.ask(next_mail());
    const auto held = co_await asking_held;
    auto asking_none = jobs.ask(next_mail(1001ms), 100ms);  // the server waits for 2 s
    const auto none = co_await asking_none;
    EXPECT_EQ(none.value().what, reserve_answer::kind::timed_out);
    EXPECT_TRUE(jobs.holds(held.value().job.value().token));
    EXPECT_EQ(jobs.connections(), 1u);
  });
}

TEST(JobClient, WaitsForItsTurnNoLongerThanItsPatience) {
  with_server([](server_world& in) -> task<> {
    job_client jobs(in.options());
    auto waiting = runtime::spawn(jobs.ask(next_mail(20s)), "waits");
    co_await runtime::sleep(1ms);
    const instant begin = runtime::now();
    auto asking = jobs.ask(mail("x"), 5s);
    const auto put = co_await asking;
    EXPECT_EQ(put.error().what, kind::unreachable);
    EXPECT_FALSE(put.error().is_in_doubt);
    EXPECT_EQ(runtime::now() - begin, duration(5s));
    const auto none = co_await waiting.join();
    EXPECT_EQ(none.value().what, reserve_answer::kind::timed_out);
    EXPECT_EQ(in.count().all(), 0u) << "it was not put";
    auto asking_again = jobs.ask(mail("x"), 5s);
    const auto again = co_await asking_again;
    EXPECT_TRUE(again) << "the turn is free";
  });
}

TEST(JobClient, AJobThatIsTooLargeForItEndsNoReservation) {
  with_server([](server_world& in) -> task<> {
    client_options options = in.options();
    options.limits.most_received = 1000;
    job_client jobs(options);
    for (const std::size_t size : {1000u, 1001u}) {
      auto putting = jobs.ask(mail(std::string(size, 'x')));
      static_cast<void>(co_await putting);
    }
    auto asking_held = jobs.ask(next_mail());
    const auto held = co_await asking_held;
    const jobs::reservation token = held.value().job.value().token;
    auto asking_large = jobs.ask(next_mail());
    const auto large = co_await asking_large;
    EXPECT_EQ(large.value().what, reserve_answer::kind::too_large);
    EXPECT_FALSE(large->job) << "nobody takes it for a job with an empty body";
    EXPECT_EQ(large->unread.value().size, 1001u);
    EXPECT_TRUE(jobs.holds(large->unread->token));
    auto asking_none = jobs.ask(next_mail());
    const auto none = co_await asking_none;
    EXPECT_EQ(none.value().what, reserve_answer::kind::timed_out) << "it does not come again at once";
    auto asking_seen = jobs.ask(jobs::peek{large->unread->token.id});
    const auto seen = co_await asking_seen;
    EXPECT_EQ(seen.error().what, kind::too_large);
    EXPECT_FALSE(seen.error().is_in_doubt);
    auto asking_buried = jobs.ask(jobs::bury{large->unread->token, 1});
    const auto buried = co_await asking_buried;
    EXPECT_EQ(buried.value().what, holder_kind::done);
    EXPECT_TRUE(jobs.holds(token));
    EXPECT_EQ(jobs.connections(), 1u);
  });
}

TEST(JobClient, AServerThatHasEndedWhileNothingWasAskedIsNoticedBefore) {
  with_server([](server_world& in) -> task<> {
    job_client jobs(in.options());
    auto putting = jobs.ask(mail("x"));
    static_cast<void>(co_await putting);
    auto asking_held = jobs.ask(next_mail());
    const auto held = co_await asking_held;
    in.sessions.front().request_stop();
    co_await runtime::sleep(1s);
    EXPECT_FALSE(jobs.holds(held.value().job.value().token));
    auto asking_put = jobs.ask(mail("y"));
    const auto put = co_await asking_put;
    EXPECT_TRUE(put) << put.error().text;
    in.sessions.erase(in.sessions.begin());  // cancelled
  });
}

TEST(JobClient, MustHaveAServer) { EXPECT_THROW(job_client{client_options()}, std::invalid_argument); }

TEST(JobClient, WhatTheServerDoesNotTakeIsNotSent) {
  with_server([](server_world& in) -> task<> {
    job_client jobs(in.options());
    const auto refused = [](const auto& got) { return !got && got.error().what == kind::bad_request; };
    for (const std::string tube : {"", "-a", "a b", "a\r\n", "\xc3\xa4"}) {
      jobs::put wrong = mail("x");
      wrong.tube = tube;
      auto asking_put = jobs.ask(wrong);
      const auto put = co_await asking_put;
      EXPECT_TRUE(refused(put)) << tube;
      auto asking_got = jobs.ask(reserve{{"mail", tube}, 0ms});
      const auto got = co_await asking_got;
      EXPECT_TRUE(refused(got)) << tube;
    }
    for (const std::string key : {"-", "a b", "k\r\n"}) {
      auto asking_put = jobs.ask(mail("x", key));
      const auto put = co_await asking_put;
      EXPECT_TRUE(refused(put)) << key;
      auto asking_cancelled = jobs.ask(jobs::cancel{jobs::job_key{"mail", key}});
      const auto cancelled = co_await asking_cancelled;
      EXPECT_TRUE(refused(cancelled)) << key;
    }
    auto asking_large = jobs.ask(mail(std::string(65'536, 'x')));
    const auto large = co_await asking_large;
    EXPECT_TRUE(refused(large));
    EXPECT_EQ(large.error().text, "body must have at most 65535 bytes, got 65536");
    auto asking_strange = jobs.ask(jobs::finish{jobs::reservation{.id = 1}});
    const auto strange = co_await asking_strange;
    EXPECT_TRUE(refused(strange));
    EXPECT_EQ(jobs.connections(), 0u);
    client_options options = in.options();
    options.limits.job.max_body = 100'000;
    job_client other(options);
    auto asking_too_large = other.ask(mail(std::string(65'536, 'x')));
    const auto too_large = co_await asking_too_large;
    EXPECT_EQ(too_large.error().what, kind::too_large);
    EXPECT_FALSE(too_large.error().is_in_doubt);
    auto asking_put = other.ask(mail("x"));
    const auto put = co_await asking_put;
    EXPECT_TRUE(put) << "the connection is as before";
    EXPECT_EQ(other.connections(), 1u);
  });
}

}  // namespace
}  // namespace foliot::client
