// The memory of a server that stores many delayed jobs, and how long it takes to start with them.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>

#include "bench/workloads/quick_random.hpp"
#include "load_generator.hpp"
#include "serve_workload.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::size_t body_length = 100;
constexpr std::size_t connections = 4;
constexpr std::size_t in_flight = 256;  // on each
constexpr std::uint64_t day = 86'400;
constexpr std::uint64_t hour = 3600;  // no job is due while this measures

std::int64_t wall_milliseconds() noexcept { return wall_clock::instance().now().nanoseconds() / 1'000'000; }

/// The jobs are numbered from `first` on.
void put_jobs(std::size_t first, std::size_t jobs, const server_process& server) {
  const std::string tube = "foliot-bench";
  load_generator clients(server.place(), connections);
  for (std::size_t each = 0; each < connections; ++each) clients.enter(each, tube);
  const std::string body(body_length, 'x');
  quick_random random(1);
  const auto send_one = [&](std::size_t client) {
    const std::uint64_t delay = hour + upper_below(random.next(), day);
    const std::int64_t due = wall_milliseconds() + static_cast<std::int64_t>(1000 * delay);
    clients.send(client,
                 clients.protocol().put_delayed(tube, {.number = first++, .due = due, .delay = delay, .body = body}));
  };
  clients.send_all(jobs, connections, in_flight, send_one,
                   [](const reply& got) { expect_reply(got, reply_kind::inserted, "put"); });
}

/// Starts a server, puts that many jobs, which are due at random times within a day, and notes its memory; ends it in
/// order, starts it, kills it, and starts it again. Throws failure.
std::vector<serve_figure> measure_stored_jobs(std::size_t jobs, const server_ground& ground) {
  std::vector<serve_figure> figures;
  const auto note = [&](const char* name, const char* unit, const char* head, double amount) {
    figures.push_back({.name = name, .unit = unit, .head = fmt::format("{} {}", jobs, head), .amount = amount});
  };
  const auto note_memory = [&](const char* name, const char* head, const server_process& server) {
    note(name, "MB", head, static_cast<double>(server.usage().resident_bytes) / 1e6);
  };
  const auto note_start = [&](const char* name, const char* head, const server_process& server) {
    note(name, "s", head, static_cast<double>(server.start_up_time().count()) / 1e9);
  };
  {
    server_settings filling = ground.settings;
    filling.nats_syncs = false;  // a million syncs take up to an hour, and change neither memory nor starts
    server_process server(ground.kind, ground.folder, filling);
    put_jobs(0, jobs, server);
    note_memory("resident", "put", server);
    server.end_in_order();
  }
  {
    server_process server(ground.kind, ground.folder, ground.settings);
    note_start("start", "in order", server);
    note_memory("resident-after-start", "started", server);
    put_jobs(jobs, 1000, server);  // what a crash leaves to replay
    server.kill();
  }
  const server_process server(ground.kind, ground.folder, ground.settings);
  note_start("start-after-kill", "killed", server);
  return figures;
}

}  // namespace

void add_stored_jobs(serve_workloads& to, const serve_scale& scale) {
  std::vector<std::size_t> counts{scale.quick ? std::size_t{1000} : std::size_t{1'000'000}};
  if (scale.full) counts.push_back(10'000'000);
  for (const std::size_t jobs : counts) {
    to.push_back({.family = "stored-jobs",
                  .title = "memory in MB after the puts and after a start, by the number of delayed jobs; then the "
                           "seconds of a start",
                  .parameters = {{"jobs", jobs}},
                  .most_repetitions = 1,
                  .takes_part =
                      [](const server_kind& kind) {
                        if (kind.speaks == spoken_protocol::nats) return true;
                        return kind.is_usual() && (kind.keeps == durability::unsynced ||
                                                   (kind.is_foliot && kind.keeps != durability::none));
                      },
                  .measure_own = [jobs](const server_ground& ground) { return measure_stored_jobs(jobs, ground); }});
  }
}

}  // namespace foliot::program::bench
