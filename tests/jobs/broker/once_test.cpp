// Operations that happen once, through a broker: claims of waiting clients that have a `once`.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/event_buffer.hpp>
#include <foliot/runtime/cancelled.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "jobs/kit/broker_world.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

claim claim_once(unsigned key, std::uint32_t count = 1, unsigned request = 0) {
  sha256 digest{};
  digest[0] = static_cast<std::byte>(key);
  sha256 of_request{};
  of_request[0] = static_cast<std::byte>(request);
  claim made;
  made.count = count;
  made.once = once(digest, of_request, 1h);
  return made;
}

/// What a client gets that waits for 10 s.
task<claim_answer> wait_once(broker& from, claim what) {
  client worker(from);
  worker.watch("mail");
  auto reserving = worker.reserve(std::move(what), duration(10s));
  const claim_answer got = co_await reserving;
  for (const claimed_job& each : got.jobs) {
    EXPECT_TRUE(worker.held(each.token.id));
    EXPECT_TRUE(worker.part_with(each.token));
  }
  co_return got;
}

task<> put_two(broker& to) {
  put_all both;
  both.puts.push_back(mail("one"));
  both.puts.push_back(mail("two"));
  auto putting = to.execute(std::move(both));
  const put_all_answer done = co_await putting;
  EXPECT_EQ(done.what, put_all_answer::kind::done);
}

TEST(BrokerOnce, AWaitingClaimBringsAllJobsAndItsReplayTheSame) {
  in_broker_worlds([](broker_world& world) -> task<> {
    auto waiting = spawn(wait_once(world.jobs, claim_once(1, 3)), "worker");
    co_await sleep(1s);
    auto putting = put_two(world.jobs);
    co_await putting;
    const claim_answer first = co_await waiting.join();
    EXPECT_EQ(first.jobs.size(), 2U);
    EXPECT_FALSE(first.is_replayed);

    const job_id third = co_await put_job(world.jobs, mail("three"));
    auto again_waiting = wait_once(world.jobs, claim_once(1, 3));
    const claim_answer again = co_await again_waiting;
    EXPECT_TRUE(again.is_replayed);
    EXPECT_EQ(again.jobs, first.jobs);
    finish ended;
    for (const claimed_job& each : first.jobs) {
      ended.token = each.token;
      auto ending = world.jobs.execute(ended);
      const holder_answer done = co_await ending;
      EXPECT_EQ(done.what, holder_answer::kind::done);
    }
    auto last_waiting = wait_once(world.jobs, claim_once(1, 3));
    const claim_answer last = co_await last_waiting;
    EXPECT_TRUE(last.is_replayed);
    EXPECT_TRUE(last.jobs.empty());
    const received taken = co_await take_one(world.jobs, "mail");
    EXPECT_EQ(taken.id, third) << "a replay says nothing of the jobs that are ready";
  });
}

TEST(BrokerOnce, AClaimWithAOnceIsSharedWithNobody) {
  in_broker_worlds([](broker_world& world) -> task<> {
    std::vector<claim> claims;
    world.store.before = [&claims](std::span<operation> batch) {
      for (const operation& each : batch) {
        if (const auto* const what = std::get_if<claim>(&each)) claims.push_back(*what);
      }
    };
    auto one = spawn(take_one(world.jobs, "mail"), "one");
    auto two = spawn(wait_once(world.jobs, claim_once(1)), "two");
    auto three = spawn(wait_once(world.jobs, claim_once(2)), "three");
    auto four = spawn(take_one(world.jobs, "mail"), "four");
    auto five = spawn(take_one(world.jobs, "mail"), "five");
    co_await sleep(1s);
    claims.clear();
    put_all all;
    for (int i = 0; i < 5; ++i) all.puts.push_back(mail(std::to_string(i)));
    auto putting = world.jobs.execute(std::move(all));
    const put_all_answer done = co_await putting;
    EXPECT_EQ(done.puts.size(), 5U);
    static_cast<void>(co_await one.join());
    const claim_answer second = co_await two.join();
    const claim_answer third = co_await three.join();
    static_cast<void>(co_await four.join());
    static_cast<void>(co_await five.join());
    EXPECT_EQ(second.jobs.size(), 1U);
    EXPECT_EQ(third.jobs.size(), 1U);
    std::vector<sha256> keys;
    for (const claim& each : claims) {
      EXPECT_EQ(each.tubes, std::vector<std::string>{"mail"});
      if (each.once.empty()) continue;
      EXPECT_EQ(each.count, 1U);
      keys.push_back(each.once.key());
    }
    std::ranges::sort(keys);
    EXPECT_EQ(keys, (std::vector{claim_once(1).once.key(), claim_once(2).once.key()}));
    world.store.accept();
  });
}

TEST(BrokerOnce, AWaitEndsWithItsTimeoutOrAnotherRequest) {
  in_broker_worlds([](broker_world& world) -> task<> {
    const instant begin = now();
    auto first_waiting = wait_once(world.jobs, claim_once(1));
    const claim_answer none = co_await first_waiting;
    EXPECT_EQ(none, claim_answer{});
    EXPECT_EQ(now(), begin + duration(10s));
    const job_id id = co_await put_job(world.jobs, mail("x"));
    auto second_waiting = wait_once(world.jobs, claim_once(1));
    const claim_answer mine = co_await second_waiting;
    EXPECT_EQ(mine.jobs.size(), 1U) << "one that got no job is not remembered";
    EXPECT_EQ(mine.jobs.at(0).token.id, id);
    auto third_waiting = wait_once(world.jobs, claim_once(1, 1, 7));
    const claim_answer other = co_await third_waiting;
    EXPECT_EQ(other.what, claim_answer::kind::other_request);
    EXPECT_EQ(now(), begin + duration(10s));
    client worker(world.jobs);
    auto without_tubes = worker.reserve(claim_once(2));
    EXPECT_THROW(co_await without_tubes, std::logic_error) << "it watches no tube";
  });
}

TEST(BrokerOnce, WhatAStoppedTaskDoesNotTakeIsGivenBackAndItsReplayIsEmpty) {
  in_broker_worlds([](broker_world& world) -> task<> {
    auto waiting = spawn(wait_once(world.jobs, claim_once(1, 2)), "worker");
    co_await wait_idle();
    // The client goes after the store has made its reservations, before it has them.
    world.store.after = [&waiting](execution& done) {
      for (const answer& each : done.answers) {
        const auto* const claimed = std::get_if<claim_answer>(&each);
        if (claimed != nullptr && !claimed->jobs.empty()) waiting.request_stop();
      }
    };
    auto putting = put_two(world.jobs);
    co_await putting;
    bool is_stopped = false;
    try {
      static_cast<void>(co_await waiting.join());
    } catch (const runtime::cancelled&) {
      is_stopped = true;
    }
    EXPECT_TRUE(is_stopped);
    world.store.accept();
    co_await wait_idle();
    auto again_waiting = wait_once(world.jobs, claim_once(1, 2));
    const claim_answer again = co_await again_waiting;
    EXPECT_TRUE(again.is_replayed);
    EXPECT_TRUE(again.jobs.empty());
    auto other_waiting = wait_once(world.jobs, claim_once(2, 2));
    const claim_answer other = co_await other_waiting;
    EXPECT_EQ(other.jobs.size(), 2U);
  });
}

TEST(BrokerOnce, TheLastClientThatHasAskedHoldsTheJobs) {
  in_broker_worlds([](broker_world& world) -> task<> {
    const job_id id = co_await put_job(world.jobs, mail("x"));
    client first(world.jobs);
    first.watch("mail");
    auto first_waiting = first.reserve(claim_once(1), duration{});
    const claim_answer claimed = co_await first_waiting;
    EXPECT_EQ(claimed.jobs.size(), 1U);
    EXPECT_TRUE(first.held(id));
    client second(world.jobs);
    second.watch("mail");
    auto second_waiting = second.reserve(claim_once(1), duration{});
    const claim_answer again = co_await second_waiting;
    EXPECT_EQ(again.jobs, claimed.jobs);
    EXPECT_FALSE(first.held(id));
    EXPECT_EQ(first.reservations(), 0U);
    const holder_answer done = co_await second.finish(id);
    EXPECT_EQ(done.what, holder_answer::kind::done);
  });
}

broker_limits limits_of_large_jobs() {
  broker_limits limits;
  limits.job.max_body = std::size_t{3} << 20;  // so three claims of two jobs may bring more than 16 MiB
  return limits;
}

/// How many claims that happen once each batch has had, for batches that had one.
std::vector<std::size_t> claims_of_batches(const std::vector<std::vector<operation>>& batches) {
  std::vector<std::size_t> numbers;
  for (const std::vector<operation>& batch : batches) {
    const auto is_once = [](const operation& each) {
      const auto* const what = std::get_if<claim>(&each);
      return what != nullptr && !what->once.empty();
    };
    const auto number = std::ranges::count_if(batch, is_once);
    if (number > 0) numbers.push_back(static_cast<std::size_t>(number));
  }
  return numbers;
}

/// A replay brings all of its jobs again, whatever else the batch brings.
TEST(BrokerOnce, ClaimsThatMayBeReplaysAreDivided) {
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        for (int i = 0; i < 14; ++i) static_cast<void>(co_await put_job(world.jobs, mail("x")));
        std::vector<std::vector<operation>> batches;
        world.store.before = [&batches](std::span<operation> batch) {
          batches.emplace_back(batch.begin(), batch.end());
        };
        for (int round = 0; round < 2; ++round) {
          batches.clear();
          std::deque<in_flight<claim>> claims;
          for (unsigned i = 0; i < 7; ++i) {
            claim what = claim_once(i, 2);
            what.tubes = {"mail"};
            what.bytes = std::uint64_t{16} << 20;
            claims.emplace_back(world.jobs, std::move(what));
          }
          for (in_flight<claim>& each : claims) {
            const claim_answer got = co_await each;
            EXPECT_EQ(got.jobs.size(), 2U);
            EXPECT_EQ(got.is_replayed, round == 1);
          }
          EXPECT_EQ(claims_of_batches(batches), (std::vector<std::size_t>{3, 3, 1}));
        }
        world.store.before = nullptr;
      },
      limits_of_large_jobs());
}

TEST(BrokerOnce, WaitingClaimsThatMayBeReplaysAreDivided) {
  in_broker_worlds(
      [](broker_world& world) -> task<> {
        std::vector<runtime::join_handle<claim_answer>> waiting;
        for (unsigned i = 0; i < 7; ++i) waiting.push_back(spawn(wait_once(world.jobs, claim_once(i, 2)), "worker"));
        co_await sleep(1s);
        std::vector<std::vector<operation>> batches;
        world.store.before = [&batches](std::span<operation> batch) {
          batches.emplace_back(batch.begin(), batch.end());
        };
        put_all all;
        for (int i = 0; i < 14; ++i) all.puts.push_back(mail("x"));
        auto putting = world.jobs.execute(std::move(all));
        static_cast<void>(co_await putting);
        for (runtime::join_handle<claim_answer>& each : waiting) {
          const claim_answer got = co_await each.join();
          EXPECT_EQ(got.jobs.size(), 2U);
        }
        world.store.before = nullptr;
        EXPECT_EQ(claims_of_batches(batches), (std::vector<std::size_t>{3, 3, 1}));
      },
      limits_of_large_jobs());
}

TEST(BrokerOnce, AReplayIsNoEvent) {
  in_broker_worlds([](broker_world& world) -> task<> {
    event_reader reader(world.jobs.events(), [](std::string_view) { return true; });
    put one = mail("x");
    one.once = claim_once(9).once;
    put_all all;
    all.puts.push_back(mail("y"));
    all.once = claim_once(8).once;
    for (int i = 0; i < 3; ++i) {
      auto putting = world.jobs.execute(one);
      const put_answer put_one = co_await putting;
      EXPECT_EQ(put_one.is_replayed, i > 0);
      auto putting_all = world.jobs.execute(all);
      const put_all_answer all_put = co_await putting_all;
      EXPECT_EQ(all_put.is_replayed, i > 0);
      auto waiting = wait_once(world.jobs, claim_once(1, 2));
      const claim_answer claimed = co_await waiting;
      EXPECT_EQ(claimed.jobs.size(), 2U);
    }
    const event_reader::taken told = reader.take(100);
    std::size_t puts = 0;
    std::size_t reserved = 0;
    for (const event_record& each : told.events) {
      if (each.what == event_record::kind::put) ++puts;
      if (each.what == event_record::kind::reserved) ++reserved;
    }
    EXPECT_EQ(puts, 2U);
    EXPECT_EQ(reserved, 2U);
  });
}

}  // namespace
}  // namespace foliot::jobs
