// Two brokers over one store that they share, in runtimes on virtual time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/virtual_time.hpp>

#include "broker_world.hpp"
#include "simulated_nodes.hpp"
#include "spy_store.hpp"
#include "support/virtual_time.hpp"

namespace foliot::test {

/// One store, and two nodes that share it.
struct two_nodes {
  explicit two_nodes(const virtual_clock& time, duration gathering = jobs::broker_limits{}.gathering)
      : wall(time),
        memory(jobs::store_clocks{&wall, &time}),
        here_store(memory, &here_nodes),
        there_store(memory, &there_nodes),
        here(here_store, {.gathering = gathering, .uncounted = "-own."}),
        there(there_store, {.gathering = gathering, .uncounted = "-own."}) {
    here_nodes.peer = &there_nodes;
    there_nodes.peer = &here_nodes;
  }

  /// From now on the store refuses the batches of `here` before they are executed, or in doubt after that.
  void refuse(jobs::store_unavailable::kind known = jobs::store_unavailable::kind::not_executed, bool executes = true) {
    if (known == jobs::store_unavailable::kind::in_doubt && executes) return here_store.lose_answers();
    here_store.refuse(known);
  }
  void accept() { here_store.accept(); }
  [[nodiscard]] std::size_t batches() const { return here_store.sizes.size(); }

  jobs::virtual_wall_clock wall;
  jobs::memory_store memory;
  simulated_nodes here_nodes;
  simulated_nodes there_nodes;
  spy_store here_store;
  spy_store there_store;
  jobs::broker here;
  jobs::broker there;
};

template <class Body>
runtime::task<> with_running_nodes(two_nodes& world, Body& body) {
  auto running_here = runtime::spawn(world.here.run(), "here");
  auto running_there = runtime::spawn(world.there.run(), "there");
  co_await runtime::wait_idle();
  co_await body(world);
  world.here.close();
  world.there.close();
  co_await running_here.join();
  co_await running_there.join();
}

/// Runs `body` with two nodes in several schedules of virtual time. `gathering` is that of broker_limits.
template <class Body>
void in_node_worlds(Body body, duration gathering = duration::zero()) {
  for (const std::size_t processors : {1U, 3U}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      SCOPED_TRACE("processors " + std::to_string(processors) + ", seed " + std::to_string(seed));
      virtual_clock clock;
      two_nodes world(clock, gathering);
      on_virtual_time(clock, with_running_nodes(world, body), {.processors = processors, .seed = seed});
      for (const check_result& each : {world.here.check(), world.there.check(), world.memory.check()}) {
        EXPECT_TRUE(each) << each.error();
      }
    }
  }
}

}  // namespace foliot::test
