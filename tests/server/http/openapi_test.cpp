// The description in OpenAPI has the rows of the table of routes, and no others; and what the answers say.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "server/http/api.hpp"
#include "server/http/problem.hpp"
#include "server/http/requests.hpp"

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
    if (each.is_page) continue;  // it is for people
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
    if (each.is_page) continue;
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
    if (each.is_page) continue;
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

/// The compiler wants a word for each outcome, and here it must be told; other values have none.
TEST(Openapi, HasEachOutcomeOfAProblemAndNoOther) {
  std::multiset<std::string> words;
  for (int value = 0; value <= std::numeric_limits<std::underlying_type_t<problem_outcome>>::max(); ++value) {
    const std::string_view word = word_of(static_cast<problem_outcome>(value));
    if (!word.empty()) words.emplace(word);
  }
  const auto document = nlohmann::json::parse(openapi_text());
  const auto told =
      document["components"]["schemas"]["Problem"]["properties"]["outcome"]["enum"].get<std::multiset<std::string>>();
  EXPECT_EQ(told, words);
  EXPECT_EQ(std::set<std::string>(words.begin(), words.end()).size(), words.size()) << "two outcomes have one word";
}

}  // namespace
}  // namespace foliot::program::http
