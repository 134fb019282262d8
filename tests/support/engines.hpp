// Suites that run once for each engine there is.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <foliot/service/timer_service.hpp>

namespace foliot::test {

/// The options of a service with this engine.
inline service_options with_engine(std::string name) {
  service_options options;
  options.engine = std::move(name);
  return options;
}

/// A suite whose parameter is the engine's name.
class engine_suite : public ::testing::TestWithParam<std::string> {
 protected:
  [[nodiscard]] static service_options options() { return with_engine(GetParam()); }
};

inline auto every_engine() {
  const auto names = timer_service::engines();
  return ::testing::ValuesIn(std::vector<std::string>(names.begin(), names.end()));
}

/// Those that are exact to the nanosecond: for suites that measure the protocol by what fires when, or wait
/// in real time.
inline auto every_exact_engine() {
  std::vector<std::string> exact;
  for (const std::string_view name : timer_service::engines()) {
    if (timer_service::lateness(name, duration::zero()) == duration::zero()) exact.emplace_back(name);
  }
  return ::testing::ValuesIn(exact);
}

/// Those that can have more shards than one.
inline auto every_engine_of_shards() {
  std::vector<std::string> many;
  for (const std::string_view name : timer_service::engines()) {
    if (name != "global-heap") many.emplace_back(name);
  }
  return ::testing::ValuesIn(many);
}

/// The same, of those that are exact.
inline auto every_exact_engine_of_shards() {
  std::vector<std::string> many;
  for (const std::string_view name : timer_service::engines()) {
    const bool exact = timer_service::lateness(name, duration::zero()) == duration::zero();
    if (exact && name != "global-heap") many.emplace_back(name);
  }
  return ::testing::ValuesIn(many);
}

/// global-heap as the name of a test.
inline std::string engine_as_name(const ::testing::TestParamInfo<std::string>& chosen) {
  std::string name = chosen.param;
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

}  // namespace foliot::test
