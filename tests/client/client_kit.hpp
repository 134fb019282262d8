// A client before the server of the beanstalk protocol, in one process and on virtual time, over connections that end
// where a test says.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <foliot/client/job_client.hpp>
#include <foliot/core/virtual_clock.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>

#include "jobs/kit/broker_world.hpp"
#include "server/beanstalk/protocol.hpp"
#include "server/beanstalk/server_state.hpp"
#include "server/core/stream_over.hpp"
#include "support/virtual_time.hpp"

namespace foliot::client {

using runtime::task;

/// How many bytes a connection carries before it ends.
struct cut {
  std::size_t sent = std::numeric_limits<std::size_t>::max();  // by the client
  std::size_t received = std::numeric_limits<std::size_t>::max();
};

/// A connection that ends as a server's does that is killed.
class cut_transport final : public transport {
 public:
  cut_transport(runtime::stream stream, cut where) : stream_(std::move(stream)), left_(where) {}

  [[nodiscard]] task<runtime::or_error<std::size_t>> read_some(std::span<char> into) override {
    if (left_.received == 0) return none();
    return read(into.subspan(0, std::min(into.size(), left_.received)));
  }
  [[nodiscard]] task<runtime::or_error<std::size_t>> write_some(std::string_view from) override {
    return write(from.substr(0, left_.sent));
  }
  void set_deadline(instant deadline) override { stream_.set_deadline(deadline); }
  [[nodiscard]] bool peer_has_ended() const noexcept override { return has_ended_ || stream_.peer_has_ended(); }

 private:
  /// What was sent has arrived, and the server does what it can with it.
  task<runtime::or_error<std::size_t>> none() {
    co_await runtime::sleep(std::chrono::milliseconds(1));
    stream_.close();
    has_ended_ = true;
    co_return 0;
  }
  task<runtime::or_error<std::size_t>> read(std::span<char> into) {
    auto got = co_await stream_.read_some(into);
    if (got) left_.received -= *got;
    co_return got;
  }
  task<runtime::or_error<std::size_t>> write(std::string_view from) {
    if (from.empty()) {
      auto ending = none();
      co_await ending;
      co_return std::unexpected(std::make_error_code(std::errc::connection_reset));
    }
    // As TCP does: the system takes the bytes, and learns later that there is nobody.
    if (stream_.peer_has_ended()) co_return from.size();
    auto got = co_await stream_.write_some(from);
    if (got) left_.sent -= *got;
    co_return got;
  }

  runtime::stream stream_;
  cut left_;
  bool has_ended_ = false;
};

/// A server in memory, and what its clients do.
struct server_world : foliot::test::broker_world {
  explicit server_world(const virtual_clock& time) : broker_world(time), state(jobs, 65'535, 1000) {}

  /// Each connection has the next one of the cuts; those behind the last are whole.
  [[nodiscard]] endpoint server() {
    return {"the server", {}, [this](instant) { return connect(); }};
  }
  [[nodiscard]] client_options options() {
    client_options made;
    made.server = server();
    return made;
  }
  task<connected> connect() {
    if (refused > 0) {
      --refused;
      co_return std::unexpected(std::make_error_code(std::errc::connection_refused));
    }
    auto ends = runtime::stream::pair().value();
    sessions.push_back(runtime::spawn(serve(std::move(ends.second)), "a session"));
    const std::size_t number = sessions.size() - 1;
    const cut where = number < cuts.size() ? cuts[number] : cut();
    co_return std::make_unique<cut_transport>(std::move(ends.first), where);
  }
  task<> serve(runtime::stream accepted) {
    program::stream_over peer(std::move(accepted));
    co_await by->serve(peer);
    co_await peer.close_write();
  }
  /// How many jobs there are, in all states.
  [[nodiscard]] foliot::jobs::job_counts count() {
    return foliot::jobs::execute_one(memory, foliot::jobs::count_all{}).counts;
  }

  program::beanstalk::server_state state;
  program::beanstalk::protocol speaks{state};
  program::protocol* by = &speaks;
  std::vector<cut> cuts;
  std::size_t refused = 0;  // so many of the next connections
  std::vector<runtime::join_handle<>> sessions;
};

template <class Body>
task<> live_in(server_world& in, Body& body) {
  auto running = runtime::spawn(in.jobs.run(), "broker");
  co_await body(in);
  for (auto& each : in.sessions) co_await each.join();
  in.jobs.close();
  co_await running.join();
}

/// Runs `body`, a task, with a server. `body` must have destroyed its clients when it ends.
template <class Body>
void with_server(Body body) {
  virtual_clock clock;
  server_world in(clock);
  foliot::test::on_virtual_time(clock, live_in(in, body));
  const check_result found = in.jobs.check();
  EXPECT_TRUE(found) << found.error();
}

}  // namespace foliot::client
