// The client for threads, before a server on real time that listens at a socket.
#include <foliot/client/blocking_client.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/memory_store.hpp>
#include <foliot/runtime/background_runtime.hpp>
#include <foliot/runtime/net/listener.hpp>
#include <foliot/runtime/spawn.hpp>

#include "server/beanstalk/protocol.hpp"
#include "server/beanstalk/server_state.hpp"
#include "server/core/stream_over.hpp"

namespace foliot::client {
namespace {

using namespace std::chrono_literals;
using runtime::task;
using kind = client_error::kind;

/// A server in a runtime of its own, at a local address or at a port.
class served {
 public:
  explicit served(const runtime::address& at) : broker_(store_), state_(broker_, 65'535, 1000) {
    place_ = background_.handle().call([this, at] {
      gate_ = std::make_unique<runtime::listener>(runtime::listener::listen(at).value());
      return gate_->local_address().value();
    });
    background_.handle().spawn(broker_.run());
    background_.handle().spawn(accept());
  }
  ~served() { background_.stop(); }

  [[nodiscard]] const runtime::address& place() const { return place_; }
  [[nodiscard]] client_options options() const {
    client_options made;
    made.server = endpoint_at(place_);
    return made;
  }

 private:
  task<> accept() {
    for (;;) {
      auto accepting = gate_->accept();
      auto got = co_await accepting;
      if (!got) co_return;
      runtime::spawn(serve(std::move(*got)), "a session");
    }
  }
  task<> serve(runtime::stream accepted) {
    program::stream_over peer(std::move(accepted));
    co_await speaks_.serve(peer);
  }

  jobs::memory_store store_;
  jobs::broker broker_;
  program::beanstalk::server_state state_;
  program::beanstalk::protocol speaks_{state_};
  std::unique_ptr<runtime::listener> gate_;
  runtime::address place_;
  runtime::background_runtime background_;
};

runtime::address abstract(const std::string& name) {
  return runtime::address::parse("unix:@foliot-client-" + std::to_string(::getpid()) + "-" + name).value();
}

TEST(BlockingClient, PutsAndReservesOverTcpAndOverALocalSocket) {
  for (const runtime::address& at : {runtime::address::loopback(0), abstract("both")}) {
    const served server(at);
    blocking_client jobs(server.options());
    const auto put = jobs.ask(jobs::put{.tube = "mail", .body = "hello", .due = 1ms});
    ASSERT_TRUE(put) << put.error().text;
    const auto got = jobs.ask(reserve{{"mail"}, 30s});
    ASSERT_TRUE(got && got->job);
    EXPECT_EQ(got->job->body, "hello");
    EXPECT_TRUE(jobs.holds(got->job->token));
    const auto finished = jobs.ask(jobs::finish{got->job->token});
    EXPECT_EQ(finished.value().what, jobs::holder_answer::kind::done);
  }
}

TEST(BlockingClient, FindsAHostByItsName) {
  const served server(runtime::address::loopback(0));
  client_options options;
  options.server = endpoint_at("localhost", server.place().port());
  blocking_client jobs(options);
  const auto counted = jobs.ask(jobs::count_all{});
  EXPECT_TRUE(counted) << counted.error().text;
}

TEST(BlockingClient, ThreadsShareIt) {
  const served server(abstract("threads"));
  blocking_client jobs(server.options());
  constexpr int threads = 4;
  constexpr int each = 25;
  std::vector<std::vector<jobs::job_id>> ids(threads);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        const auto put = jobs.ask(jobs::put{.tube = "t" + std::to_string(t), .body = std::to_string(i)});
        if (put) ids[static_cast<std::size_t>(t)].push_back(put->id);
      }
    });
  }
  for (std::thread& one : running) one.join();
  std::set<jobs::job_id> all;
  for (const auto& some : ids) all.insert(some.begin(), some.end());
  EXPECT_EQ(all.size(), static_cast<std::size_t>(threads * each));
  for (int t = 0; t < threads; ++t) {
    const auto counted = jobs.ask(jobs::count_tube{"t" + std::to_string(t)});
    EXPECT_EQ(counted.value().counts.ready, static_cast<std::uint64_t>(each)) << "each put is in its own tube";
  }
}

TEST(BlockingClient, ANewServerAtTheSameAddressIsFound) {
  const runtime::address at = abstract("again");
  auto first = std::make_unique<served>(at);
  blocking_client jobs(first->options());
  ASSERT_TRUE(jobs.ask(jobs::put{.tube = "mail", .body = "x"}));
  const auto held = jobs.ask(reserve{{"mail"}, 0ms});
  ASSERT_TRUE(held && held->job);
  first.reset();
  EXPECT_FALSE(jobs.holds(held->job->token));
  const served second(at);
  EXPECT_TRUE(jobs.ask(jobs::put{.tube = "mail", .body = "y"}));
  const auto lost = jobs.ask(jobs::finish{held->job->token});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().what, kind::reservation_lost);
}

TEST(BlockingClient, ASocketWithoutAServerIsUnreachable) {
  client_options options;
  options.server = endpoint_at(abstract("nobody"));
  blocking_client jobs(options);
  const auto put = jobs.ask(jobs::put{.tube = "mail", .body = "x"}, 20ms);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().what, kind::unreachable);
  EXPECT_FALSE(put.error().is_in_doubt);
}

}  // namespace
}  // namespace foliot::client
