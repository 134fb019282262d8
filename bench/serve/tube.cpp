#include "tube.hpp"

#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <foliot/core/clock.hpp>

#include "statistics_reply.hpp"
#include "text/failure.hpp"

namespace foliot::program::bench {

namespace {

constexpr std::size_t at_once = 256;

/// The jobs of a tube, from the reply to `stats-tube`. Those that are urgent are among the ready ones.
std::uint64_t jobs_in(std::string_view yaml) {
  std::uint64_t sum = 0;
  for (const std::string_view state : {"ready", "reserved", "delayed", "buried"}) {
    sum += number_in(yaml, fmt::format("current-jobs-{}", state));
  }
  return sum;
}

std::uint64_t count_jobs(load_generator& clients, const std::string& tube) {
  std::uint64_t jobs = 0;
  clients.send(0, fmt::format("stats-tube {}\r\n", tube));
  clients.finish([&](std::size_t, const reply& got) { jobs = jobs_in(got.body); });
  return jobs;
}

/// Sends the command so often, and returns the ids in the answers of this kind.
std::vector<std::uint64_t> ask(load_generator& clients, std::string_view command, std::size_t count, reply_kind kind) {
  std::string commands;
  for (std::size_t i = 0; i < count; ++i) commands += command;
  std::vector<std::uint64_t> ids;
  clients.send(0, commands, count);
  clients.finish([&](std::size_t, const reply& got) {
    if (got.kind == kind) ids.push_back(got.number);
  });
  return ids;
}

}  // namespace

void enter_tube(load_generator& clients, std::size_t client, const std::string& tube) {
  for (const opening& each : clients.protocol().enter(tube)) clients.expect(client, each.bytes, 1, each.wanted);
}

void check_empty(const runtime::address& server, const std::string& tube) {
  load_generator clients(server, 1);
  if (const std::uint64_t jobs = count_jobs(clients, tube); jobs > 0) {
    throw failure(fmt::format("tube '{}' of the server at {} has {} job{}: name one of its own with --tube", tube,
                              server.to_string(), jobs, jobs == 1 ? "" : "s"));
  }
}

void empty_tube(const runtime::address& server, const std::string& tube) {
  load_generator clients(server, 1);
  enter_tube(clients, 0, tube);
  const clock& time = monotonic_clock::instance();
  instant progress = time.now();
  while (const std::uint64_t jobs = count_jobs(clients, tube)) {
    if (time.now() - progress > load_generator::longest_silence) {
      throw failure(fmt::format("another client holds {} job{} of tube '{}' of the server at {}", jobs,
                                jobs == 1 ? "" : "s", tube, server.to_string()));
    }
    static_cast<void>(ask(clients, fmt::format("kick {}\r\n", at_once), 1, reply_kind::kicked));
    auto ids = ask(clients, "reserve-with-timeout 0\r\n", at_once, reply_kind::reserved);
    if (ids.empty()) {  // another client may hold the rest
      ids = ask(clients, "reserve-with-timeout 1\r\n", 1, reply_kind::reserved);
    }
    std::string commands;
    for (const std::uint64_t id : ids) commands += fmt::format("delete {}\r\n", id);
    if (ids.empty()) continue;
    progress = time.now();
    clients.send(0, commands, ids.size());
    clients.finish([](std::size_t, const reply&) {});
  }
}

}  // namespace foliot::program::bench
