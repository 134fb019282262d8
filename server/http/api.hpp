// The interface of the server for programs in any language: JSON over HTTP. Which request does what is in the table of
// routes (api.cpp); docs/serve/http.md has all of them for users.
//
// A request is refused by its head alone if the rules for browsers say so (browser_rules.hpp). Then its values are
// gathered from its path, query and body (inputs.hpp), and the function of its route executes it. What is wrong with
// the request becomes a problem with the name of the value that was wrong.
//
// Each connection is a client of one of the brokers, so that its requests are executed in their order.
//
// Thread safety: any task.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "call.hpp"
#include "server/core/brokers.hpp"
#include "service.hpp"

namespace foliot::program::http {

class api final : public service {
 public:
  /// `hosts`: see browser_rules.
  api(program::brokers with, std::size_t max_job_size, std::vector<std::string> hosts = {})
      : state_(std::move(with), max_job_size, std::move(hosts)) {}

  /// Throws broker_full and broker_closed.
  [[nodiscard]] std::unique_ptr<conversation> begin() override;
  /// From now on new jobs are refused.
  void drain() noexcept { state_.draining = true; }

  /// The bounds of requests, for jobs with bodies up to this size: base64 and the escapes of JSON are longer.
  [[nodiscard]] static request_limits limits_for(std::size_t max_job_size) noexcept;

 private:
  api_state state_;
};

}  // namespace foliot::program::http
