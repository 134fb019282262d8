// The description in OpenAPI has the rows of the table of routes, and no others; and what the answers say.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <foliot/jobs/operations.hpp>

#include "server/access/authorized_client.hpp"
#include "server/http/api.hpp"
#include "server/http/idempotency.hpp"
#include "server/http/job_requests.hpp"
#include "server/http/openapi.hpp"
#include "server/http/request_access.hpp"

namespace foliot::program::http {
namespace {

std::string lower_case(std::string_view text) {
  std::string all(text);
  for (char& each : all) each = each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
  return all;
}

TEST(Openapi, HasEachRouteAndNoOther) {
  std::set<std::string> served;
  for (const api::named_route& each : api::all_routes()) {
    served.insert(lower_case(each.method) + " " + std::string(each.pattern));
  }
  std::set<std::string> described;
  const auto document = nlohmann::json::parse(openapi_text());
  for (const auto& path : document["paths"].items()) {
    for (const auto& operation : path.value().items()) described.insert(operation.key() + " " + path.key());
  }
  EXPECT_EQ(described, served);
}

TEST(Openapi, NamesEachOperationOnce) {
  std::map<std::string, int> names;
  const auto document = nlohmann::json::parse(openapi_text());
  for (const auto& path : document["paths"].items()) {
    for (const auto& operation : path.value().items()) ++names[operation.value()["operationId"].get<std::string>()];
  }
  for (const auto& [name, count] : names) EXPECT_EQ(count, 1) << name;
}

TEST(Openapi, TellsWhichChangesTakeAVersion) {
  const auto document = nlohmann::json::parse(openapi_text());
  for (const api::named_route& each : api::all_routes()) {
    const auto& operation = document["paths"][std::string(each.pattern)][lower_case(each.method)];
    const auto parameters = operation.value("parameters", nlohmann::json::array());
    const bool is_told = std::ranges::any_of(parameters, [](const nlohmann::json& parameter) {
      return parameter.value("$ref", "") == "#/components/parameters/IfMatch";
    });
    EXPECT_EQ(is_told, each.takes_version) << each.method << " " << each.pattern;
  }
}

TEST(Openapi, TellsWhichRequestsTakeAnIdempotencyKey) {
  const auto document = nlohmann::json::parse(openapi_text());
  for (const api::named_route& each : api::all_routes()) {
    const auto& operation = document["paths"][std::string(each.pattern)][lower_case(each.method)];
    const auto parameters = operation.value("parameters", nlohmann::json::array());
    const bool is_told = std::ranges::any_of(parameters, [](const nlohmann::json& parameter) {
      return parameter.value("$ref", "") == "#/components/parameters/IdempotencyKey";
    });
    EXPECT_EQ(is_told, each.takes_idempotency_key) << each.method << " " << each.pattern;
    for (const auto& [status, response] : operation["responses"].items()) {
      const bool may_be_replayed = response.value("headers", nlohmann::json::object()).contains("Idempotency-Replayed");
      EXPECT_EQ(may_be_replayed, each.takes_idempotency_key && status.starts_with('2')) << each.pattern << status;
    }
  }
}

TEST(Openapi, HasEachOutcomeOfAProblem) {
  std::vector<std::string> outcomes;
  {
    using enum jobs::put_answer::kind;
    for (const auto kind : {exists, reserved, other_version, no_space, other_request}) {
      outcomes.push_back(problem_of(outcome_of({.what = kind}, false)).outcome);
    }
  }
  {
    using enum jobs::change_answer::kind;
    for (const auto kind : {reserved, refused, gone, no_space, other_version}) {
      outcomes.push_back(nlohmann::json::parse(respond_to_change({.what = kind}, "").body).value("outcome", ""));
    }
  }
  {
    using enum access_refused::reason;
    for (const auto reason : {ended, no_scope, no_tube}) {
      outcomes.push_back(problem_of(access_refused(reason, "")).outcome);
    }
  }
  outcomes.push_back(problem_of_other_request().outcome);
  const auto document = nlohmann::json::parse(openapi_text());
  const auto told =
      document["components"]["schemas"]["Problem"]["properties"]["outcome"]["enum"].get<std::vector<std::string>>();
  for (const std::string& each : outcomes) EXPECT_NE(std::ranges::find(told, each), told.end()) << each;
}

}  // namespace
}  // namespace foliot::program::http
