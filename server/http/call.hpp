// One request on its way to the jobs: what the functions get that answer it.
//
// Thread safety: as a conversation, one task.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/core/seam/sync.hpp>
#include <foliot/jobs/broker.hpp>

#include "browser_rules.hpp"
#include "inputs.hpp"
#include "load_limits.hpp"
#include "message.hpp"
#include "request_access.hpp"
#include "server/access/authorized_client.hpp"
#include "server/access/watched_tokens.hpp"
#include "server/actions/action_runner.hpp"
#include "server/core/brokers.hpp"
#include "server/core/keyed_places.hpp"
#include "server/core/named_proxies.hpp"
#include "server/core/server_log.hpp"
#include "server/core/tls_certificates.hpp"
#include "server/metrics/schedule_survey.hpp"
#include "server/metrics/server_metrics.hpp"
#include "server/metrics/tube_survey.hpp"
#include "server/policies/policies_in_force.hpp"
#include "server/schedules/zone_cache.hpp"
#include "server/targets/target_deliveries.hpp"
#include "service.hpp"

namespace foliot::program::http {

/// What all connections share. It has no way to the jobs but an authorized_client. Any task may use it.
class api_state {
 public:
  /// `tokens` and `log`: see request_access.
  api_state(program::brokers with, std::size_t largest_job, std::vector<std::string> hosts,
            watched_tokens* tokens = nullptr, const server_log* log = nullptr)
      : max_job_size(largest_job),
        browsers(std::move(hosts)),
        access(browsers, tokens, log),
        brokers_(std::move(with)) {}

  /// The broker for the next connection: for its authorized_client.
  [[nodiscard]] jobs::broker& for_next_connection() const noexcept { return brokers_.for_next_connection(); }
  [[nodiscard]] jobs::broker_counters counters() const noexcept { return brokers_.counters(); }
  [[nodiscard]] jobs::job_flow flow() const noexcept { return brokers_.flow(); }
  [[nodiscard]] jobs::tube_clients clients_of(std::string_view tube) const { return brokers_.clients_of(tube); }
  /// The name of the client that has reserved a job, if a client of this server has: brokers::holder_of().
  [[nodiscard]] std::string holder_of(jobs::job_id id, std::uint32_t reserves) const {
    return brokers_.holder_of(id, reserves);
  }
  [[nodiscard]] bool has_other_nodes() const noexcept { return brokers_.has_other_nodes(); }

  const std::size_t max_job_size;
  const browser_rules browsers;
  const request_access access;

  // Set before there are connections.
  load_limits limits;
  named_proxies proxies;
  const tls_certificates* certificates = nullptr;  ///< null: connections are in plain
  action_runner* actions = nullptr;                ///< does the pieces of actions; null: other nodes do
  zone_cache* zones = nullptr;                     ///< of schedules; null: there are no schedules here
  policies_in_force* policies = nullptr;           ///< of tubes; null: there are none here
  target_deliveries* deliveries = nullptr;         ///< of webhooks; null: there are none here
  metrics_sources sources{};                       ///< the parts of the server that the metrics tell of
  std::string node;                                ///< the name of this one, where there are others
  bool only_monitors = false;                      ///< whether there is nothing but /health, /ready and /metrics
  tube_survey survey;                              ///< chosen before; any task looks
  schedule_survey schedules;                       ///< any task looks
  /// The streams of events: at most so many at once, and so many of one access token.
  keyed_places streams{100};
  keyed_places streams_of_token{20};
  /// The requests with an Idempotency-Key that are being answered: one of each key.
  keyed_places keys_under_way{1};
  /// Whether new jobs are refused, until the server is started again. Orders nothing.
  seam::atomic<bool> draining{false};

 private:
  const program::brokers brokers_;
};

struct call {
  api_state& state;
  authorized_client& client;  ///< by the rights of this request
  request& what;
  inputs in;
  bool is_raw;  ///< the request's body is the body of a job, and not JSON that describes the request
  answering_side& side;
  std::vector<jobs::reservation>& reserved;  ///< what the answer hands to the client, once it has been sent
  keyed_places::place& key_place;            ///< of the key of a reserve, until the answer has been sent
  std::string worker;                        ///< who gives jobs back: the id of its rights, or its address
};

/// A response with this text, which is JSON on one line.
[[nodiscard]] inline response respond_text(int status, std::string text) {
  response made{status, "application/json"};
  made.body = std::move(text);
  made.body += '\n';
  return made;
}
/// A response with this value as JSON.
[[nodiscard]] inline response respond_json(int status, const ordered_json& value) {
  return respond_text(status, json_text(value));
}

}  // namespace foliot::program::http
