#include "api.hpp"

#include <algorithm>
#include <array>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <foliot/jobs/broker.hpp>

#include "event_requests.hpp"
#include "forwarded.hpp"
#include "front_check.hpp"
#include "idempotency.hpp"
#include "job_headers.hpp"
#include "job_requests.hpp"
#include "policy_requests.hpp"
#include "problem.hpp"
#include "request_access.hpp"
#include "requests.hpp"
#include "routes.hpp"
#include "schedule_requests.hpp"
#include "server/access/authority.hpp"
#include "server/access/authorized_client.hpp"
#include "server/access/digest.hpp"
#include "server/access/rights.hpp"
#include "server/core/byte_stream.hpp"
#include "server/core/client_source.hpp"
#include "webhook_requests.hpp"
#include "work_requests.hpp"

namespace foliot::program::http {

namespace {

using handler = task<response> (*)(call&);

constexpr auto routes = std::to_array<route<handler>>({
    // The first ones are all that a listener for monitoring serves.
    {"GET", "/health", tell_health},
    {"GET", "/ready", tell_readiness},
    {"GET", "/metrics", show_metrics},

    {"GET", "/openapi.json", show_openapi},
    {"GET", "/", show_page},
    {"GET", "/page/{file}", show_page_file},

    {"POST", "/v1/jobs", put_job},
    {"POST", "/v1/tubes/{tube}/jobs", put_job},
    {"PUT", "/v1/tubes/{tube}/jobs/{key}", put_or_replace_job},
    {"POST", "/v1/batch", execute_batch},

    // One job, by its id, by its names in the path, or by names in the query or the body.
    {"GET", "/v1/jobs/{id}", show_job},
    {"DELETE", "/v1/jobs/{id}", cancel_job},
    {"POST", "/v1/jobs/{id}/reschedule", reschedule_job},
    {"POST", "/v1/jobs/{id}/fire", fire_job},
    {"GET", "/v1/tubes/{tube}/jobs/{key}", show_job},
    {"DELETE", "/v1/tubes/{tube}/jobs/{key}", cancel_job},
    {"POST", "/v1/tubes/{tube}/jobs/{key}/reschedule", reschedule_job},
    {"POST", "/v1/tubes/{tube}/jobs/{key}/fire", fire_job},
    {"GET", "/v1/jobs/{id}/why", explain_job},
    {"GET", "/v1/tubes/{tube}/jobs/{key}/why", explain_job},
    {"GET", "/v1/job/why", explain_job},
    {"GET", "/v1/job", show_job},
    {"PUT", "/v1/job", put_or_replace_job},
    {"DELETE", "/v1/job", cancel_job},
    {"POST", "/v1/job/reschedule", reschedule_job},
    {"POST", "/v1/job/fire", fire_job},

    {"POST", "/v1/reserve", reserve_jobs},
    {"POST", "/v1/reservations/{reservation}/finish", finish_job},
    {"POST", "/v1/reservations/{reservation}/release", release_job},
    {"POST", "/v1/reservations/{reservation}/touch", touch_job},
    {"POST", "/v1/reservations/{reservation}/bury", bury_job},
    {"POST", "/v1/jobs/{id}/kick", kick_one_job},
    {"POST", "/v1/tubes/{tube}/kick", kick_tube},
    {"POST", "/v1/tubes/{tube}/pause", pause_tube},
    {"POST", "/v1/tubes/{tube}/clear", clear_tube},
    {"POST", "/v1/tube/kick", kick_tube},
    {"POST", "/v1/tube/pause", pause_tube},
    {"POST", "/v1/tube/clear", clear_tube},

    {"GET", "/v1/tubes", show_tubes},
    {"GET", "/v1/tubes/{tube}", show_tube},
    {"GET", "/v1/tube", show_tube},
    {"GET", "/v1/due", show_due},
    {"GET", "/v1/due/counts", count_due},
    {"GET", "/v1/events", show_events},
    {"GET", "/v1/statistics", show_statistics},
    {"GET", "/v1/access", show_access},

    {"GET", "/v1/jobs", list_jobs},
    {"GET", "/v1/tubes/{tube}/jobs", list_jobs},
    {"GET", "/v1/reservations", list_reservations},

    {"POST", "/v1/actions", make_action},
    {"GET", "/v1/actions", list_actions},
    {"GET", "/v1/actions/{action}", show_action},
    {"POST", "/v1/actions/{action}/run", run_action},
    {"POST", "/v1/actions/{action}/stop", stop_action},
    {"DELETE", "/v1/actions/{action}", forget_action},

    // One schedule, by its names in the path, or in the query.
    {"GET", "/v1/schedules", list_schedules},
    {"GET", "/v1/tubes/{tube}/schedules", list_schedules},
    {"PUT", "/v1/tubes/{tube}/schedules/{name}", put_schedule},
    {"GET", "/v1/tubes/{tube}/schedules/{name}", show_schedule},
    {"DELETE", "/v1/tubes/{tube}/schedules/{name}", delete_schedule},
    {"POST", "/v1/tubes/{tube}/schedules/{name}/preview", preview_schedule},
    {"POST", "/v1/tubes/{tube}/schedules/{name}/pause", pause_schedule},
    {"POST", "/v1/tubes/{tube}/schedules/{name}/resume", resume_schedule},
    {"POST", "/v1/tubes/{tube}/schedules/{name}/skip", skip_occurrence},
    {"POST", "/v1/tubes/{tube}/schedules/{name}/run", run_schedule},
    {"POST", "/v1/tubes/{tube}/schedules/{name}/backfill", backfill_schedule},
    {"PUT", "/v1/schedule", put_schedule},
    {"GET", "/v1/schedule", show_schedule},
    {"DELETE", "/v1/schedule", delete_schedule},
    {"POST", "/v1/schedule/preview", preview_schedule},
    {"POST", "/v1/schedule/pause", pause_schedule},
    {"POST", "/v1/schedule/resume", resume_schedule},
    {"POST", "/v1/schedule/skip", skip_occurrence},
    {"POST", "/v1/schedule/run", run_schedule},
    {"POST", "/v1/schedule/backfill", backfill_schedule},

    // The policy of one tube, by its name in the path, or in the query.
    {"GET", "/v1/policies", list_policies},
    {"PUT", "/v1/policies/{tube}", put_policy},
    {"GET", "/v1/policies/{tube}", show_policy},
    {"DELETE", "/v1/policies/{tube}", delete_policy},
    {"PUT", "/v1/policy", put_policy},
    {"GET", "/v1/policy", show_policy},
    {"DELETE", "/v1/policy", delete_policy},

    // One target, by its tube in the path, or in the query.
    {"GET", "/v1/webhooks", list_webhooks},
    {"PUT", "/v1/tubes/{tube}/webhook", put_webhook},
    {"GET", "/v1/tubes/{tube}/webhook", show_webhook},
    {"DELETE", "/v1/tubes/{tube}/webhook", delete_webhook},
    {"POST", "/v1/tubes/{tube}/webhook/enable", enable_webhook},
    {"POST", "/v1/tubes/{tube}/webhook/disable", disable_webhook},
    {"POST", "/v1/tubes/{tube}/webhook/test", test_webhook},
    {"GET", "/v1/tubes/{tube}/webhook/deliveries", show_deliveries},
    {"PUT", "/v1/webhook", put_webhook},
    {"GET", "/v1/webhook", show_webhook},
    {"DELETE", "/v1/webhook", delete_webhook},
    {"POST", "/v1/webhook/enable", enable_webhook},
    {"POST", "/v1/webhook/disable", disable_webhook},
    {"POST", "/v1/webhook/test", test_webhook},
    {"GET", "/v1/webhook/deliveries", show_deliveries},
});

constexpr std::size_t routes_of_monitoring = 3;
static_assert(routes[routes_of_monitoring - 1].pattern == "/metrics");

/// The routes that there are.
std::span<const route<handler>> routes_of(const api_state& state) noexcept {
  return std::span(routes).first(state.only_monitors ? routes_of_monitoring : routes.size());
}

bool is_put(handler which) noexcept { return which == put_job || which == put_or_replace_job; }

bool is_page(handler which) noexcept { return which == show_page || which == show_page_file; }

/// Whether it changes one schedule.
bool changes_schedule(handler which) noexcept {
  return which == put_schedule || which == delete_schedule || which == pause_schedule || which == resume_schedule ||
         which == skip_occurrence || which == run_schedule || which == backfill_schedule;
}

/// Whether it changes one policy.
bool changes_policy(handler which) noexcept { return which == put_policy || which == delete_policy; }

/// Whether it changes one target.
bool changes_target(handler which) noexcept {
  return which == put_webhook || which == delete_webhook || which == enable_webhook || which == disable_webhook;
}

/// Whether a change of this kind can expect a version of its job, schedule, policy or target.
bool takes_version(handler which) noexcept {
  return is_put(which) || which == cancel_job || which == reschedule_job || which == fire_job ||
         which == kick_one_job || changes_schedule(which) || changes_policy(which) || changes_target(which);
}

/// Whether a change of this kind can expect that there is nothing yet.
bool takes_absence(handler which) noexcept {
  return is_put(which) || which == put_schedule || which == put_policy || which == put_webhook;
}

/// Whether a request of this kind can happen once.
bool takes_idempotency_key(handler which) noexcept {
  return is_put(which) || which == execute_batch || which == reserve_jobs;
}

/// Whether a request of this kind may say why a try of a job has failed.
bool names_worker(handler which) noexcept {
  return which == release_job || which == bury_job || which == execute_batch;
}

bool has_json(const request& what) { return is_media_type(what.find("content-type").value_or(""), "application/json"); }

/// Whether the body is compressed, or the like: its bytes are not those of the content type.
bool has_coded_body(const request& what) {
  return !what.body.empty() && std::ranges::any_of(what.fields, [](const field& each) {
    return each.name == "content-encoding" && !equal_in_any_case(each.value, "identity");
  });
}

/// Whether the request's body is the body of a job: it is not JSON, or the request says so.
bool has_raw_body(const request& what) {
  constexpr std::string_view name = "foliot-body";
  const auto asked = what.find(name);
  if (std::ranges::count(what.fields, name, &field::name) > 1) {
    throw wrong_input(problem{400, "Foliot-Body is given twice", where::header, "foliot-body"});
  }
  if (asked && *asked != "raw") {
    throw wrong_input(problem{400, "Foliot-Body must be `raw`, or be left out", where::header, "foliot-body"});
  }
  return asked || (!what.body.empty() && !has_json(what));
}

json_document json_of(const request& what, bool is_raw) {
  if (is_raw || what.body.empty()) return {};
  std::expected<json_document, problem> read = parse_json(what.body);
  if (!read) throw wrong_input(read.error());
  if (!read->root().is_object()) throw wrong_input(problem{400, "the body must be an object of JSON", where::body, ""});
  return std::move(*read);
}

/// A path that there is, and that the client may have meant by this target, where there is nothing; empty: none.
std::string path_meant_by(std::span<const route<handler>> among, std::string_view target) {
  std::string_view path = target.substr(0, target.find('?'));
  if (path.ends_with('/')) path.remove_suffix(1);
  for (const std::string_view before : {"", "/v1"}) {
    std::string other = fmt::format("{}{}", before, path);
    const std::expected<http::target, problem> named = parse_target(other);
    if (!named) continue;
    const auto found = find_route<handler>(among, "", named->path);
    if (!found.allowed.empty()) return other;
  }
  return {};
}

/// The side of a connection whose request holds rights. A wait that was ended with them is a refusal.
class side_with_rights final : public answering_side {
 public:
  side_with_rights(answering_side& below, const rights_holder& by) noexcept : below_(below), by_(by) {}

  [[nodiscard]] task<bool> take_room(std::size_t bytes) override { return below_.take_room(bytes); }
  [[nodiscard]] task<bool> wait_for(task<> what) override {
    auto waiting = below_.wait_for(std::move(what));
    const bool is_there = co_await waiting;
    if (by_.has_ended()) throw access_refused(access_refused::reason::ended, "the rights have ended");
    co_return is_there;
  }
  [[nodiscard]] task<response> stream(const response& head, streamed_body& body) override {
    return below_.stream(head, body);
  }

 private:
  answering_side& below_;
  const rights_holder& by_;
};

class talk final : public conversation {
 public:
  talk(api_state& state, byte_stream& peer)
      : state_(state),
        peer_(peer),
        who_{peer.peer_address(), parse_digest(peer.certificate_fingerprint()),
             state.proxies.have(peer.peer_address())},
        holder_(std::in_place, nullptr, state.access.nothing(), nullptr),
        client_(state.for_next_connection(), *holder_, state.actions == nullptr ? nullptr : &state.actions->records()) {
  }

  std::optional<response> refuse(const request& head) override {
    const std::optional<std::string> asked_for = who_.behind_proxy ? forwarded_host(head) : std::nullopt;
    if (const std::optional<problem> wrong = state_.browsers.check(head, asked_for)) return respond(*wrong);
    const http_peer from = sender_of(head);
    load_limits::places held;
    if (std::optional<response> made = state_.limits.refuse_address(from, held)) return made;
    std::expected<admission, response> come = state_.access.admit(head, from);
    if (!come) return std::move(come.error());
    if (std::optional<response> made = state_.limits.refuse_token(come->given->id(), from.from, held)) return made;
    if (head.expects_continue) {  // its body need not come for an answer that the head alone decides
      if (std::optional<response> made = refuse_unknown(head)) return made;
    }
    held_ = std::move(held);
    act_by(std::move(*come), [this] { peer_.end_reading(); });  // wakes the task that waits, for bytes or for a job
    return std::nullopt;
  }

  task<response> answer(request& what, answering_side& side) override {
    response made;
    side_with_rights with(side, *holder_);
    asked asks;
    try {
      if (open(what, with, asks, made)) {
        auto executing = asks.handle(*asks.by);
        made = co_await executing;
      }
    } catch (...) {
      made = respond_to_exception(what);
    }
    act_by({state_.access.nothing()}, nullptr);
    held_ = load_limits::places();
    const bool may_give_back = made.wants_word || made.closes;  // what has been reserved
    if (!may_give_back) key_place_ = keyed_places::place();
    co_return made;
  }

  void note_sent() noexcept override {
    for (const jobs::reservation& each : reserved_) client_.part_with(each);
    reserved_.clear();
    key_place_ = keyed_places::place();
  }

 private:
  /// Who sends the request. The certificate of a connection from a named proxy is that proxy's.
  [[nodiscard]] http_peer sender_of(const request& head) const {
    if (!who_.behind_proxy) return who_;
    const std::optional<runtime::address> client = forwarded_client(head, who_.from, state_.proxies);
    return {client.value_or(who_.from), std::nullopt, true, !client};
  }
  /// The worker that the tries of jobs name: the same as that of its reservations.
  [[nodiscard]] std::string worker_of(const request& head) const {
    const std::string& id = client_.allowed().id();
    return id.empty() ? shown_host(sender_of(head).from) : id;
  }
  /// From now on the connection acts by these rights, and by no others.
  void act_by(admission come, std::function<void()> rights_ended) {
    holder_.emplace(come.by, std::move(come.given), std::move(rights_ended));
    client_.act_by(*holder_);
  }

  /// The response to this request that the exception which is being handled means. Throws it again if it means none.
  static response respond_to_exception(const request& what) {
    try {
      throw;
    } catch (const access_refused& error) {
      return respond_to(error);
    } catch (...) {
      problem wrong = problem_of_exception();
      if (what.find(idempotency_field)) advise_to_repeat(wrong);
      return respond(wrong);
    }
  }

  /// What a request asks for.
  struct asked {
    std::vector<parameter> query;
    json_document body;
    std::optional<call> by;
    handler handle = nullptr;
  };

  /// Finds out what the request asks for. Returns false if the response is made by that. Throws wrong_input.
  bool open(request& what, answering_side& side, asked& into, response& made) {
    std::expected<target, problem> named = parse_target(what.target);
    if (!named) throw wrong_input(named.error());
    auto found = find_route<handler>(routes_of(state_), what.method, named->path);
    if (found.which == nullptr) {
      made = respond_to_unknown(what, found.allowed);
      return false;
    }
    into.handle = found.which->handler;
    if (has_coded_body(what)) {
      made = respond(problem{415, "the body must come without a Content-Encoding, which no job keeps", where::header,
                             "content-encoding"});
      made.fields.push_back({"Accept-Encoding", "identity"});
      return false;
    }
    const bool is_raw = has_raw_body(what);
    if (is_raw && !is_put(into.handle)) {
      throw wrong_input(
          problem{415, "the body must be JSON: send Content-Type: application/json", where::header, "content-type"});
    }
    if (what.find(idempotency_field) && !takes_idempotency_key(found.which->handler)) {
      throw wrong_input(problem{400, "Idempotency-Key is for puts, batches and reserves", where::header,
                                std::string(idempotency_field)});
    }
    if (what.find("if-match") && !takes_version(into.handle)) {
      throw wrong_input(
          problem{400, "If-Match is for changes of one job, schedule, policy or target", where::header, "if-match"});
    }
    // A look is answered as a whole, which is right whatever the client has; a change must not happen in spite of it.
    if (what.find("if-none-match") && !takes_absence(into.handle) && found.which->method != "GET") {
      throw wrong_input(problem{400, "If-None-Match is for puts", where::header, "if-none-match"});
    }
    if (into.handle == reserve_jobs) client_.set_name(shown_host(sender_of(what).from));
    into.query = std::move(named->query);
    into.body = json_of(what, is_raw);
    inputs in(std::move(found.names), into.query, into.body.root(), what);
    std::string worker = names_worker(into.handle) ? worker_of(what) : std::string();
    into.by.emplace(state_, client_, what, std::move(in), is_raw, side, reserved_, key_place_, std::move(worker));
    return true;
  }

  /// The response to a request for which there is no route; nothing if there is one.
  std::optional<response> refuse_unknown(const request& head) {
    const std::expected<target, problem> named = parse_target(head.target);
    if (!named) return respond(named.error());
    const auto found = find_route<handler>(routes_of(state_), head.method, named->path);
    if (found.which != nullptr) return std::nullopt;
    return respond_to_unknown(head, found.allowed);
  }

  response respond_to_unknown(const request& what, const std::string& allowed) {
    const bool asks_for_methods = what.method == "OPTIONS" && (what.target == "*" || !allowed.empty());
    if (asks_for_methods) {
      response made{204};
      made.fields.push_back({"Allow", allowed.empty() || what.target == "*" ? "GET, HEAD, POST, PUT, DELETE, OPTIONS"
                                                                            : allowed + ", OPTIONS"});
      return made;
    }
    if (allowed.empty()) {
      if (state_.only_monitors) {
        return respond(
            problem{404, "here are /health, /ready and /metrics alone: --http names the addresses of the rest"});
      }
      const std::string meant = path_meant_by(routes, what.target);
      return respond(problem{404, fmt::format("there is nothing at this path: {}GET /openapi.json describes all paths",
                                              meant.empty() ? "" : fmt::format("perhaps you mean {}; ", meant))});
    }
    response made = respond(problem{405, "this path has other methods: " + allowed});
    made.fields.push_back({"Allow", allowed});
    return made;
  }

  api_state& state_;
  byte_stream& peer_;
  const http_peer who_;
  std::optional<rights_holder> holder_;  // of the request that has come
  keyed_places::place key_place_;        // freed when the client has given back what it has not sent
  authorized_client client_;
  std::vector<jobs::reservation> reserved_;  // for the answer that is being sent
  load_limits::places held_;                 // of the request that has come
};

}  // namespace

std::unique_ptr<conversation> api::begin(byte_stream& peer) { return std::make_unique<talk>(state_, peer); }

std::vector<api::named_route> api::all_routes() {
  std::vector<named_route> all;
  for (const route<handler>& each : routes) {
    all.push_back({each.method, each.pattern, takes_version(each.handler), takes_idempotency_key(each.handler),
                   is_page(each.handler)});
  }
  return all;
}

request_limits api::limits_for(std::size_t max_job_size) noexcept {
  constexpr std::size_t size_of_a_batch = std::size_t{1} << 20;
  return {.body = std::max(2 * max_job_size + 65'536, size_of_a_batch)};
}

}  // namespace foliot::program::http
