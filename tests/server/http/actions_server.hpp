// A server of HTTP that does actions, on virtual time, and what the tests of actions ask it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <foliot/jobs/calls.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/this_task.hpp>

#include "api_client.hpp"
#include "server/actions/action_runner.hpp"

namespace foliot::program::http {

using actions_body = std::function<task<>(http_server&, http_client&)>;

/// Runs `body` with a server, a task that does its actions, and a client.
inline void with_actions(const actions_body& body, foliot::test::shared with_nodes = foliot::test::shared::no) {
  const auto live = [&](http_server& in) -> task<> {
    action_runner runner(in.jobs, nullptr, http_server::largest_job);
    in.speaks_to.do_actions_by(runner);
    auto running = runtime::spawn(runner.keep_on(), "actions");
    http_client client(in);
    co_await body(in, client);
    co_await client.leave();
    runner.end();
    co_await running.join();
  };
  with_server(live, nullptr, nullptr, {}, with_nodes);
}

/// Puts a job into the store, and returns its id.
inline jobs::job_id store_job(http_server& in, std::string tube, std::string key = {}, std::string body = {},
                              jobs::milliseconds delay = {}) {
  jobs::put what;
  what.tube = std::move(tube);
  what.key = std::move(key);
  what.body = std::move(body);
  what.due = delay;
  return jobs::execute_one(in.memory, std::move(what)).id;
}
inline jobs::job_counts counts_of(http_server& in, std::string tube) {
  return jobs::execute_one(in.memory, jobs::count_tube{std::move(tube)}).counts;
}

/// Makes an action, waits until it has counted, and returns it.
inline task<nlohmann::json> counted(http_client& by, std::string wanted) {
  const received made = co_await by.ask_json("POST", "/v1/actions", std::move(wanted));
  EXPECT_EQ(made.status, 201) << made.body;
  nlohmann::json seen = made.value();
  const auto id = seen["id"].get<std::string>();
  EXPECT_TRUE(made.head.contains("Location: /v1/actions/" + id + "\r\n")) << made.head;
  for (int look = 0; seen["state"] == "counting" && look < 1000; ++look) {
    co_await runtime::sleep(std::chrono::milliseconds(100));
    const received got = co_await by.ask("GET", "/v1/actions/" + id);
    seen = got.value();
  }
  EXPECT_EQ(seen["state"], "counted") << seen;
  co_return seen;
}
/// Waits until an action has ended.
inline task<nlohmann::json> ended(http_client& by, std::string id) {
  nlohmann::json seen;
  for (int look = 0; look < 3000; ++look) {
    const received got = co_await by.ask("GET", "/v1/actions/" + id);
    seen = got.value();
    if (seen.contains("ended")) break;
    co_await runtime::sleep(std::chrono::milliseconds(100));
  }
  EXPECT_TRUE(seen.contains("ended")) << seen;
  co_return seen;
}
/// Starts an action that has counted.
inline task<received> started(http_client& by, nlohmann::json what) {
  const std::string body = fmt::format(R"({{"counted":{}}})", what["counted"].get<std::uint64_t>());
  received got = co_await by.ask_json("POST", "/v1/actions/" + what["id"].get<std::string>() + "/run", body);
  co_return got;
}
/// Counts, runs, and waits for the end.
inline task<nlohmann::json> carried_out(http_client& by, std::string wanted) {
  const nlohmann::json what = co_await counted(by, std::move(wanted));
  const received got = co_await started(by, what);
  EXPECT_EQ(got.status, 200) << got.body;
  nlohmann::json done = co_await ended(by, what["id"].get<std::string>());
  co_return done;
}

}  // namespace foliot::program::http
