// What the metrics of a server are made of: the counters and bounds of its parts, and what a survey of the tubes has
// seen. docs/serve/metrics.md has each metric; a test compares the page with it.
//
// Thread safety: any task; the sources must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <foliot/core/instant.hpp>
#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/broker.hpp>

#include "exposition.hpp"
#include "schedule_survey.hpp"
#include "server/targets/target_deliveries.hpp"
#include "tube_survey.hpp"

namespace foliot::program {

class access;
class held_memory;
class opened_stores;
struct request_rates;
class schedule_figures;
class tls_certificates;

/// The parts of a server that tell of themselves. What is null has no metrics.
struct metrics_sources {
  const opened_stores* stores = nullptr;
  const held_memory* memory = nullptr;
  const access* door = nullptr;
  const request_rates* rates = nullptr;
  const seam::atomic<std::uint64_t>* slow_clients = nullptr;
  const tls_certificates* certificates = nullptr;
  const schedule_figures* schedules = nullptr;
};

/// What is known of the server besides.
struct server_status {
  jobs::broker_counters counters;
  jobs::job_flow flow;
  bool is_draining = false;
  std::optional<bool> tokens_are_good;  ///< none: no access tokens are asked for
};

/// The jobs, for everybody who may look. `seen` none: the store does not answer.
void append_jobs(exposition& to, const std::optional<surveyed>& seen);
/// The schedules, for those who may look at all tubes. `seen` none: the store does not answer. `figures` null: no turns
/// are taken here.
void append_schedules(exposition& to, const std::optional<surveyed_schedules>& seen, const schedule_figures* figures);
/// The deliveries to targets, for those who may look at all tubes.
void append_webhooks(exposition& to, const delivery_figures& now);
/// The server, for those who may look at all tubes.
void append_server(exposition& to, const server_status& now, const metrics_sources& from);
/// The process: what it takes of the machine.
void append_process(exposition& to);

}  // namespace foliot::program
