// A server of HTTP that makes the occurrences of schedules, on virtual time, and what the tests of schedules ask it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <foliot/core/virtual_clock.hpp>
#include <foliot/jobs/calls.hpp>
#include <foliot/runtime/sleep.hpp>
#include <foliot/runtime/spawn.hpp>
#include <foliot/runtime/wall_time.hpp>

#include "api_client.hpp"
#include "server/actions/action_runner.hpp"
#include "server/schedules/schedule_runner.hpp"

namespace foliot::program::http {

using schedules_body = std::function<task<>(http_server&)>;

/// Friday, two days before the clocks of Europe go forward.
inline constexpr std::chrono::sys_seconds first_second =
    std::chrono::sys_days(std::chrono::year(2026) / 3 / 27) + std::chrono::hours(8);

/// Runs `body` with a server and a task that takes the turns of its schedules. It is 2026-03-27T08:00:00Z.
inline void with_schedules(const schedules_body& body) {
  const auto live = [&](http_server& in) -> task<> {
    action_runner actions(in.jobs, nullptr, http_server::largest_job);  // knows that there are jobs of the server
    in.speaks_to.do_actions_by(actions);
    schedule_runner runner(in.jobs, in.zones);
    metrics_sources parts;
    parts.schedules = &runner.figures();
    in.speaks_to.measure(parts, {});
    auto running = runtime::spawn(runner.keep_on(), "schedules");
    co_await body(in);
    runner.end();
    co_await running.join();
  };
  virtual_clock clock;
  clock.set_wall(first_second);
  http_server one(clock);
  foliot::test::on_virtual_time(clock, run_server(one, live));
  const check_result broker = one.jobs.check();
  EXPECT_TRUE(broker) << broker.error();
}

/// Asks over a connection of its own: one that is silent for long is closed.
inline task<received> ask(http_server& in, std::string method, std::string target, std::string body = {},
                          std::string fields = {}) {
  http_client client(in);
  extras more(std::move(fields), std::move(body));
  if (!more.body.empty()) more.fields += "Content-Type: application/json\r\n";
  received got = co_await client.ask(std::move(method), std::move(target), std::move(more));
  co_await client.leave();
  co_return got;
}

/// Asks for what succeeds, and returns the value of the answer.
inline task<nlohmann::json> look(http_server& in, std::string target) {
  const std::string shown = target;
  const received got = co_await ask(in, "GET", std::move(target));
  EXPECT_EQ(got.status, 200) << shown << got.body;
  co_return got.value();
}

/// Sleeps until this time of the wall clock.
inline task<> sleep_to(std::chrono::sys_seconds time) {
  const auto left = time - std::chrono::floor<std::chrono::milliseconds>(runtime::wall_now());
  co_await runtime::sleep(duration(left));
}

/// The ready and delayed jobs of a tube, the oldest first.
inline task<nlohmann::json> jobs_of(http_server& in, std::string tube) {
  const nlohmann::json page = co_await look(in, "/v1/jobs?tube=" + tube);
  co_return page["jobs"];
}

}  // namespace foliot::program::http
