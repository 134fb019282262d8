// One request on its way to the jobs: what the functions get that answer it.
//
// Thread safety: as a conversation, one task.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/broker.hpp>

#include "browser_rules.hpp"
#include "inputs.hpp"
#include "message.hpp"
#include "server/core/brokers.hpp"
#include "service.hpp"

namespace foliot::program::http {

/// What all connections share. Any task may use it.
struct api_state {
  api_state(program::brokers with, std::size_t largest_job, std::vector<std::string> hosts)
      : brokers(std::move(with)), max_job_size(largest_job), browsers(std::move(hosts)) {}

  const program::brokers brokers;
  const std::size_t max_job_size;
  const browser_rules browsers;
  /// Whether new jobs are refused, until the server is started again. Orders nothing.
  seam::atomic<bool> draining{false};
};

struct call {
  api_state& state;
  jobs::client& client;
  request& what;
  inputs in;
  bool is_raw;  ///< the request's body is the body of a job, and not JSON that describes the request
  answering_side& side;
  std::vector<jobs::reservation>& reserved;  ///< what the answer hands to the client, once it has been sent
};

/// A response with this value as JSON.
[[nodiscard]] inline response respond_json(int status, const ordered_json& value) {
  response made{status, "application/json"};
  made.body = json_text(value) + "\n";
  return made;
}

}  // namespace foliot::program::http
