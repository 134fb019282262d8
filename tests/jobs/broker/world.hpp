// A broker over a memory store, in runtimes on virtual time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/jobs/store_clocks.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/virtual_time.hpp>

namespace foliot::test {

/// Counts the batches that reach a store, keeps their sizes, and fails the n-th.
class spy_store final : public jobs::job_store {
 public:
  explicit spy_store(jobs::job_store& inner, jobs::other_nodes* nodes = nullptr) noexcept
      : inner_(inner), nodes_(nodes) {}

  jobs::execution execute(std::span<jobs::operation> batch) override {
    sizes.push_back(batch.size());
    if (before) before(batch);
    if (fails_from && sizes.size() > *fails_from) throw jobs::store_failure("the disk is gone");
    jobs::execution done = inner_.execute(batch);
    if (after) after(done);
    return done;
  }
  [[nodiscard]] jobs::next_change next() const noexcept override { return inner_.next(); }
  [[nodiscard]] check_result check() override { return inner_.check(); }
  [[nodiscard]] jobs::other_nodes* others() noexcept override { return nodes_; }

  std::vector<std::size_t> sizes;
  std::function<void(std::span<jobs::operation>)> before;
  std::function<void(jobs::execution&)> after;
  /// Every batch after this many fails.
  std::optional<std::size_t> fails_from;

 private:
  jobs::job_store& inner_;
  jobs::other_nodes* const nodes_;
};

/// A store, and the broker over it.
struct broker_world {
  explicit broker_world(const virtual_clock& time, const jobs::broker_limits& limits = {},
                        jobs::other_nodes* nodes = nullptr)
      : wall(time), memory(jobs::store_clocks{&wall, &time}), store(memory, nodes), jobs(store, limits) {}
  /// On the system's clocks.
  explicit broker_world(const jobs::broker_limits& limits = {}, jobs::other_nodes* nodes = nullptr)
      : wall(unused), store(memory, nodes), jobs(store, limits) {}

  virtual_clock unused;
  jobs::virtual_wall_clock wall;
  jobs::memory_store memory;
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
      runtime::run_options options;
      options.processors = processors;
      options.seed = seed;
      options.clock = &clock;
      runtime::run(with_running_broker(world, body), options);
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
