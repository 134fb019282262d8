// What an address and an access token may ask for over HTTP, besides what their rights allow: so many requests in a
// second, and so many at once. A request beyond that is refused by its head with 429, and with the time after which the
// next one may come.
//
// The rate limit by address counts each request that the rules for browsers let in, also one that shows no token, or
// a wrong one. That by token, and those of requests at once, count what the rights have admitted. What a later limit
// refuses has been counted by the earlier ones.
//
// Thread safety: set() before there are connections; then any task.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <foliot/core/duration.hpp>
#include <foliot/runtime/net/address.hpp>

#include "message.hpp"
#include "problem.hpp"
#include "request_access.hpp"
#include "server/core/access.hpp"
#include "server/core/keyed_places.hpp"
#include "server/core/rate_limits.hpp"
#include "server/core/server_log.hpp"

namespace foliot::program::http {

class load_limits {
 public:
  /// What a request holds until it is answered.
  struct places {
    keyed_places::place of_address;  // that a named proxy has told; others count by their connection
    keyed_places::place of_token;
  };

  /// From now on these limits hold. All must outlive it; null: nothing is logged.
  void set(access& door, request_rates& rates, const server_log* log) noexcept {
    door_ = &door;
    rates_ = &rates;
    log_ = log;
  }

  /// Null: there are none.
  [[nodiscard]] const access* door() const noexcept { return door_; }
  [[nodiscard]] const request_rates* rates() const noexcept { return rates_; }

  /// Counts a request of this client. Puts into `held` what it holds. Returns the answer to one that is refused. Throws
  /// std::bad_alloc.
  [[nodiscard]] std::optional<response> refuse_address(const http_peer& who, places& held) const;
  /// The same by the access token or certificate with this id, which may be empty.
  [[nodiscard]] std::optional<response> refuse_token(std::string_view id, const runtime::address& from,
                                                     places& held) const;

 private:
  void warn(std::string_view kind, const std::string& sentence) const;

  access* door_ = nullptr;
  request_rates* rates_ = nullptr;
  const server_log* log_ = nullptr;
};

/// The answer to what is refused because so many are there already. Nobody knows when one of these ends: it may be
/// tried again after a second.
[[nodiscard]] response respond_too_many(std::string detail, problem_outcome outcome);

}  // namespace foliot::program::http
