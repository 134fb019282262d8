#include "load_limits.hpp"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include <foliot/runtime/run.hpp>

#include "problem.hpp"
#include "server/core/client_source.hpp"

namespace foliot::program::http {

namespace {

/// The time between two lines of the log about one limit.
constexpr duration between_lines = std::chrono::minutes(1);

/// What counts as the address of all clients of which named proxies tell none.
constexpr std::string_view of_unknown_client = "unknown";
/// What counts as the address of all named proxies at local sockets.
constexpr std::string_view of_local_proxy = "local";

/// What counts as the address of this client; empty: nothing does.
std::string source_by(const http_peer& who) {
  if (who.is_unknown) return std::string(of_unknown_client);
  std::string source = source_of(who.from);
  if (source.empty() && who.behind_proxy) source = of_local_proxy;
  return source;
}

/// The answer to a request that comes `wait` too soon.
response respond_too_soon(std::string detail, problem_outcome outcome, duration wait) {
  return respond(
      problem{.status = 429, .detail = std::move(detail), .outcome = outcome, .retry_after = seconds_to_wait(wait)});
}

}  // namespace

response respond_too_many(std::string detail, problem_outcome outcome) {
  return respond_too_soon(std::move(detail), outcome, std::chrono::seconds(1));
}

void load_limits::warn(std::string_view kind, const std::string& sentence) const {
  if (log_ != nullptr) log_->warning(kind, sentence, between_lines);
}

std::optional<response> load_limits::refuse_address(const http_peer& who, places& held) const {
  if (door_ == nullptr) return std::nullopt;
  const runtime::address& from = who.from;
  const std::string source = source_by(who);
  if (source.empty()) return std::nullopt;
  const duration wait = rates_->of_address.take(source, runtime::now());
  if (wait == duration::zero()) {
    if (!who.behind_proxy) return std::nullopt;
    held.of_address = door_->enter_behind_proxy(source);
    if (held.of_address) return std::nullopt;
    warn("an address has too many connections", door_->why_refused(access_limit::of_address, from));
    return respond_too_many("this address has as many requests at once as it may",
                            problem_outcome::connections_of_address);
  }
  warn("an address sends too many requests",
       fmt::format("hold back the requests from {}: its address sends more than {} in a second, the limit of "
                   "--requests-per-second-per-address",
                   shown_address(from), rates_->of_address.each_second()));
  return respond_too_soon(
      fmt::format("this address may send {} requests in a second", rates_->of_address.each_second()),
      problem_outcome::rate_of_address, wait);
}

std::optional<response> load_limits::refuse_token(std::string_view id, const runtime::address& from,
                                                  places& held) const {
  if (door_ == nullptr || id.empty()) return std::nullopt;
  const duration wait = rates_->of_token.take(id, runtime::now());
  if (wait > duration::zero()) {
    warn("an access token sends too many requests",
         fmt::format("hold back the requests from {}: the access token {} sends more than {} in a second, the limit of "
                     "--requests-per-second-per-token",
                     shown_address(from), id, rates_->of_token.each_second()));
    return respond_too_soon(
        fmt::format("this access token may send {} requests in a second", rates_->of_token.each_second()),
        problem_outcome::rate_of_token, wait);
  }
  held.of_token = door_->enter_as(id);
  if (held.of_token) return std::nullopt;
  warn("an access token has too many connections", door_->why_refused(access_limit::of_token, from, id));
  return respond_too_many("this access token has as many connections and requests at once as it may",
                          problem_outcome::connections_of_token);
}

}  // namespace foliot::program::http
