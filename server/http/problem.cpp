#include "problem.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <fmt/format.h>
#include <foliot/jobs/broker.hpp>
#include <foliot/jobs/job_store.hpp>

#include "inputs.hpp"
#include "json.hpp"

namespace foliot::program::http {

namespace {

/// A JSON pointer as the fragment of a URI.
std::string fragment_of(std::string_view pointer) {
  constexpr std::string_view plain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?";
  std::string all = "#";
  for (const char c : pointer) {
    if (plain.contains(c)) {
      all += c;
    } else {
      all += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return all;
}

ordered_json entry_of(const problem& what) {
  ordered_json entry = ordered_json::object();
  entry["detail"] = what.detail;
  switch (what.place) {
    case where::nothing: break;
    case where::header: entry["header"] = what.name; break;
    case where::path: entry["path"] = what.name; break;
    case where::query: entry["parameter"] = what.name; break;
    case where::body: entry["pointer"] = fragment_of(what.name); break;
  }
  return entry;
}

}  // namespace

std::string_view word_of(problem_outcome what) noexcept {
  switch (what) {
    using enum problem_outcome;
    case none: break;
    case gone: return "gone";
    case reserved: return "reserved";
    case refused: return "refused";
    case exists: return "exists";
    case other_version: return "other_version";
    case no_space: return "no_space";
    case not_held: return "not_held";
    case reservations_ended: return "reservations_ended";
    case other_request: return "other_request";
    case under_way: return "under_way";
    case several_databases: return "several_databases";
    case unknown: return "unknown";
    case no_scope: return "no_scope";
    case no_tube: return "no_tube";
    case ended: return "ended";
    case rate_of_address: return "rate_of_address";
    case rate_of_token: return "rate_of_token";
    case connections_of_address: return "connections_of_address";
    case connections_of_token: return "connections_of_token";
    case streams_of_token: return "streams_of_token";
    case too_many: return "too_many";
    case wrong_state: return "wrong_state";
    case other_count: return "other_count";
    case busy: return "busy";
    case has_target: return "has_target";
    case not_allowed: return "not_allowed";
  }
  return {};
}

ordered_json value_of(const problem& what) {
  ordered_json body = ordered_json::object();
  body["type"] = "about:blank";
  body["title"] = phrase_of(what.status);
  body["status"] = what.status;
  body["detail"] = what.detail;
  if (what.outcome != problem_outcome::none) body["outcome"] = word_of(what.outcome);
  if (what.version != 0) body["version"] = std::to_string(what.version);
  if (what.place != where::nothing) body["errors"] = ordered_json::array({entry_of(what)});
  return body;
}

response respond(const problem& what) {
  response made{what.status, "application/problem+json"};
  made.body = json_text(value_of(what)) + "\n";
  const std::chrono::seconds wait =
      what.status == 503 ? std::max(what.retry_after, std::chrono::seconds(1)) : what.retry_after;
  if (wait > wait.zero()) made.fields.push_back({"Retry-After", std::to_string(wait.count())});
  return made;
}

std::chrono::seconds seconds_to_wait(duration left) noexcept {
  return std::max(std::chrono::ceil<std::chrono::seconds>(left.to_chrono()), std::chrono::seconds(1));
}

problem problem_of(const refusal& what) {
  return {what.status, std::string(what.detail), what.header.empty() ? where::nothing : where::header,
          std::string(what.header)};
}

response respond_without_memory() {
  return respond(problem{503, "the server has no memory for the answer at present: try again"});
}

std::string_view phrase_of(int status) noexcept {
  switch (status) {
    case 100: return "Continue";
    case 200: return "OK";
    case 201: return "Created";
    case 204: return "No Content";
    case 207: return "Multi-Status";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return "Unknown";
  }
}

namespace {

problem problem_of_store(const jobs::store_unavailable& why) {
  if (!why.is_in_doubt()) return {503, "the store does not answer at present, and nothing has changed: try again"};
  return {500, "the store does not answer, and it is not known whether the request was executed", where::nothing, "",
          problem_outcome::unknown};
}

}  // namespace

problem problem_of_exception() {
  try {
    throw;
  } catch (const wrong_input& error) {
    return error.why();
  } catch (const jobs::broker_full& error) {
    return {503, error.what()};
  } catch (const jobs::broker_closed&) {
    return {503, "the server ends"};
  } catch (const jobs::store_unavailable& error) {
    return problem_of_store(error);
  } catch (const std::invalid_argument& error) {
    return {400, error.what()};
  }
}

}  // namespace foliot::program::http
