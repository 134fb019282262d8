#include "world.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

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
#include "jobs/kit/simulated_nodes.hpp"
#include "server/beanstalk/protocol.hpp"
#include "server/beanstalk/server_state.hpp"
#include "server/core/access.hpp"
#include "server/core/byte_stream.hpp"
#include "server/core/connections.hpp"
#include "server/core/forwarding_stream.hpp"
#include "server/core/held_memory.hpp"
#include "server/core/listener.hpp"
#include "server/http/api.hpp"
#include "server/http/protocol.hpp"

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

/// Reads and writes in small pieces.
class narrow_stream final : public test::forwarding_stream {
 public:
  narrow_stream(world& in, std::unique_ptr<byte_stream> below) : forwarding_stream(std::move(below)), in_(in) {}

  task<runtime::or_error<std::size_t>> read_some(std::span<char> into) override {
    return forwarding_stream::read_some(into.first(some_of(into.size())));
  }
  task<runtime::or_error<std::size_t>> write_some(std::string_view from) override {
    return forwarding_stream::write_some(from.substr(0, some_of(from.size())));
  }

 private:
  std::size_t some_of(std::size_t all) { return std::min(all, 1 + in_.below(200)); }

  world& in_;
};

listener listen_in(world& in, const runtime::address& at) {
  runtime::listener socket = runtime::listener::listen(at).value();
  if (!in.is_narrow) return listener(std::move(socket));
  return listener(std::move(socket), [&in](runtime::stream accepted) -> task<std::unique_ptr<byte_stream>> {
    auto opening = listener::in_plain(std::move(accepted));
    std::unique_ptr<byte_stream> below = co_await opening;
    co_return std::make_unique<narrow_stream>(in, std::move(below));
  });
}

/// Stands between the broker and the store: makes batches fail and take time.
class troubled_store final : public jobs::job_store {
 public:
  /// `nodes`: the other nodes over the store, or null.
  troubled_store(world& in, simulated_disk& disk, jobs::job_store& inner, jobs::other_nodes* nodes)
      : in_(in), disk_(disk), inner_(inner), nodes_(nodes) {}

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
  [[nodiscard]] jobs::other_nodes* others() noexcept override { return nodes_; }

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
  jobs::other_nodes* const nodes_;
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

/// One node of the server: what serve has, without signals.
class node {
 public:
  node(world& in, simulated_disk& disk, jobs::job_store& store, service_maker make, bool is_shared)
      : store(in, disk, store, is_shared ? &news : nullptr),
        broker(this->store, limits()),
        state_(broker, largest_job, 1000),
        api_(broker, largest_job),
        service_(make ? make(api_) : nullptr) {}

  void listen(world& in) {
    const node_addresses at{fresh_name(), fresh_name()};
    beanstalk_.gate = listen_in(in, at.beanstalk);
    http_.gate = listen_in(in, at.http);
    in.addresses.push_back(at);
  }

  task<> run() {
    auto executing = broker.run();
    try {
      co_await executing;
    } catch (const jobs::store_failure&) {
    }
  }
  /// Begins to serve clients.
  task<> open() {
    auto listing = broker.execute(jobs::list_tubes{});
    const jobs::tubes_answer known = co_await listing;
    for (const std::string& each : known.tubes) static_cast<void>(state_.tubes.obtain(each));
    for (door* each : {&beanstalk_, &http_}) {
      each->accepting = runtime::spawn(each->all.accept_all(each->gate), "accepts connections");
    }
  }
  void drain() {
    state_.draining = true;
    api_.drain();
  }
  void close() {
    for (door* each : {&beanstalk_, &http_}) each->gate.close();
  }
  task<> end() {
    for (door* each : {&beanstalk_, &http_}) {
      co_await each->accepting.join();
      co_await each->all.end(5s);
    }
    service_.reset();  // a canary may still have clients of the broker
    broker.close();
  }

  foliot::test::simulated_nodes news;
  troubled_store store;
  jobs::broker broker;

 private:
  static constexpr std::size_t largest_job = 65'535;

  /// A listener and the connections that come there.
  struct door {
    door(protocol& with, access& who, const server_log& log) : all(with, who, log) {}

    listener gate;
    connections all;
    runtime::join_handle<> accepting;
  };

  static jobs::broker_limits limits() {
    jobs::broker_limits limits;
    limits.gathering = duration::zero();
    limits.commit_delay = std::chrono::milliseconds(5);  // as over a folder
    return limits;
  }

  beanstalk::server_state state_;
  http::api api_;
  std::unique_ptr<http::service> service_;
  held_memory memory_{std::size_t{1} << 30};
  const server_log log_{true};
  beanstalk::protocol speaks_beanstalk_{state_};
  http::protocol speaks_http_{service_ ? *service_ : api_, memory_, http::api::limits_for(largest_job)};
  access access_{1000};
  door beanstalk_{speaks_beanstalk_, access_, log_};
  door http_{speaks_http_, access_, log_};
};

/// The server, from one start to its end.
class server_life {
 public:
  server_life(world& in, simulated_disk& disk, jobs::job_store& store, const service_maker& make, ending how)
      : in_(in), how_(how) {
    for (std::size_t i = 0; i < in.nodes; ++i) {
      nodes_.push_back(std::make_unique<node>(in, disk, store, make, in.nodes > 1));
    }
    if (in.nodes > 1) {
      nodes_.front()->news.peer = &nodes_.back()->news;
      nodes_.back()->news.peer = &nodes_.front()->news;
    }
    if (how == ending::failing_call) nodes_.back()->store.fails_after = 1 + in.below(300);
  }

  task<> live() {
    std::vector<runtime::join_handle<>> executing;
    for (const auto& each : nodes_) {
      each->listen(in_);
      executing.push_back(runtime::spawn(each->run(), "the broker"));
      co_await each->open();
    }
    const std::size_t clients = 2 + in_.below(4);
    for (std::size_t i = 0; i < clients; ++i) static_cast<void>(runtime::spawn(client_life(in_), "a client"));
    if (in_.has_clock_steps) static_cast<void>(runtime::spawn(set_the_clock(in_), "sets the clock"));
    co_await until_the_end();
    in_.end_server();
    // After a crash nothing reaches the disk or a client any more; the tasks of the server still have to end.
    in_.has_crashed = how_ == ending::crash;
    for (const auto& each : nodes_) {
      each->store.is_gone = in_.has_crashed;
      each->close();
    }
    for (const auto& each : nodes_) co_await each->end();
    for (auto& each : executing) co_await each.join();
  }

 private:
  task<> until_the_end() {
    const duration length = jobs::milliseconds(20 + in_.below(300));
    auto ends = co_await runtime::select(runtime::after(length), nodes_.back()->broker.failed());
    if (ends.index() == 1) co_return;
    if (!in_.one_in(4)) co_return;
    in_.has_drained = true;
    for (const auto& each : nodes_) each->drain();
    auto later = co_await runtime::select(runtime::after(length / 4), nodes_.back()->broker.failed());
    static_cast<void>(later);
  }

  world& in_;
  const ending how_;
  std::vector<std::unique_ptr<node>> nodes_;
};

void look_at_the_end(world& in, jobs::job_store& store) {
  std::set<jobs::job_id> ids;
  for (const event& each : in.seen.events) {
    ids.insert(each.asked);
    ids.insert(each.job);
  }
  jobs::list_jobs every{.count = jobs::most_listed};
  for (bool is_last = false; !is_last;) {
    const jobs::jobs_answer page = jobs::execute_one(store, every);
    for (const jobs::listed_job& each : page.jobs) ids.insert(each.job.id);
    is_last = !page.next || ids.size() > most_listed;
    every.after = page.next.value_or(every.after);
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

void live_once(world& in, std::uint64_t seed, simulated_disk& disk, jobs::job_store& store, const service_maker& make,
               ending how) {
  runtime::run_options options;
  options.processors = 1 + in.below(3);
  options.seed = seed;
  options.clock = &in.time;
  options.shuffles_ties = true;
  in.is_over = in.has_drained = in.has_crashed = false;
  in.addresses.clear();
  in.seen.server_starts.push_back(in.now().order);
  server_life life(in, disk, store, make, how);
  runtime::run(life.live(), options);
}

}  // namespace

world::world(std::uint64_t seed) : client_world(seed) {
  has_stalls = seen.has_stalls = one_in(3);
  has_clock_steps = one_in(3);
  has_pauses = one_in(4);
  has_clears = one_in(4);
  is_narrow = one_in(4);
  nodes = one_in(3) ? 2 : 1;
  constexpr std::array<std::size_t, 4> parts{0, 10, 5, 8};
  http_in_ten = parts[below(parts.size())];
  time.set_wall(std::chrono::sys_days(std::chrono::year(2026) / 1 / 1) + std::chrono::microseconds(below(1000)));
  seen.wall.step(time.now(), time.wall_now() - time.now());
}

void world::end_server() {
  is_over = true;
  seen.server_ends.push_back(now().order);
  for (std::size_t number = 1; number <= connections; ++number) {
    if (!seen.connection_ends.contains(number)) end_connection(number);
  }
}

outcome play(std::uint64_t seed, simulated_disk& disk, const service_maker& make) {
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
    live_once(in, seed + life, disk, *store, make, how);
    if (how != ending::orderly) disk.crash();
    store.reset();
  }
  {
    std::unique_ptr<jobs::job_store> store = open();
    look_at_the_end(in, *store);
  }
  for (std::string& each : breaches(in.seen)) left.breaches.push_back(std::move(each));
  left.seen = std::move(in.seen);
  left.nodes = in.nodes;
  return left;
}

}  // namespace foliot::program::worlds
