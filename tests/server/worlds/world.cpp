#include "world.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/runtime/after.hpp>
#include <foliot/runtime/net/listener.hpp>
#include <foliot/runtime/run.hpp>
#include <foliot/runtime/select.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/with_timeout.hpp>

#include "checker.hpp"
#include "server/beanstalk/protocol.hpp"
#include "server/beanstalk/server_state.hpp"
#include "server/core/access.hpp"
#include "server/core/connections.hpp"
#include "server/core/listener.hpp"

namespace foliot::program::worlds {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t lives_of_a_server = 3;
/// No world has so many jobs: a store that lists more repeats some.
constexpr std::size_t most_listed = 100'000;

runtime::address fresh_name() {
  static int count = 0;
  const std::string name = fmt::format("unix:@foliot-worlds-{}-{}", ::getpid(), ++count);
  return runtime::address::parse(name).value();
}

/// Stands between the broker and the store: makes batches fail and take time.
class troubled_store final : public jobs::job_store {
 public:
  troubled_store(world& in, simulated_disk& disk, jobs::job_store& inner) : in_(in), disk_(disk), inner_(inner) {}

  jobs::execution execute(std::span<jobs::operation> batch) override {
    if (is_gone) throw jobs::store_failure("the machine has crashed");
    if (fails_after && (*fails_after)-- == 0) disk_.fail_call(1 + in_.below(2));
    if (in_.has_stalls) stall();
    try {
      return inner_.execute(batch);
    } catch (const jobs::store_failure&) {
      in_.is_over = true;  // each session ends when it learns it
      throw;
    }
  }
  [[nodiscard]] jobs::next_change next() const noexcept override { return inner_.next(); }
  [[nodiscard]] check_result check() override { return inner_.check(); }

  bool is_gone = false;
  std::optional<std::size_t> fails_after;

 private:
  /// Some batches take time, so that what clients asked for in time is executed too late.
  void stall() {
    const duration left = in_.next_end - in_.time.now();
    if (left > duration::zero() && left < jobs::milliseconds(5) && in_.one_in(2)) {
      in_.time.stall(left + duration::nanoseconds(1));
    } else if (in_.one_in(15)) {
      in_.time.stall(std::chrono::microseconds(in_.below(5000)));
    }
  }

  world& in_;
  simulated_disk& disk_;
  jobs::job_store& inner_;
};

/// Sets the wall clock now and then.
task<> set_the_clock(world& in) {
  for (;;) {
    co_await runtime::sleep(duration(jobs::milliseconds(1 + in.below(400))));
    const auto by = jobs::milliseconds(in.below(200)) - 100ms;
    in.time.set_wall(in.time.wall_now() + duration(by));
    in.seen.wall.step(in.time.now(), in.time.wall_now() - in.time.now());
  }
}

/// How a life of the server ends.
enum class ending : std::uint8_t { orderly, crash, failing_call };

/// The server, from one start to its end: as serve.cpp has it, without signals.
class server_life {
 public:
  server_life(world& in, simulated_disk& disk, jobs::job_store& store, ending how)
      : in_(in), how_(how), store_(in, disk, store), broker_(store_), state_(broker_, 65'535, 1000) {
    if (how == ending::failing_call) store_.fails_after = 1 + in.below(300);
  }

  task<> live() {
    gate_ = listener(runtime::listener::listen(in_.address).value());
    auto executing = runtime::spawn(broker_.run(), "the broker");
    auto listing = broker_.execute(jobs::list_tubes{});
    const jobs::tubes_answer known = co_await listing;
    for (const std::string& each : known.tubes) static_cast<void>(state_.tubes.obtain(each));
    auto accepting = runtime::spawn(all_.accept_all(gate_), "accepts connections");
    const std::size_t clients = 2 + in_.below(4);
    for (std::size_t i = 0; i < clients; ++i) static_cast<void>(runtime::spawn(client_life(in_), "a client"));
    if (in_.has_clock_steps) static_cast<void>(runtime::spawn(set_the_clock(in_), "sets the clock"));
    co_await until_the_end();
    in_.end_server();
    // After a crash nothing reaches the disk or a client any more; the tasks of the server still have to end.
    store_.is_gone = in_.has_crashed = how_ == ending::crash;
    gate_.close();
    co_await accepting.join();
    co_await all_.end(5s);
    broker_.close();
    try {
      co_await executing.join();
    } catch (const jobs::store_failure&) {
    }
  }

 private:
  task<> until_the_end() {
    const duration length = jobs::milliseconds(20 + in_.below(300));
    auto ends = co_await runtime::select(runtime::after(length), broker_.failed());
    if (ends.index() == 1) co_return;
    if (!in_.one_in(4)) co_return;
    state_.draining = true;
    auto later = co_await runtime::select(runtime::after(length / 4), broker_.failed());
    static_cast<void>(later);
  }

  world& in_;
  const ending how_;
  troubled_store store_;
  jobs::broker broker_;
  beanstalk::server_state state_;
  const server_log log_{true};
  listener gate_;
  beanstalk::protocol protocol_{state_};
  access access_{1000};
  connections all_{protocol_, access_, log_};
};

void look_at_the_end(world& in, jobs::job_store& store) {
  std::set<jobs::job_id> ids;
  for (const event& each : in.seen.events) {
    ids.insert(each.asked);
    ids.insert(each.job);
  }
  for (const jobs::job_id id : ids) {
    const jobs::peek_answer found = jobs::execute_one(store, jobs::peek{id});
    if (found.job) in.seen.left.emplace(id, *found.job);
  }
  for (const char* const prefix : {"", "mail", "ca"}) {
    std::vector<jobs::due_job>& all = in.seen.listed[prefix];
    jobs::list_due page{.prefix = prefix, .from = {}, .after = 0, .count = static_cast<std::uint32_t>(1 + in.below(4))};
    for (bool is_last = false; !is_last;) {
      const jobs::due_answer got = jobs::execute_one(store, page);
      all.insert(all.end(), got.jobs.begin(), got.jobs.end());
      is_last = got.jobs.size() < page.count || all.size() > most_listed;
      if (!got.jobs.empty()) page.from = got.jobs.back().due;
      if (!got.jobs.empty()) page.after = got.jobs.back().id;
    }
  }
}

void live_once(world& in, std::uint64_t seed, simulated_disk& disk, jobs::job_store& store, ending how) {
  runtime::run_options options;
  options.processors = 1 + in.below(3);
  options.seed = seed;
  options.clock = &in.time;
  options.shuffles_ties = true;
  in.is_over = in.has_crashed = false;
  in.address = fresh_name();
  server_life life(in, disk, store, how);
  runtime::run(life.live(), options);
}

}  // namespace

world::world(std::uint64_t seed) : random_(seed) {
  has_stalls = seen.has_stalls = one_in(3);
  has_clock_steps = one_in(3);
  has_pauses = one_in(4);
  time.set_wall(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1) + std::chrono::microseconds(below(1000)));
  seen.wall.step(time.now(), time.wall_now() - time.now());
}

void world::end_connection(std::size_t number) {
  const moment at = now();
  seen.connection_ends.emplace(number, at.order);
  for (event& each : seen.events) {
    if (each.connection == number && !each.end && !each.given_up) each.given_up = at;
  }
}

void world::end_server() {
  is_over = true;
  for (std::size_t number = 1; number <= connections; ++number) {
    if (!seen.connection_ends.contains(number)) end_connection(number);
  }
}

outcome play(std::uint64_t seed, simulated_disk& disk) {
  world in(seed);
  outcome left;
  const auto open = [&] {
    disk.fail_call(0);
    auto store = disk.open({&in.wall, &in.time});
    const check_result right = store->check();
    if (!right) left.breaches.push_back("store: " + right.error());
    return store;
  };
  for (std::size_t life = 0; life < lives_of_a_server; ++life) {
    std::unique_ptr<jobs::job_store> store = open();
    const auto how = static_cast<ending>(in.below(3));
    live_once(in, seed + life, disk, *store, how);
    if (how != ending::orderly) disk.crash();
    store.reset();
  }
  {
    std::unique_ptr<jobs::job_store> store = open();
    look_at_the_end(in, *store);
  }
  for (std::string& each : breaches(in.seen)) left.breaches.push_back(std::move(each));
  left.seen = std::move(in.seen);
  return left;
}

}  // namespace foliot::program::worlds
