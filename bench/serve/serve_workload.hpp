// The workloads of `foliot bench serve`: what is measured of a server, and the figures that come of it.
//
// A source adds its workloads to the list, as throughput.cpp does, and says there what it measures;
// all_serve_workloads() calls each of these functions.
//
// Thread safety: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/duration.hpp>

#include "server_kind.hpp"
#include "server_place.hpp"
#include "server_process.hpp"

namespace foliot::program::bench {

/// One figure of a measurement. The figures of the same name are comparable over contestants and repetitions.
struct serve_figure {
  std::string name{};  ///< in the JSON: "rate", "p99", "resident"
  std::string unit{};  ///< "operations/s", "ms", "bytes", "s"
  /// Of its column in a table of the workload's family, which has one for each unit; empty: no table has it.
  std::string head{};
  double amount = 0;
};

/// How much is measured.
struct serve_scale {
  duration length{};   ///< of one measurement of a rate
  bool quick = false;  ///< tiny counts, to see that it works
  bool full = false;   ///< also the counts that take long, such as ten million jobs
  /// What the workload `lists` stores, where the user has said it; else 0.
  std::size_t tubes = 0;
  std::size_t jobs = 0;
};

/// A server that runs, for a workload that needs no more than its place.
struct server_under_load {
  const server_place& place;
  const std::string& tube;    ///< the workload's own, and empty
  server_process* process{};  ///< null if the user started the server
};

/// Where a workload starts servers of its own. The folder is empty, and removed afterwards.
struct server_ground {
  const server_kind& kind;
  const std::filesystem::path& folder;
  const server_settings& settings;
};

struct serve_workload {
  std::string family{};  ///< the name that --only takes: "puts"; the workloads of a family share a table
  std::string title{};   ///< of the family, with the unit: "put a job, wait for the reply; puts a second"
  /// What tells it apart from others of its family, in the JSON as numbers: {"connections", 64}.
  std::vector<std::pair<std::string, std::uint64_t>> parameters{};
  int most_repetitions = 1000;
  std::function<bool(const server_kind&)> takes_part{};  ///< empty: all do

  /// One of the two measures. With `measure` the server is a fresh one, or that of --address. Both throw failure.
  std::function<std::vector<serve_figure>(const server_under_load&)> measure{};
  std::function<std::vector<serve_figure>(const server_ground&)> measure_own{};
};

using serve_workloads = std::vector<serve_workload>;

void add_throughput(serve_workloads& to, const serve_scale& scale);
void add_batches(serve_workloads& to, const serve_scale& scale);
void add_heartbeats(serve_workloads& to, const serve_scale& scale);
void add_idle_polls(serve_workloads& to, const serve_scale& scale);
void add_lateness(serve_workloads& to, const serve_scale& scale);
void add_flood(serve_workloads& to, const serve_scale& scale);
void add_stored_jobs(serve_workloads& to, const serve_scale& scale);
void add_lists(serve_workloads& to, const serve_scale& scale);

/// All workloads, in the order of the report.
[[nodiscard]] serve_workloads all_serve_workloads(const serve_scale& scale);

}  // namespace foliot::program::bench
