#include "request_access.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "problem.hpp"
#include "server/access/access_token.hpp"
#include "server/access/failed_attempts.hpp"
#include "server/core/client_source.hpp"

namespace foliot::program::http {

namespace {

constexpr std::string_view how_to_show = "send `Authorization: Bearer` and an access token";

/// The fields by which a proxy, a tunnel or a load balancer says that a request is another's, besides X-Forwarded-….
constexpr auto fields_of_proxies = std::to_array<std::string_view>({
    "cdn-loop",
    "cf-connecting-ip",
    "cf-ray",
    "client-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "forwarded",
    "forwarded-for",
    "true-client-ip",
    "via",
    "x-appengine-user-ip",
    "x-azure-clientip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "x-envoy-internal",
    "x-forwarded",
    "x-original-forwarded-for",
    "x-original-host",
    "x-real-ip",
});
static_assert(std::ranges::is_sorted(fields_of_proxies));

/// Whether a request has come by way of a proxy, which says so.
bool is_forwarded(const request& head) noexcept {
  return std::ranges::any_of(head.fields, [](const field& each) {
    return each.name.starts_with("x-forwarded-") ||
           std::ranges::binary_search(fields_of_proxies, std::string_view(each.name));
  });
}

std::string_view path_of(const request& head) noexcept {
  return std::string_view(head.target).substr(0, head.target.find('?'));
}

/// Whether it only looks, and brings nothing to read.
bool is_bare_look(const request& head) noexcept {
  const bool only_looks = head.method == "GET" || head.method == "HEAD";
  return only_looks && !head.find("content-length") && !head.find("transfer-encoding");
}

/// Whether it only asks whether the server lives, or can work.
bool is_probe(const request& head) noexcept {
  const std::string_view path = path_of(head);
  return is_bare_look(head) && (path == "/health" || path == "/ready");
}

/// RFC 6750: `error` says what is wrong with what was shown.
response respond_unauthorized(std::string_view detail, std::string_view error = "") {
  response made = respond(problem{401, std::string(detail), where::header, "authorization"});
  made.fields.push_back(
      {"WWW-Authenticate", error.empty() ? std::string("Bearer") : fmt::format("Bearer error=\"{}\"", error)});
  return made;
}

}  // namespace

bool is_for_page(const request& head) noexcept {
  const std::string_view path = path_of(head);
  return is_bare_look(head) && (path == "/" || path.starts_with("/page/"));
}

bool request_access::comes_from_elsewhere(const request& head, const http_peer& from) const {
  if (from.behind_proxy || is_forwarded(head)) return true;
  const browser_rules::host_kind at = rules_.kind_of(head.find("host").value_or("localhost"));
  if (at == browser_rules::host_kind::name) return true;
  return at == browser_rules::host_kind::address && is_of_this_machine(from.from);
}

admission request_access::admit_probe(const request& head, const http_peer& from) const {
  if (tokens_ == nullptr) return admission{comes_from_elsewhere(head, from) ? nothing_ : everything_};
  const std::optional<std::string_view> text = bearer_in(head.find("authorization").value_or(""));
  auto given = text ? tokens_->who().of_token(*text) : nullptr;
  if (given == nullptr) return admission{nothing_};
  return admission{std::move(given), &tokens_->who()};
}

std::expected<admission, response> request_access::admit(const request& head, const http_peer& from) const {
  if (is_probe(head)) return admit_probe(head, from);
  if (is_for_page(head)) return admission{nothing_};
  if (tokens_ == nullptr) {
    if (!comes_from_elsewhere(head, from)) return admission{everything_};
    return std::unexpected(respond_unauthorized(
        "a request by way of a proxy, or to a name or an address of another machine, needs an access token, and this "
        "server has no file of them: start it with --tokens"));
  }
  if (const auto shown = head.find("authorization")) return admit_by(*shown, from);
  if (!from.certificate || is_forwarded(head)) return std::unexpected(respond_unauthorized(how_to_show));
  if (auto given = tokens_->who().of_certificate(*from.certificate))
    return admission{std::move(given), &tokens_->who()};
  return std::unexpected(respond_unauthorized("the client's certificate has no entry in the file of access tokens"));
}

std::expected<admission, response> request_access::admit_by(std::string_view shown, const http_peer& from) const {
  const std::optional<std::string_view> text = bearer_in(shown);
  if (!text) return std::unexpected(refuse_shown(how_to_show, from));
  if (auto given = tokens_->who().of_token(*text)) return admission{std::move(given), &tokens_->who()};
  const auto token = access_token::parse(*text);
  if (!token && token.error() == token_flaw::mistyped) {
    return std::unexpected(refuse_shown("the access token has a typing error", from));
  }
  if (!token) return std::unexpected(refuse_shown("that is no access token: they begin with `foliot_`", from));
  return std::unexpected(refuse_shown(
      "the access token lets nobody in: it was revoked, or has ended", from,
      fmt::format("an access token from {} lets nobody in: it was revoked, or has ended", shown_address(from.from))));
}

response request_access::refuse_shown(std::string_view detail, const http_peer& from,
                                      const std::string& warning) const {
  using enum failed_attempts::verdict;
  const failed_attempts::noted noted = tokens_->attempts().note_failure(from.from);
  if (noted.deserves == ignored) {
    return respond(problem{.status = 429,
                           .detail = "too many requests from this address have shown no access token that lets them "
                                     "in: those that show one are served",
                           .retry_after = seconds_to_wait(noted.left)});
  }
  if (noted.deserves == last) {
    log_->warning("access", fmt::format("too many failed attempts to show an access token from {}: for a minute they "
                                        "get 429",
                                        shown_address(from.from)));
  }
  if (!warning.empty()) log_->warning("access", warning);
  return respond_unauthorized(detail, "invalid_token");
}

problem problem_of(const access_refused& why) {
  using enum access_refused::reason;
  if (why.why() == ended) {
    return {401, "the access of this request has ended, or was revoked", where::header, "authorization",
            problem_outcome::ended};
  }
  if (why.why() == delivered) return {409, why.what(), where::nothing, "", problem_outcome::has_target};
  return {403, why.what(), where::nothing, "",
          why.why() == no_scope ? problem_outcome::no_scope : problem_outcome::no_tube};
}

response respond_to(const access_refused& why) {
  using enum access_refused::reason;
  response made = respond(problem_of(why));
  if (why.why() == ended) {
    made.fields.push_back({"WWW-Authenticate", "Bearer error=\"invalid_token\""});
    made.closes = true;
  } else if (why.why() == no_scope) {
    made.fields.push_back({"WWW-Authenticate", "Bearer error=\"insufficient_scope\""});
  }
  return made;
}

}  // namespace foliot::program::http
