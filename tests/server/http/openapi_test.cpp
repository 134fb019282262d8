// The description in OpenAPI has the rows of the table of routes, and no others.
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "server/http/api.hpp"
#include "server/http/openapi.hpp"

namespace foliot::program::http {
namespace {

std::string lower_case(std::string_view text) {
  std::string all(text);
  for (char& each : all) each = each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
  return all;
}

TEST(Openapi, HasEachRouteAndNoOther) {
  std::set<std::string> served;
  for (const auto& [method, pattern] : api::all_routes()) {
    served.insert(lower_case(method) + " " + std::string(pattern));
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

}  // namespace
}  // namespace foliot::program::http
