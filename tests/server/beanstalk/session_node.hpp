// A session over a store that other nodes share, and that is unavailable at times. On virtual time.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/jobs/job_store.hpp>
#include <foliot/runtime/net/stream.hpp>
#include <foliot/runtime/spawn.hpp>

#include "jobs/kit/broker_world.hpp"
#include "server/beanstalk/server_state.hpp"
#include "server/core/stream_over.hpp"
#include "session_client.hpp"
#include "support/virtual_time.hpp"

namespace foliot::program::beanstalk {

using unavailable = jobs::store_unavailable::kind;

/// One node, with one client.
struct node : test::broker_world {
  explicit node(const virtual_clock& time) : broker_world(time, {}, test::shared::yes), state(jobs, 65'535, 1000) {}

  /// A put by another node.
  void put_elsewhere(std::string tube, jobs::milliseconds delay = {}) {
    jobs::put what;
    what.tube = std::move(tube);
    what.due = delay;
    static_cast<void>(jobs::execute_one(memory, std::move(what)));
  }

  server_state state;
  runtime::stream client;
};

/// Sends commands, and returns so many lines of the replies.
inline task<std::string> ask(node& on, std::string commands, std::size_t lines) {
  static_cast<void>(co_await on.client.write_all(commands));
  std::string replies = co_await read_lines(on.client, lines);
  co_return replies;
}

/// The statistics or the list that a command brings.
inline task<std::string> ask_for_text(node& on, std::string command) {
  static_cast<void>(co_await on.client.write_all(command));
  std::string text;
  while (!text.ends_with("\n\r\n") && !text.ends_with("_FOUND\r\n")) {
    const std::string line = co_await read_lines(on.client, 1);
    if (line.empty()) break;
    text += line;
  }
  co_return text;
}

/// All that comes until the server closes the connection.
inline task<std::string> rest(node& on) { return read_lines(on.client, std::string::npos); }

template <class Body>
task<> with_running_node(node& on, Body& body) {
  auto ends = runtime::stream::pair().value();
  on.client = std::move(ends.first);
  auto running = runtime::spawn(on.jobs.run(), "the broker");
  stream_over served(std::move(ends.second));
  auto serving = runtime::spawn(serve_one(on.state, served), "session");
  co_await body(on);
  static_cast<void>(on.client.close_write());
  co_await serving.join();
  on.jobs.close();
  co_await running.join();
}

/// Runs `body`, a task, with a node.
template <class Body>
void with_node(Body body) {
  virtual_clock clock;
  node on(clock);
  test::on_virtual_time(clock, with_running_node(on, body));
  const check_result found = on.jobs.check();
  EXPECT_TRUE(found) << found.error();
}

inline const std::string put_one = "put 0 0 60 1\r\nx\r\n";

/// The client holds job 1; 2 is ready, 3 buried and 4 delayed.
inline task<> prepare(node& on) {
  const std::string far = "put 0 1000 60 1\r\nx\r\n";
  const std::string said =
      co_await ask(on, put_one + "reserve\r\n" + put_one + "reserve\r\n" + put_one + "bury 2 0\r\n" + far, 8);
  EXPECT_EQ(said, "INSERTED 1\r\nRESERVED 1 1\r\nx\r\nINSERTED 2\r\nRESERVED 2 1\r\nx\r\nINSERTED 3\r\nBURIED\r\n");
  const std::string last = co_await read_lines(on.client, 1);
  EXPECT_EQ(last, "INSERTED 4\r\n");
}

}  // namespace foliot::program::beanstalk
