// A broker over a memory store, in runtimes on virtual time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/jobs/store_clocks.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "simulated_nodes.hpp"
#include "spy_store.hpp"
#include "support/virtual_time.hpp"

namespace foliot::test {

// For `using namespace test` in the tests of brokers.
using runtime::now;
using runtime::sleep;
using runtime::spawn;
using runtime::wait_idle;

/// Whether other nodes use a store as well.
enum class shared : bool { no, yes };

/// A store, and the broker over it.
struct broker_world {
  explicit broker_world(const virtual_clock& time, const jobs::broker_limits& limits = {},
                        shared with_nodes = shared::no)
      : wall(time),
        memory(jobs::store_clocks{&wall, &time}),
        store(memory, with_nodes == shared::yes ? &nodes : nullptr),
        jobs(store, limits) {}
  /// On the system's clocks.
  explicit broker_world(const jobs::broker_limits& limits = {}, shared with_nodes = shared::no)
      : wall(unused), store(memory, with_nodes == shared::yes ? &nodes : nullptr), jobs(store, limits) {}

  virtual_clock unused;
  jobs::virtual_wall_clock wall;
  jobs::memory_store memory;
  simulated_nodes nodes;
  spy_store store;
  jobs::broker jobs;
};

/// A put into the tube `mail`.
inline jobs::put mail(std::string body, jobs::milliseconds delay = {}, jobs::priority urgency = 0) {
  jobs::put made;
  made.tube = "mail";
  made.body = std::move(body);
  made.due = delay;
  made.priority = urgency;
  return made;
}

template <class Body>
runtime::task<> with_running_broker(broker_world& world, Body& body) {
  auto running = runtime::spawn(world.jobs.run(), "broker");
  co_await runtime::wait_idle();  // it has begun
  co_await body(world);
  world.jobs.close();
  co_await running.join();
}

/// Runs `body` with a broker whose run() runs, then closes the broker. For several schedules of virtual time. `body`
/// must have destroyed its clients when it ends.
template <class Body>
void in_broker_worlds(Body body, const jobs::broker_limits& limits = {}) {
  for (const std::size_t processors : {1U, 2U, 3U}) {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
      SCOPED_TRACE("processors " + std::to_string(processors) + ", seed " + std::to_string(seed));
      virtual_clock clock;
      broker_world world(clock, limits);
      on_virtual_time(clock, with_running_broker(world, body), {.processors = processors, .seed = seed});
      const check_result broker = world.jobs.check();
      EXPECT_TRUE(broker) << broker.error();
      const check_result store = world.memory.check();
      EXPECT_TRUE(store) << store.error();
    }
  }
}

/// Puts and returns the id.
inline runtime::task<jobs::job_id> put_job(jobs::broker& into, jobs::put what) {
  const jobs::put_answer done = co_await into.execute(std::move(what));
  co_return done.id;
}

/// A job that a client must get.
inline jobs::claimed_job got(const jobs::reserve_answer& reserved) {
  EXPECT_EQ(reserved.what, jobs::reserve_answer::kind::reserved);
  return reserved.job.value_or(jobs::claimed_job{});
}

/// Reserves one job and finishes it; reports its id and when it came.
struct received {
  jobs::job_id id = 0;
  instant when;
};
inline runtime::task<received> take_one(jobs::broker& from, std::string tube, std::string second = {}) {
  jobs::client worker(from);
  worker.watch(tube);
  if (!second.empty()) worker.watch(second);
  const jobs::reserve_answer reserved = co_await worker.reserve();
  received result;
  result.id = got(reserved).token.id;
  result.when = runtime::now();
  const jobs::holder_answer done = co_await worker.finish(result.id);
  EXPECT_EQ(done.what, jobs::holder_answer::kind::done);
  co_return result;
}

}  // namespace foliot::test
