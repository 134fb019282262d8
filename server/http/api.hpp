// The interface of the server for programs in any language: JSON over HTTP. Which request does what is in the table of
// routes (api.cpp); docs/serve/http.md has all of them for users.
//
// A request is refused by its head alone if the rules for browsers say so (browser_rules.hpp), if it has no rights
// (request_access.hpp), or if too many come (load_limits.hpp). Then its values are gathered from its path, query and
// body (inputs.hpp), and the function of its route executes it, by the rights of the request. What is wrong with the
// request becomes a problem with the name of the value that was wrong.
//
// Each connection is a client of one of the brokers, so that its requests are executed in their order. Each request
// holds the rights that it has shown, until it is answered: if they end before, a request that waits is answered with
// 401, and the connection ends. A connection between two requests holds none, for a proxy may share it among clients.
//
// Thread safety: any task.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "call.hpp"
#include "server/access/watched_tokens.hpp"
#include "server/actions/action_runner.hpp"
#include "server/core/access.hpp"
#include "server/core/brokers.hpp"
#include "server/core/byte_stream.hpp"
#include "server/core/named_proxies.hpp"
#include "server/core/rate_limits.hpp"
#include "server/core/server_log.hpp"
#include "server/core/tls_certificates.hpp"
#include "server/policies/policies_in_force.hpp"
#include "server/schedules/zone_cache.hpp"
#include "service.hpp"

namespace foliot::program::http {

class api final : public service {
 public:
  /// `hosts`: see browser_rules; `tokens` and `log`: see request_access.
  api(program::brokers with, std::size_t max_job_size, std::vector<std::string> hosts = {},
      watched_tokens* tokens = nullptr, const server_log* log = nullptr)
      : state_(std::move(with), max_job_size, std::move(hosts), tokens, log) {}

  /// Throws broker_full and broker_closed.
  [[nodiscard]] std::unique_ptr<conversation> begin(byte_stream& peer) override;
  [[nodiscard]] bool is_of_proxy(const runtime::address& from) const override { return state_.proxies.have(from); }
  /// From now on these are the named proxies.
  void believe(named_proxies those) { state_.proxies = std::move(those); }
  /// From now on requests count for these limits: see load_limits.
  void limit_by(access& door, request_rates& rates, const server_log* log) noexcept {
    state_.limits.set(door, rates, log);
  }
  /// With these connections are opened; null: in plain.
  void show(const tls_certificates* certificates) noexcept { state_.certificates = certificates; }
  /// The metrics tell of these parts, which must outlive it, and of the tubes of that choice.
  void measure(const metrics_sources& parts, tube_choice which) {
    state_.sources = parts;
    state_.survey.choose(std::move(which));
  }
  /// The name of this node among those that share its store.
  void name_node(std::string name) { state_.node = std::move(name); }
  /// From now on there is nothing but /health, /ready and /metrics. Before there are connections.
  void monitor_only() noexcept { state_.only_monitors = true; }
  /// From now on it is woken when an action is made or started.
  void do_actions_by(action_runner& runner) noexcept { state_.actions = &runner; }
  /// From now on there are schedules, which plan by the data of these zones.
  void plan_by(zone_cache& zones) noexcept { state_.zones = &zones; }
  /// From now on there are policies of tubes, which these are.
  void act_by(policies_in_force& policies) noexcept { state_.policies = &policies; }
  /// From now on tubes may have targets, to which their jobs are delivered.
  void deliver_by(target_deliveries& deliveries) noexcept { state_.deliveries = &deliveries; }
  /// From now on new jobs are refused.
  void drain() noexcept { state_.draining = true; }

  /// The bounds of requests, for jobs with bodies up to this size: base64 and the escapes of JSON are longer.
  [[nodiscard]] static request_limits limits_for(std::size_t max_job_size) noexcept;

  struct named_route {
    std::string_view method;
    std::string_view pattern;            ///< of the path
    bool takes_version = false;          ///< whether it takes `If-Match`
    bool takes_idempotency_key = false;  ///< whether it takes `Idempotency-Key`
    bool is_page = false;                ///< a file for people, which is no part of the interface for programs
  };
  /// The rows of the table of routes.
  [[nodiscard]] static std::vector<named_route> all_routes();

 private:
  api_state state_;
};

}  // namespace foliot::program::http
