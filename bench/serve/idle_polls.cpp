// The memory of a server for clients that wait for a job, each on a connection of its own.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>
#include <foliot/core/sync/note.hpp>

#include "load_generator.hpp"
#include "serve_workload.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

constexpr const char* tube = "foliot-bench";

/// Clients that wait for a job, which never comes.
class waiting_clients {
 public:
  waiting_clients(const server_process& server, std::size_t clients) : clients_(server.place(), clients) {
    for (std::size_t each = 0; each < clients; ++each) clients_.enter(each, tube);
    for (std::size_t each = 0; each < clients; ++each) clients_.send(each, clients_.protocol().reserve(tube));
    static_cast<void>(clients_.turn(no_reply, duration::zero()));
  }

 private:
  static void no_reply(std::size_t, const reply& got) { throw_unexpected(got, "reserve"); }

  load_generator clients_;
};

/// Waits until the server has so many clients that wait.
void wait_for(std::size_t polls, const server_process& server) {
  load_generator asking(server.control(), 1);
  asking.enter(0, tube);
  const clock& time = monotonic_clock::instance();
  const instant end = time.now() + load_generator::longest_silence;
  for (std::uint64_t waiting = 0; waiting < polls;) {
    asking.send(0, "stats\r\n");
    asking.finish([&waiting](std::size_t, const reply& got) {
      expect_reply(got, reply_kind::ok, "stats");
      waiting = number_in(got.body, "current-waiting");
    });
    if (time.now() > end) throw failure(fmt::format("{} of {} clients wait after a minute", waiting, polls));
    foliot::note nobody_wakes;
    static_cast<void>(nobody_wakes.sleep_until(time.now() + std::chrono::milliseconds(20)));
  }
}

/// Starts a server, lets so many clients wait, and notes how much its resident memory has grown for each of them.
/// Throws failure.
std::vector<serve_figure> measure_idle_polls(std::size_t polls, const server_ground& ground) {
  server_settings settings = ground.settings;
  const std::size_t count = clients_that_fit(polls, settings.way == transport::tcp);
  settings.connections = count + 100;
  const server_process server(ground.kind, ground.folder, settings);
  const waiting_clients first(server, 1);  // what the first one needs is not for each
  wait_for(1, server);
  const std::uint64_t before = server.usage().resident_bytes;
  const waiting_clients others(server, count);
  wait_for(count + 1, server);
  const std::uint64_t after = server.usage().resident_bytes;
  const double each = static_cast<double>(after - std::min(before, after)) / static_cast<double>(count);
  return {{.name = "bytes", .unit = "bytes/poll", .head = std::to_string(polls), .amount = each},
          {.name = "connections", .unit = "connections", .head = {}, .amount = static_cast<double>(count)}};
}

}  // namespace

void add_idle_polls(serve_workloads& to, const serve_scale& scale) {
  const std::size_t polls = scale.quick ? 100 : 10'000;
  to.push_back({.family = "idle-polls",
                .title = "memory of the server in bytes for each client that waits for a job, by their number",
                .parameters = {{"polls", polls}},
                .most_repetitions = 1,
                .takes_part =
                    [](const server_kind& kind) {
                      return kind.keeps == durability::each_change && kind.speaks != spoken_protocol::nats;
                    },
                .measure_own = [polls](const server_ground& ground) { return measure_idle_polls(polls, ground); }});
}

}  // namespace foliot::program::bench
