// broker_limits::gathering: a batch over a shared store waits for the next operations of the clients that the last one
// has answered. Jobs that are ready do not wait for it.
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "jobs/kit/two_nodes.hpp"

namespace foliot::jobs {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr std::size_t clients = 20;
constexpr std::size_t rounds = 5;
constexpr duration gathering = 1ms;

/// Puts a job, and does so again a short time after each answer: each client after another time.
task<> put_again(two_nodes& world, std::size_t client) {
  for (std::size_t i = 0; i < rounds; ++i) {
    co_await put_job(world.here, mail("x"));
    co_await sleep(std::chrono::microseconds(30 * client));
  }
}

task<> put_each(two_nodes& world) {
  std::vector<runtime::join_handle<>> all;
  for (std::size_t i = 0; i < clients; ++i) all.push_back(spawn(put_again(world, i)));
  for (auto& each : all) co_await each.join();
}

TEST(BrokerGathering, ABatchWaitsForThoseThatTheOneBeforeHasAnswered) {
  in_node_worlds(
      [](two_nodes& world) -> task<> {
        co_await put_each(world);
        EXPECT_LE(world.batches(), 3 * rounds);
      },
      gathering);
}

TEST(BrokerGathering, WithoutItThereAreMoreBatches) {
  in_node_worlds([](two_nodes& world) -> task<> {
    co_await put_each(world);
    EXPECT_GE(world.batches(), 6 * rounds);
  });
}

TEST(BrokerGathering, WhatComesLaterDoesNotWait) {
  in_node_worlds(
      [](two_nodes& world) -> task<> {
        co_await put_each(world);
        co_await sleep(gathering);
        const instant begin = now();
        co_await put_job(world.here, mail("x"));
        EXPECT_EQ(now(), begin);
      },
      gathering);
}

task<> put_in_other_tube(two_nodes& world) {
  put what = mail("x");
  what.tube = "other";
  co_await put_job(world.here, std::move(what));
}

/// A batch for many is over: operations that come now wait for more.
task<> begin_to_gather(two_nodes& world) {
  std::vector<runtime::join_handle<>> all;
  for (std::size_t i = 0; i < clients; ++i) all.push_back(spawn(put_in_other_tube(world)));
  for (auto& each : all) co_await each.join();
}

TEST(BrokerGathering, WhatComesAtOnceWaitsForTheOthers) {
  in_node_worlds(
      [](two_nodes& world) -> task<> {
        co_await begin_to_gather(world);
        const instant begin = now();
        co_await put_job(world.here, mail("x"));
        EXPECT_GT(now(), begin);
        EXPECT_LE(now(), begin + 2 * gathering);
      },
      gathering);
}

TEST(BrokerGathering, ClientsOfJobsThatHaveBecomeReadyDoNotWait) {
  in_node_worlds(
      [](two_nodes& world) -> task<> {
        auto taking = spawn(take_one(world.here, "mail"));
        co_await wait_idle();
        co_await begin_to_gather(world);
        const instant begin = now();
        co_await put_job(world.there, mail("x"));
        const received came = co_await taking.join();
        EXPECT_EQ(came.when, begin);
      },
      gathering);
}

TEST(BrokerGathering, AJobThatComesDueDoesNotWait) {
  in_node_worlds(
      [](two_nodes& world) -> task<> {
        auto taking = spawn(take_one(world.here, "mail"));
        co_await put_job(world.here, mail("x", milliseconds(100)));
        const instant due = now() + duration(100ms);
        co_await sleep(100ms - gathering / 2);
        co_await begin_to_gather(world);
        auto waiting = spawn(put_in_other_tube(world));
        const received came = co_await taking.join();
        EXPECT_GE(came.when, due);
        EXPECT_LT(came.when, due + gathering / 2);
        co_await waiting.join();
      },
      gathering);
}

}  // namespace
}  // namespace foliot::jobs
